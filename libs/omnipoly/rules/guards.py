"""Who may act now: the conditions that many actions share, each with its refusal code.

They are the columns of CORE-PHASE. ``not_your_turn`` comes before the phase, and in the phases ``debt`` and
``liquidation`` ``in_debt`` and ``debts_open`` stand in the place of ``wrong_phase``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .codes import Code
from .state import DEBT, Phase

if TYPE_CHECKING:
    from .state import State

_OWING = (Phase.DEBT, Phase.LIQUIDATION)
_BUSINESS = {
    "any_time": (Phase.THROW, Phase.LANDED, Phase.MOVED),
    "own_turn": (Phase.THROW, Phase.LANDED, Phase.MOVED),
    "before_throw": (Phase.THROW,),
}
MOST_MONEY = 1_000_000_000
"""No amount that anybody names may be larger."""


def owes(s: State, seat: int) -> bool:
    """Whether the seat has a debt open."""
    return any(debt.debtor == seat for debt in s.debts) if s.debts else False


def phase_code(s: State, seat: int) -> Code:
    """The refusal for an action that does not belong to the present phase."""
    if s.phases[-1] in _OWING:
        return Code.IN_DEBT if owes(s, seat) else Code.DEBTS_OPEN
    return Code.WRONG_PHASE


def turn_owner(s: State, seat: int, phase: Phase) -> Code | None:
    """Whether it is this seat's turn and the table waits for that phase."""
    if seat != s.turn:
        return Code.NOT_YOUR_TURN
    if s.phases[-1] is not phase:
        return phase_code(s, seat)
    return None


def business(s: State, seat: int, *, raises_cash: bool = False) -> Code | None:
    """Whether the seat may build, sell, mortgage, lift or trade now: the paragraph below the table of CORE-PHASE.

    ``raises_cash`` is true of what a debtor may do too: mortgage and sell.
    """
    phase = s.phases[-1]
    window = s.rules.choices.play.business
    if phase is DEBT:
        if owes(s, seat):
            return None if raises_cash else Code.IN_DEBT
        if window == "any_time":
            return None
        return Code.NOT_YOUR_TURN if seat != s.turn else Code.DEBTS_OPEN
    if window != "any_time" and seat != s.turn:
        return Code.NOT_YOUR_TURN
    return None if phase in _BUSINESS[window] else phase_code(s, seat)


def spend(s: State, seat: int, amount: int) -> Code | None:
    """Whether the seat can give away so much of its own will (LAS-ZERO: something has to be left)."""
    left = s.cash[seat] - amount
    if left < 0:
        return Code.INSUFFICIENT_CASH
    if left < s.rules.keep:
        return Code.ZERO_IS_BUST
    return None


def lot(s: State, field: int) -> Code | None:
    """Whether the field exists and can be owned."""
    if not 0 <= field < s.rules.fields_n:
        return Code.UNKNOWN_FIELD
    if not s.rules.price[field]:
        return Code.NOT_A_LOT
    return None


def own_lot(s: State, seat: int, field: int) -> Code | None:
    """Whether the field is a lot of the seat's own."""
    code = lot(s, field)
    if code is None and s.owner[field] != seat:
        return Code.NOT_OWNER
    return code


def own_street(s: State, seat: int, field: int) -> Code | None:
    """Whether the field is a street of the seat's own."""
    code = lot(s, field)
    if code is not None:
        return code
    if not s.rules.street_set[s.rules.set_of[field]]:
        return Code.NOT_A_STREET
    return None if s.owner[field] == seat else Code.NOT_OWNER
