"""Boards: each field by its kind, the groups, and what the chosen rules need on every ring."""

from __future__ import annotations

import itertools
from collections import Counter

from ..cards import DEAREST
from ..choices import Choices
from ..model import Board, Document, Field
from ..problems import Problems
from ..shape import close, field_label, quoted
from .table import check_text

KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "start": ((), ()),
    "street": (("group", "price", "house_cost"), ("rents", "factory_cost", "factory_income")),
    "transport": (("price",), ()),
    "utility": (("price",), ()),
    "deck": (("deck",), ()),
    "tax": ((), ("amount", "percent")),
    "windfall": (("amount",), ()),
    "jail": ((), ()),
    "parking": ((), ()),
    "go_to_jail": ((), ()),
    "casino": ((), ()),
    "casino_fee": (("amount",), ()),
}
"""What a field of each kind has besides kind and name: always, and by choice."""
LOTS = ("street", "transport", "utility")


def check_boards(document: Document, rules: Choices, problems: Problems) -> None:
    """Check all boards of a document as they are played with the rules of one mode."""
    _players(document.board, problems)
    _counts(document.board, rules, problems)
    for board in document.board:
        for at, field in enumerate(board.field):
            _field(f"board {board.id}, {field_label(at, field.name)}", field, rules, document, problems)
        _ring(board, problems)
        _groups(board, rules, problems)
        _needs(board, document, rules, problems)


def _players(boards: tuple[Board, ...], problems: Problems) -> None:
    """The boards divide the numbers of players among them, without overlap or hole."""
    for board in boards:
        if board.players[0] > board.players[1]:
            problems.add(f"board {board.id}", "players fall", "write players = [least, most]")
            return
    rising = sorted(boards, key=lambda board: board.players)
    for below, board in itertools.pairwise(rising):
        first = below.players[1] + 1
        if board.players[0] != first:
            what = "overlap" if board.players[0] < first else "leave a hole"
            remedy = f"let players begin with {first}, or let board {below.id} end with {board.players[0] - 1}"
            problems.add(f"board {board.id}", f"its players and those of board {below.id} {what}", remedy)


def _counts(boards: tuple[Board, ...], rules: Choices, problems: Problems) -> None:
    """What is written for so many in one hand can come about on some board."""
    for kind, rents in (("transport", rules.rent.transport), ("utility", rules.rent.utility)):
        most = max(sum(field.kind == kind for field in board.field) for board in boards)
        if 0 < most < len(rents):
            what = f"{kind} has {len(rents)} entries, and no board has more than {most} of them"
            problems.add("rules.rent", what, f"write {most} at most, by the number in one hand")


def _field(place: str, field: Field, rules: Choices, document: Document, problems: Problems) -> None:
    check_text(place, "name", field.name, problems)
    always, by_choice = KEYS[field.kind]
    for key in always:
        if not (value := getattr(field, key)):
            problems.add(place, f"its {key} is {quoted(value)}", f"a {field.kind} needs one")
    for key in Field.__struct_fields__:
        if key not in ("kind", "name", *always, *by_choice) and getattr(field, key):
            problems.add(place, f"{key} means nothing for a {field.kind}", "take it out")
    if field.kind == "street":
        _street(place, field, rules, problems)
    elif field.kind == "tax" and bool(field.amount) == bool(field.percent):
        problems.add(place, "a tax has an amount or a percent", "write one of them, more than 0")
    elif field.kind == "deck" and field.deck and field.deck not in document.decks:
        problems.add(place, f"there is no deck {quoted(field.deck)}", close(field.deck, document.decks))


