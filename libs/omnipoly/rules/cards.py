"""Drawing a card and doing what it says.

CORE-CARD, CORE-RENT-CARD, TUB-CARDS, TUB-CARDS-BIG, RUG-CARDS, GLO-CARDS, LAS-CARDS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import jail, movement
from .draft import in_play_order
from .events import CardDrawn, Moved, Paid, Reason
from .money import owe, pay_out
from .ring import Kind
from .state import BANK, CASINO, FACTORY, HOTEL

if TYPE_CHECKING:
    from omnipoly.editions.model import Card

    from .draft import Draft
    from .state import State


def draw(d: Draft, seat: int, deck_name: str) -> None:
    """Draw from the top of a deck and follow the card.

    As long as some cards have not been seen, the top is any of them, by the draw's number; after that the deck is
    known, and the top is the card that has lain longest (CORE-CARD).
    """
    s = d.state
    deck = s.rules.deck_numbers[deck_name]
    number = s.draws[deck] + 1
    unseen = s.unseen[deck]
    if unseen:
        card_id = unseen[d.entropy.pick("deck " + deck_name, number, len(unseen))]
    elif s.returned[deck]:
        card_id = s.returned[deck][0]
    else:
        return  # every card of the deck is in somebody's hand
    d.emit(CardDrawn(seat, deck_name, card_id, number))
    follow(d, seat, deck, s.rules.cards[deck][card_id])


def follow(d: Draft, seat: int, deck: int, card: Card) -> None:
    """Do what a card says."""
    s = d.state
    if card.collect is not None:
        pay_out(d, seat, card.collect, Reason.CARD)
    elif card.pay is not None:
        owe(d, seat, BANK, card.pay, Reason.CARD)
    elif card.collect_each is not None:
        _collect_each(d, seat, card.collect_each)
    elif card.pay_each is not None:
        for other in in_play_order(s, seat)[1:]:
            owe(d, seat, other, card.pay_each, Reason.CARD)
    elif card.pay_casino is not None:
        owe(d, seat, CASINO, card.pay_casino, Reason.CARD)
    elif card.advance is not None:
        movement.advance(d, seat, s.rules.advance_to[deck, card.id])
        movement.land(d, seat, by_card=True)
    elif card.back is not None:
        at = s.position[seat]
        d.emit(Moved(seat, at, (at - card.back) % s.rules.fields_n, "back", lap=False))
        movement.land(d, seat, by_card=True)
    elif card.go_to_jail:
        jail.send(d, seat, "card")
    elif card.repairs is not None:
        owe(d, seat, BANK, repairs(s, seat, *card.repairs), Reason.REPAIRS)
    elif card.nearest is not None:
        kind = Kind.TRANSPORT if card.nearest == "transport" else Kind.UTILITY
        movement.advance(d, seat, _nearest(s, seat, kind))
        movement.land(d, seat, by_card=True, nearest=True)


def repairs(s: State, seat: int, per_house: int, per_hotel: int) -> int:
    """What repairs cost a seat: for each house and each hotel; a factory counts as a house (LAS-FACTORY)."""
    total = 0
    for field in s.rules.streets:
        level = s.level[field]
        if level and s.owner[field] == seat:
            if level == HOTEL:
                total += per_hotel
            else:
                total += per_house * (1 if level == FACTORY else level)
    return total


def _collect_each(d: Draft, seat: int, amount: int) -> None:
    """Every other player still in pays; at a big table those who have the money at once (TUB-CARDS-BIG)."""
    s = d.state
    at_once = s.rules.choices.debt.big_table_pays_at_once and s.rules.big(s.seats)
    for other in in_play_order(s, seat)[1:]:
        if at_once and s.cash[other] >= amount:
            d.emit(Paid(other, seat, amount, Reason.CARD))
        else:
            owe(d, other, seat, amount, Reason.CARD)


def _nearest(s: State, seat: int, kind: Kind) -> int:
    n, at = s.rules.fields_n, s.position[seat]
    return next(field % n for field in range(at + 1, at + n + 1) if s.rules.kind[field % n] is kind)
