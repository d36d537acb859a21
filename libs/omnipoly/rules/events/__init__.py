"""What happened: frozen records, one class a kind, each with its ``apply``.

Everything in a log may be shown to every player and viewer; there are no private events.
"""

from __future__ import annotations

from .base import Event, Reason
from .lots import (
    AuctionClosed,
    AuctionOpened,
    BidderPassed,
    BidMade,
    BidsFell,
    CardMoved,
    LevelChanged,
    LotAnswered,
    LotMoved,
    LotOffered,
    MortgageChanged,
    OfferClosed,
    OfferMade,
)
from .money import (
    DebtClosed,
    DebtOpened,
    DebtPassed,
    LiquidationEnded,
    LiquidationStarted,
    Paid,
    RentClaimable,
    RentClaimed,
    RentLapsed,
)
from .position import PositionSet
from .table import (
    Advanced,
    Asked,
    CameBack,
    ClocksMoved,
    Connected,
    Contributed,
    Disconnected,
    GameEnded,
    GameStarted,
    HostChanged,
    LimitReached,
    OptionsSet,
    Paused,
    Resumed,
    SeatFreed,
    SeatHandedOver,
    SeatOut,
    SeatTaken,
    SeedRevealed,
    Shortened,
    TableOpened,
    WentAway,
)
from .turn import (
    CardDrawn,
    CardReturned,
    ChoiceMade,
    ChoiceOffered,
    DiceThrown,
    Jailed,
    Moved,
    OrderDecided,
    Released,
    StepsTaken,
    ThrowPlayed,
    TripletThrown,
    TryFailed,
    TurnStarted,
)
from .votes import VoteClosed, Voted, VoteOpened

KINDS: dict[str, type[Event]] = {
    str(cls.__struct_config__.tag): cls for cls in Event.__subclasses__()
}
"""Every kind of event by its name."""


def kind_of(event: Event | type[Event]) -> str:
    """The name of an event's kind, as protos, records and scenarios write it."""
    return str(event.__struct_config__.tag)


__all__ = [name for name in dir() if name[0].isupper() or name == "kind_of"]