def _street(place: str, field: Field, rules: Choices, problems: Problems) -> None:
    if rules.rent.street == "of_price":
        if field.rents:
            problems.add(place, 'rents are computed here (rules.rent.street = "of_price")', "take rents out")
    elif len(field.rents) != 6:
        remedy = "write 6: bare, 1 to 4 houses, hotel"
        problems.add(place, f"it has {len(field.rents)} rents" if field.rents else "it has no rents", remedy)
    elif field.rents[0] == 0 or list(field.rents) != sorted(field.rents):
        problems.add(
            place, f"rents do not rise: {list(field.rents)}", "write more than 0, and no step below the one before"
        )
    for key in ("factory_cost", "factory_income"):
        if bool(getattr(field, key)) != rules.building.factory:
            if rules.building.factory:
                problems.add(place, f"{key} is missing where factories are built", f"write {key}, more than 0")
            else:
                problems.add(
                    place, f"{key} where no factories are built", "take it out, or write building.factory = true"
                )


def _ring(board: Board, problems: Problems) -> None:
    """The fields that a ring has once, and names that tell lots apart."""
    place = f"board {board.id}"
    kinds = [field.kind for field in board.field]
    if kinds[0] != "start" or kinds.count("start") != 1:
        problems.add(
            place, "Start is not its first field, or not the only one", 'let field 0 alone have kind = "start"'
        )
    if kinds.count("jail") != 1:
        what = f"it has {kinds.count('jail')} jail fields"
        remedy = 'let one field have kind = "jail": three doubles lead there, as cards and go_to_jail fields do'
        problems.add(place, what, remedy)
    names = Counter(field.name for field in board.field if field.kind in LOTS)
    for name, count in names.items():
        if count > 1:
            problems.add(place, f"{count} lots have the name {quoted(name)}", "give each lot a name of its own")


def _groups(board: Board, rules: Choices, problems: Problems) -> None:
    place = f"board {board.id}"
    sizes = Counter(field.group for field in board.field if field.kind == "street" and field.group)
    if DEAREST in sizes:
        problems.add(
            place, f"a group is called {DEAREST}", "call it otherwise: on cards that is the dearest street's group"
        )
    for group in sizes:
        check_text(place, f"group {quoted(group)}", group, problems)
    alone = {group for group, size in sizes.items() if size == 1}
    for group in sorted(alone - set(board.lone_groups)):
        remedy = f"{close(group, sorted(sizes.keys() - alone))} Or name it in lone_groups if it is meant to be alone"
        problems.add(place, f"group {quoted(group)} has one street only", remedy)
    for group in sorted(set(board.lone_groups) - alone):
        what = f"lone_groups names {quoted(group)}, which has {sizes[group]} streets"
        problems.add(place, what, "name only groups of one street")
    if alone and rules.building.needs == "two_of_set":
        what = f"two streets of a group are needed to build, and {quoted(min(alone))} has one"
        problems.add(place, what, 'give it another street, or write building.needs = "whole_set"')


def _needs(board: Board, document: Document, rules: Choices, problems: Problems) -> None:
    """Fields without which a chosen rule, or another field, means nothing."""
    place = f"board {board.id}"
    kinds = Counter[str](field.kind for field in board.field)
    lots = sum(kinds[kind] for kind in LOTS)
    if not lots:
        problems.add(place, "there is nothing to buy on it", "add streets, transports or utilities")
    if rules.turn.speed_die and not kinds["parking"]:
        remedy = 'add a field with kind = "parking"'
        problems.add(place, "the speed die needs Free parking, where the clock moves to from any triplet", remedy)
    if rules.play.train_fare and kinds["transport"] < 2:
        problems.add(place, "trains need two transports", "add transports, or write play.train_fare = 0")
    fed = kinds["casino_fee"] or any(card.pay_casino for deck in document.decks.values() for card in deck)
    if kinds["casino"] and not fed:
        problems.add(place, "nothing is ever paid into its casino", "add a casino_fee field or a pay_casino card")
    if kinds["casino_fee"] and not kinds["casino"]:
        remedy = 'add a field with kind = "casino", or make the fees a tax'
        problems.add(place, "what is paid into a casino can never be won", remedy)
    seats = board.players[1]
    if seats >= rules.play.deal_lots_from and seats * rules.play.deal_lots > lots:
        what = f"{lots} lots are too few to deal {rules.play.deal_lots} to each of {seats} players"
        problems.add(place, what, "write fewer play.deal_lots, or seat fewer")
