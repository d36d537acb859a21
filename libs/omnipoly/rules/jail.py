"""Prison, cell, customs (CORE-JAIL, CORE-DOUBLE, TUB-PRISON, RUG-CELL, GLO-CUSTOMS, LAS-PRISON)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from . import movement
from .codes import Code
from .events import CardReturned, DiceThrown, Jailed, Reason, Released, ThrowPlayed, TryFailed
from .guards import spend, turn_owner
from .money import owe, take
from .state import BANK, FREE, Phase

if TYPE_CHECKING:
    from .actions import PayBail, UseCard
    from .draft import Draft
    from .state import State


def send(d: Draft, seat: int, why: Literal["doubles", "field", "card"]) -> None:
    """To jail, without walking: the turn ends and the doubles are forgotten (CORE-DOUBLE)."""
    d.emit(Jailed(seat, why))


def throw(d: Draft, seat: int) -> None:
    """A throw for a double: it frees and is walked, without a further throw; the last failed try owes bail."""
    s = d.state
    choices = s.rules.choices.jail
    number = s.thrown + 1
    dice = d.entropy.throw(number, "jail")
    d.emit(DiceThrown(seat, number, dice, "", "jail"))
    if dice[0] == dice[1]:
        d.emit(Released(seat, "double"))
        movement.walk_throw(d, seat)
        return
    throws, tries = s.jail_throws + 1, s.jailed[seat]
    if throws < choices.throws_a_turn:
        d.emit(TryFailed(seat, tries, throws))
        d.emit(ThrowPlayed(seat, again=True))
        return
    d.emit(TryFailed(seat, tries + 1, throws))
    if tries + 1 >= choices.tries:
        owe(d, seat, BANK, choices.bail, Reason.BAIL)


def last_try_paid(d: Draft, seat: int) -> None:
    """The bail of the last failed try is paid: free, and the throw is walked where the edition says so (TUB-PRISON)."""
    d.emit(Released(seat, "last_try"))
    if d.state.rules.choices.jail.after_last_try == "walks":
        movement.walk_throw(d, seat)


def waits_for_bail(s: State, seat: int) -> bool:
    """Whether the seat has failed its last try and is free once nothing is owed."""
    return s.jailed[seat] >= s.rules.choices.jail.tries


def _verify_before_throw(s: State, seat: int) -> Code | None:
    code = turn_owner(s, seat, Phase.THROW)
    if code is None and s.jailed[seat] == FREE:
        return Code.NOT_IN_JAIL
    return code


def verify_pay_bail(s: State, seat: int, action: PayBail, now_ms: int) -> Code | None:
    """CORE-JAIL: before the throw, with the cash in hand."""
    return _verify_before_throw(s, seat) or spend(s, seat, s.rules.choices.jail.bail)


def pay_bail(d: Draft, seat: int, action: PayBail) -> None:
    """Pay and be free; an ordinary throw follows (CORE-JAIL)."""
    take(d, seat, d.state.rules.choices.jail.bail, Reason.BAIL)
    d.emit(Released(seat, "bail"))


def verify_use_card(s: State, seat: int, action: UseCard, now_ms: int) -> Code | None:
    """CORE-JAIL: before the throw, with a card in hand."""
    code = _verify_before_throw(s, seat)
    if code is None and not s.cards[seat]:
        return Code.NO_CARD
    return code


def use_card(d: Draft, seat: int, action: UseCard) -> None:
    """Hand in the card held longest: it goes to the bottom of its own deck (CORE-JAIL, CORE-CARD)."""
    d.emit(CardReturned(seat, d.state.cards[seat][0]))
    d.emit(Released(seat, "card"))
