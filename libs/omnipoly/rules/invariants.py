"""What must hold of every state at rest (CORE-MONEY and the counters kept beside the lists)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .state import FACTORY, NOBODY, Out, Phase

if TYPE_CHECKING:
    from .state import State


class Broken(Exception):
    """A state that cannot be: the table is taken out of play and its log looked at."""


def check(s: State) -> None:
    """Raise ``Broken`` when money is not conserved, a counter is wrong, or a thing is in two places."""
    if s.phases[-1] is Phase.LOBBY or not s.cash:
        return
    _money(s)
    _lots(s)
    _cards(s)
    _open(s)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Broken(what)


def _money(s: State) -> None:
    """CORE-MONEY: cash in hand and the casino's fortune are what the bank has paid out less what it has taken in."""
    _require(sum(s.cash) + s.casino == s.bank, f"money: {s.cash} + {s.casino} is not {s.bank}")
    _require(min(s.cash) >= 0 and s.casino >= 0, f"negative cash: {s.cash}, casino {s.casino}")


def _lots(s: State) -> None:
    rules = s.rules
    seats = s.seats
    lots, factories = [0] * seats, [0] * seats
    held, built, pledged = ([0] * (seats * rules.sets_n) for _ in range(3))
    for field in range(rules.fields_n):
        owner, level = s.owner[field], s.level[field]
        if owner == NOBODY:
            _require(not level and not s.mortgaged[field], f"field {field} is built or mortgaged without an owner")
            continue
        _require(bool(rules.price[field]) and s.out[owner] == Out.IN, f"field {field} belongs to seat {owner}")
        _require(0 <= level <= FACTORY and not (level and s.mortgaged[field]), f"field {field} has level {level}")
        row = owner * rules.sets_n + rules.set_of[field]
        lots[owner] += 1
        held[row] += 1
        built[row] += level > 0
        pledged[row] += s.mortgaged[field]
        factories[owner] += level == FACTORY
    _require(lots == s.lots and held == s.held, f"lots: {s.lots} counted {lots}")
    _require(
        built == s.built and pledged == s.pledged and factories == s.factories, "counters of buildings or mortgages"
    )


def _cards(s: State) -> None:
    hands = Counter(card for hand in s.cards for card in hand)
    for number, deck in enumerate(s.rules.decks):
        found = Counter(s.unseen[number]) + Counter(s.returned[number])
        found += Counter({card: n for card, n in hands.items() if s.rules.jail_free[card] == number})
        _require(found == Counter(card.id for card in deck), f"cards of deck {s.rules.deck_names[number]}")


def _open(s: State) -> None:
    _require(bool(s.debts) == (Phase.DEBT in s.phases), "debts and the phase debt")
    _require((s.lot >= 0) == (Phase.AUCTION in s.phases), "the auction and its phase")
    for debt in s.debts:
        _require(s.out[debt.debtor] == Out.IN and debt.amount > 0 and debt.debtor != debt.creditor, f"debt {debt}")
        _require(debt.creditor < 0 or s.out[debt.creditor] == Out.IN, f"debt {debt}")
    for offer in s.offers:
        _require(s.out[offer.proposer] == Out.IN and s.out[offer.receiver] == Out.IN, f"offer {offer}")
    if s.phases[-1] is not Phase.OVER:
        _require(s.turn == NOBODY or s.out[s.turn] == Out.IN, f"the turn of seat {s.turn}")
        _require(any(s.prompt) or bool(s.auction_deadline_ms), f"nobody is asked in {s.phases}")
        for seat, prompt in enumerate(s.prompt):
            _require(not prompt or s.out[seat] == Out.IN, f"seat {seat} is asked")
