"""Decks: cards with one effect each, which every board can play out, and texts that say what it is."""

from __future__ import annotations

from collections import Counter

from ..cards import DEAREST, effects, target
from ..model import Board, Card, Document, Place
from ..problems import Problems
from ..shape import close, quoted
from ..texts import text_mistake
from .table import check_text

AMOUNTS = ("collect", "pay", "collect_each", "pay_each", "pay_casino")


def check_decks(document: Document, problems: Problems) -> None:
    """Check all decks of a document against each of its boards."""
    drawn = {field.deck for board in document.board for field in board.field if field.kind == "deck"}
    for name, deck in document.decks.items():
        place = f"decks.{name}"
        if name not in drawn:
            problems.add(place, "no field draws from it", f'add a field with deck = "{name}", or take the deck out')
        if all(card.jail_free for card in deck):
            what = "all its cards can be in players' hands" if deck else "it has no cards"
            problems.add(place, what, "add a card that always goes back under the deck")
        ids = Counter(card.id for card in deck)
        for card_id in [card_id for card_id, count in ids.items() if count > 1]:
            problems.add(place, f"{ids[card_id]} cards have the id {card_id}", "give each card an id of its own")
        for card in deck:
            _card(f"{place}, card {card.id}", card, document, problems)
    _jail_free(document, problems)
    for board in document.board:
        _no_circle(board, document, problems)


def _card(place: str, card: Card, document: Document, problems: Problems) -> None:
    boards = document.board
    check_text(place, "text", card.text, problems)
    found = effects(card)
    if len(found) != 1:
        what = f"it has {len(found)} effects: {', '.join(found)}" if found else "it has no effect"
        problems.add(place, what, "give it exactly one; write two cards for two")
        return
    effect = found[0]
    if effect in AMOUNTS and getattr(card, effect) == 0:
        problems.add(place, f"{effect} is 0", "write an amount")
    if card.repairs == (0, 0):
        problems.add(place, "repairs cost nothing", "write [per house, per hotel]")
    if (mistake := text_mistake(card.text, effect, document.language)) is not None:
        problems.add(place, *mistake)
    if card.advance is not None:
        _advance(place, card.advance, boards, problems)
    for board in boards:
        kinds = {field.kind for field in board.field}
        if card.nearest is not None and card.nearest not in kinds:
            problems.add(place, f"board {board.id} has no {card.nearest}", "add one there, or take the card out")
        if card.pay_casino is not None and "casino" not in kinds:
            problems.add(place, f"board {board.id} has no casino", "add one there, or write pay in place of pay_casino")


def _advance(place: str, advance: str | Place, boards: tuple[Board, ...], problems: Problems) -> None:
    if not isinstance(advance, Place):
        return
    if bool(advance.group) == bool(advance.transport):
        problems.add(place, "advance names no place, or two", "write group and lot, or transport")
    elif advance.lot == 0:
        problems.add(place, "lot is 0", "write 1 for the first of the group, -1 for the last")
    else:
        for board in boards:
            if target(board, advance) is None:
                _lost(place, advance, board, problems)


def _lost(place: str, advance: Place, board: Board, problems: Problems) -> None:
    """An advance that leads nowhere on a board."""
    if advance.transport:
        count = sum(field.kind == "transport" for field in board.field)
        problems.add(place, f"board {board.id} has no transport {advance.transport}", f"there are {count}")
        return
    groups = Counter(field.group for field in board.field if field.kind == "street")
    if advance.group in groups:
        what = f"group {quoted(advance.group)} of board {board.id} has no lot {advance.lot}"
        problems.add(place, what, f"there are {groups[advance.group]}")
    else:
        known = [DEAREST, *groups] if groups else []
        problems.add(place, f"board {board.id} has no group {quoted(advance.group)}", close(advance.group, known))


def _jail_free(document: Document, problems: Problems) -> None:
    """A held card goes back to its own deck, which its id must tell."""
    homes: dict[str, str] = {}
    for name, deck in document.decks.items():
        for card in deck:
            if card.jail_free and homes.setdefault(card.id, name) != name:
                what = f"deck {homes[card.id]} has a jail-free card of that id too"
                problems.add(
                    f"decks.{name}, card {card.id}", what, "give each an id of its own: it tells whose deck it is"
                )


def _no_circle(board: Board, document: Document, problems: Problems) -> None:
    """Cards that lead back to a deck must not lead round in a circle: a landing would never end."""
    size = len(board.field)
    draws = {at: document.decks.get(field.deck, ()) for at, field in enumerate(board.field) if field.kind == "deck"}
    leads = {at: {(at - card.back) % size for card in deck if card.back} & draws.keys() for at, deck in draws.items()}
    # Taken away: what leads nowhere further. What is left when there is no such field leads in a circle.
    while ends := [at for at, nexts in leads.items() if not nexts & leads.keys()]:
        for at in ends:
            del leads[at]
    if leads:
        what = f"back cards lead from deck field {min(leads)} to deck fields for ever"
        problems.add(f"board {board.id}", what, "move a deck field, or send back by another number")
