"""Leaving, being removed, seats handed over.

CORE-LEAVE, CORE-SEAT, TUB-LEAVE, TUB-REMOVE, TUB-SUBSTITUTE, TUB-TAKEOVER, TUB-CLOSE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import bankruptcy, ending, hosting, votes
from .codes import Code
from .events import SeatFreed, SeatHandedOver
from .state import Away, Out, Phase

if TYPE_CHECKING:
    from .actions import CloseTable, Leave, Remove, ReplaceWithBot, TakeSeat
    from .draft import Draft
    from .state import State

ADMIN = "admin:"
"""What an admin's actor id begins with."""
BOT = "bot:"
"""What a bot's actor id begins with."""


def is_admin(actor: str) -> bool:
    """Whether the actor is an admin (acting as one)."""
    return actor.startswith(ADMIN)


def next_bot_id(s: State) -> str:
    """The actor id of one more bot: the lowest number that no bot at the table has."""
    return next(name for number in range(s.seats + 1) if (name := f"{BOT}{number}") not in s.holder)


def verify_leave(s: State, person: str, action: Leave, now_ms: int) -> Code | None:
    """Always, while one has a seat still in."""
    if person not in s.holder:
        return Code.NOT_SEATED
    return None if s.out[s.holder.index(person)] == Out.IN else Code.OUT_OF_GAME


def leave(d: Draft, person: str, action: Leave) -> None:
    """Before the start the seat is free again; afterwards CORE-LEAVE."""
    s = d.state
    seat = s.holder.index(person)
    if s.phases[-1] is Phase.LOBBY:
        free(d, seat)
    else:
        bankruptcy.go_out(d, seat, Out.LEFT)


def free(d: Draft, seat: int) -> None:
    """Somebody gets up before the start."""
    s = d.state
    if s.holder[seat] == s.host:
        hosting.pass_on(d, seat)
    d.emit(SeatFreed(seat))


def verify_remove(s: State, person: str, action: Remove, now_ms: int) -> Code | None:
    """The host a bot or somebody away, before the start anybody else; an admin anybody (TUB-REMOVE)."""
    if person != s.host and not is_admin(person):
        return Code.NOT_HOST
    seat = action.seat
    if not 0 <= seat < s.seats or s.out[seat] != Out.IN:
        return Code.BAD_PARTNER
    if is_admin(person) or s.bot[seat]:
        return None
    if s.phases[-1] is Phase.LOBBY:
        return Code.BAD_PARTNER if s.holder[seat] == person else None
    # who acts is there
    return Code.NOT_AWAY if s.away[seat] == Away.NO or s.holder[seat] == person else None


def remove(d: Draft, person: str, action: Remove) -> None:
    """Out of the game as if they had left."""
    if d.state.phases[-1] is Phase.LOBBY:
        free(d, action.seat)
    else:
        bankruptcy.go_out(d, action.seat, Out.REMOVED)


def verify_replace_with_bot(s: State, person: str, action: ReplaceWithBot, now_ms: int) -> Code | None:
    """The host, for a player who is away (TUB-SUBSTITUTE); a paid table has no bots (RUG-WIN)."""
    if person != s.host:
        return Code.NOT_HOST
    if s.options.entry_fee:
        return Code.BAD_OPTION
    seat = action.seat
    if not 0 <= seat < s.seats or s.out[seat] != Out.IN:
        return Code.BAD_PARTNER
    if s.phases[-1] is Phase.LOBBY:
        return Code.WRONG_PHASE
    # who acts is there: a host does not hand their own seat over
    return Code.NOT_AWAY if s.bot[seat] or s.away[seat] == Away.NO or s.holder[seat] == person else None


def replace_with_bot(d: Draft, person: str, action: ReplaceWithBot) -> None:
    """A bot plays on with all that belongs to the seat; the person may take it again (CORE-SEAT)."""
    s = d.state
    seat = action.seat
    gone = s.holder[seat]
    d.emit(SeatHandedOver(seat, next_bot_id(s), s.name[seat], bot=True, stands_in_for=gone))
    d.answered |= 1 << seat
    votes.person_gone(d, gone)


def verify_take_seat(s: State, person: str, action: TakeSeat, now_ms: int) -> Code | None:
    """One's own seat at once; as a viewer any bot's seat, where the host allows it (TUB-SUBSTITUTE, TUB-TAKEOVER)."""
    seat = action.seat
    if s.phases[-1] is Phase.LOBBY:
        return Code.WRONG_PHASE
    if not 0 <= seat < s.seats or s.out[seat] != Out.IN:
        return Code.BAD_PARTNER
    if s.stands_in_for[seat] == person:
        return None
    if person in s.holder or person in s.stands_in_for or person.startswith(BOT) or is_admin(person):
        return Code.BAD_PARTNER
    if not s.options.viewers_take_bots:
        return Code.BAD_OPTION
    return None if s.bot[seat] and not s.stands_in_for[seat] else Code.NOT_A_BOT


def take_seat(d: Draft, person: str, action: TakeSeat) -> None:
    """Play on with what the bot has, with a full clock for an open decision (CORE-SEAT)."""
    s = d.state
    seat = action.seat
    name = s.name[seat] if s.stands_in_for[seat] == person else action.name or s.name[seat]
    d.emit(SeatHandedOver(seat, person, name, bot=False, stands_in_for=""))
    d.answered |= 1 << seat
    if not s.host:
        hosting.pass_on(d, seat - 1 if seat else s.seats - 1)


def verify_close_table(s: State, person: str, action: CloseTable, now_ms: int) -> Code | None:
    """TUB-CLOSE: the admin, any table at any time."""
    return None if is_admin(person) else Code.NOT_ADMIN


def close_table(d: Draft, person: str, action: CloseTable) -> None:
    """Places as it stands."""
    ending.end(d, "closed")
