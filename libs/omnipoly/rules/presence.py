"""Who is there, who is away, and when a table stands still (TUB-AFK, TUB-PAUSE, CORE-CLOCK)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import hosting
from .codes import Code
from .draft import clock_now
from .events import CameBack, Connected, Disconnected, OfferShortened, Paused, Resumed, Shortened, WentAway
from .state import Away, Out, Phase

if TYPE_CHECKING:
    from .actions import Connect, Disconnect
    from .draft import Draft
    from .state import State


def verify_presence(s: State, person: str, action: Connect | Disconnect, now_ms: int) -> Code | None:
    """Presence is told of persons who hold a seat; viewers count in nothing."""
    return None if person in s.holder else Code.NOT_SEATED


def connect(d: Draft, person: str, action: Connect) -> None:
    """The person is there; this alone does not end being away."""
    seat = d.state.holder.index(person)
    if not d.state.connected[seat]:
        d.emit(Connected(seat))


def disconnect(d: Draft, person: str, action: Disconnect) -> None:
    """The person is gone: away at once (TUB-AFK)."""
    s = d.state
    seat = s.holder.index(person)
    if s.connected[seat]:
        d.emit(Disconnected(seat))
        if s.phases[-1] not in (Phase.LOBBY, Phase.OVER) and s.out[seat] == Out.IN:
            go_away(d, seat, Away.BROKEN if action.broken else Away.CLOSED)
        hosting.disconnected(d, seat)


def go_away(d: Draft, seat: int, why: Away) -> None:
    """From now on short clocks: the open decision keeps the lesser of what is left and 2 s (TUB-AFK).

    So do offers that lie at the seat, where they live by a clock of their own alone (TUB-TRADE).
    """
    s = d.state
    if s.bot[seat] or s.away[seat] != Away.NO:
        return
    d.emit(WentAway(seat, why))
    limit = clock_now(s) + s.rules.choices.play.away_clock_s * 1000
    if s.deadline_ms[seat] > limit:
        d.emit(Shortened(seat, limit))
    if s.rules.choices.trade.lapses == "by_clock":
        for offer in s.offers:
            if offer.receiver == seat and offer.deadline_ms > limit:
                d.emit(OfferShortened(offer.offer, limit))


def come_back(d: Draft, seat: int) -> None:
    """An action of theirs was accepted: away no longer (TUB-AFK); what was left of the open clock stays as it is."""
    if d.state.away[seat] != Away.NO:
        d.emit(CameBack(seat))


def keep_pause(d: Draft) -> None:
    """Stand still when none of the persons still in is connected, go on when one is (TUB-PAUSE).

    A table on which no person has a seat still in never stands still.
    """
    s = d.state
    if s.phases[-1] in (Phase.LOBBY, Phase.OVER) or s.frozen_ms:
        return
    persons = False
    for seat, is_bot in enumerate(s.bot):
        if not is_bot and not s.out[seat]:
            if s.connected[seat]:
                persons = False
                break
            persons = True
    if persons and not s.paused_ms:
        d.emit(Paused(s.now_ms))
    elif s.paused_ms and not persons:
        d.emit(Resumed(s.now_ms - s.paused_ms))
