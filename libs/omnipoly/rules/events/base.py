"""What every event is, and the reasons for which money moves."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ..state import State


class Event(msgspec.Struct, frozen=True, gc=False, tag_field="kind"):
    """Something that happened. ``apply`` is the only way a state changes, and reads nothing but state and event."""

    def apply(self, s: State) -> None:
        """Change the state by this event."""
        raise TypeError(type(self).__name__)


class Reason(enum.StrEnum):
    """Why money moves or is owed: every change of cash names who pays, who gets, and one of these (CORE-MONEY)."""

    START_CASH = "start_cash"
    START_BONUS = "start_bonus"
    LOT = "lot"
    AUCTION = "auction"
    RENT = "rent"
    TAX = "tax"
    WINDFALL = "windfall"
    CARD = "card"
    REPAIRS = "repairs"
    BUILDING = "building"
    BUILDING_SOLD = "building_sold"
    MORTGAGE = "mortgage"
    MORTGAGE_LIFTED = "mortgage_lifted"
    LOT_SOLD = "lot_sold"
    BAIL = "bail"
    TRADE = "trade"
    BANKRUPTCY = "bankruptcy"
    CASINO = "casino"
    CASINO_FEE = "casino_fee"
    FARE = "fare"
    FACTORY = "factory"
    POSITION = "position"
    """Cash in hand of a position that a table was set up from."""
