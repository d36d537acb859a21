"""Decisions of a move: buy or decline, steps, teleport, rides, jail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnipoly.rules import engine, movement, rent
from omnipoly.rules.actions import Buy, ChooseSteps, Decline, PayBail, Roll, Teleport, Travel, UseCard
from omnipoly.rules.ring import Kind
from omnipoly.rules.state import NOBODY, Choice

from .valuation import danger, lot_worth

if TYPE_CHECKING:
    from omnipoly.rules.actions import Action
    from omnipoly.rules.state import State

    from .character import Character

_BUY = Buy()
_DECLINE = Decline()
_ROLL = Roll()
_PAY_BAIL = PayBail()
_USE_CARD = UseCard()
_MEAN_THROW = 7
_MANY_FREE = 6
"""As long as so many lots are free it pays to leave jail."""
_JAIL = -60
"""What going to jail is worth."""
_CARD = 10
"""What drawing a card is worth, more or less."""


def landed(s: State, seat: int, character: Character) -> Action:
    """Buy a lot whenever the cash allows it, down to nothing for one that completes a set or keeps others from it."""
    field = s.position[seat]
    price = s.rules.price[field]
    left = s.cash[seat] - price - s.rules.choices.debt.keep
    if left < 0:
        return _DECLINE
    if left >= character.reserve:
        return _BUY
    return _BUY if not any(s.built) or lot_worth(s, seat, field) > price * 3 // 2 else _DECLINE


def in_jail(s: State, seat: int, character: Character) -> Action:
    """Out at once while lots are free, with a card first; later stay where no rent is due."""
    if not _wants_out(s, seat):
        return _ROLL
    if s.cards[seat]:
        return _USE_CARD
    left = s.cash[seat] - s.rules.choices.jail.bail
    return _PAY_BAIL if left >= character.reserve else _ROLL


def _wants_out(s: State, seat: int) -> bool:
    return s.owner.count(NOBODY) - s.rules.fields_n + len(s.rules.lots) >= _MANY_FREE or danger(s, seat) == 0


def choice(s: State, seat: int) -> Action:
    """Steps, a field, or a ride: whatever leads to the better field."""
    if s.choice is Choice.STEPS:
        at, n = s.position[seat], s.rules.fields_n
        bonus = _bonus(s, seat)

        def walked(steps: int) -> int:
            return landing(s, seat, (at + steps) % n, steps) + (bonus if at + steps > n else 0)

        return ChooseSteps(max(movement.step_choices(s), key=walked))
    if s.choice is Choice.TELEPORT:
        return Teleport(max(range(s.rules.fields_n), key=lambda field: landing(s, seat, field, s.steps)))
    return _ride(s, seat)


def _ride(s: State, seat: int) -> Action:
    """Ride when the fields ahead of another station are worth more than those ahead of this one, by the fare."""
    best, most = -1, ahead(s, seat, s.position[seat])
    for field in s.rules.transports:
        if field != s.position[seat]:
            worth = ahead(s, seat, field) - movement.fare(s, seat, field)
            if worth > most and engine.verify(s, s.holder[seat], Travel(field), s.now_ms) is None:
                best, most = field, worth
    return Travel(best) if best >= 0 else _DECLINE


def ahead(s: State, seat: int, at: int) -> int:
    """What the next throw from a field is worth, in the mean."""
    n = s.rules.fields_n
    total = 0
    for steps in range(2, 13):
        total += (6 - abs(_MEAN_THROW - steps)) * landing(s, seat, (at + steps) % n, steps)
        if at + steps > n:
            total += (6 - abs(_MEAN_THROW - steps)) * _bonus(s, seat)
    return total // 36


def landing(s: State, seat: int, field: int, steps: int) -> int:
    """What standing on a field is worth to a seat, in money units."""
    rules = s.rules
    kind = rules.kind[field]
    owner = s.owner[field]
    if rules.price[field]:
        if owner == NOBODY:
            price = rules.price[field]
            return lot_worth(s, seat, field) - price // 2 if s.cash[seat] - price >= rules.choices.debt.keep else 0
        if owner == seat or s.mortgaged[field]:
            return 0
        if kind is Kind.STREET:
            return -rent.street_rent(s, field)
        return -(rent.transport_rent(s, field) if kind is Kind.TRANSPORT else rent.utility_factor(s, field) * steps)
    spot = rules.fields[field]
    if kind is Kind.START:
        exact = rules.choices.turn.start_bonus_exact
        return _bonus(s, seat) if exact is None else exact
    if kind in (Kind.TAX, Kind.CASINO_FEE):
        return -(spot.amount or s.cash[seat] * spot.percent // 100)
    return {Kind.GO_TO_JAIL: _JAIL, Kind.DECK: _CARD, Kind.WINDFALL: spot.amount}.get(kind, 0)


def _bonus(s: State, seat: int) -> int:
    """What the seat's next lap pays (GLO-Q-LAP)."""
    steps = s.rules.choices.turn.start_bonus
    return steps[min(s.laps[seat], len(steps) - 1)]
