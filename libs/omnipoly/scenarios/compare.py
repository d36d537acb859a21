"""What a scenario expects against what is: each expectation in a function of its own, and the table of them.

A function yields what differs: what it is of, what was expected, what is there, as texts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from omnipoly.rules.state import FACTORY, FREE, Away, Out, Phase, State

from .cast import Cast
from .model import AuctionWanted, Expect, Owed, VoteWanted

NOT_LISTED = frozenset(
    (
        *("leave", "propose_end", "vote", "connect", "disconnect"),
        *("replace_with_bot", "take_seat", "remove", "close_table"),
    )
)
"""Kinds that ``can`` leaves out: of the person, the host and the admin."""


class Seen(NamedTuple):
    """What expectations are compared with, after a step."""

    state: State
    cast: Cast
    can: Mapping[int, frozenset[str]]
    """By seat, for those that are asked about."""
    log: tuple[str, ...]


class Difference(msgspec.Struct, frozen=True):
    """One thing that is not as the scenario says. ``step`` counts from 1; 0 is the position."""

    step: int
    line: int
    what: str
    wanted: str
    got: str

    def __str__(self) -> str:
        return f"step {self.step} (line {self.line}): {self.what}: expected {self.wanted}, got {self.got}"


Found = tuple[str, str, str]
Compare = Callable[[Any, Seen], Iterator[Found]]


def expectation(step: int, expect: Expect, seen: Seen) -> list[Difference]:
    """What differs from an ``expect`` step, in the order in which it names things."""
    differences = []
    for key, line in expect.lines.items():
        for what, wanted, got in EXPECTATIONS[key](getattr(expect, key), seen):
            differences.append(Difference(step, line, what, wanted, got))
    return differences


# --- by player --------------------------------------------------------------------------------------------------------


def _by_player(
    what: str,
    read: Callable[[Seen, int], Any],
    show: Callable[[Any], str] = str,
    wanted_as: Callable[[Any], Any] | None = None,
) -> Compare:
    """Compare one value of each player that is named."""

    def compare(wanted: dict[str, Any], seen: Seen) -> Iterator[Found]:
        for name, value in wanted.items():
            seat = seen.cast.seat(seen.state, name)
            if seat < 0:
                yield f"{what} of {name}", show(value), "no seat"
                continue
            want = wanted_as(value) if wanted_as is not None else value
            got = read(seen, seat)
            if want != got:
                yield f"{what} of {name}", show(want), show(got)

    return compare


def _list(items: Collection[object]) -> str:
    return f"[{', '.join(map(str, items))}]"


def _show_jailed(tries: int) -> str:
    return "free" if tries == FREE else str(tries)


def _show_clock(seconds: int | None) -> str:
    return "no clock" if seconds is None else str(seconds)


def _show_debts(debts: tuple[Owed, ...]) -> str:
    return _list([f"{debt.amount} to {debt.to}" for debt in debts])


def _cash(seen: Seen, seat: int) -> int:
    return seen.state.cash[seat]


def _at(seen: Seen, seat: int) -> int:
    return seen.state.position[seat]


def _owns(seen: Seen, seat: int) -> list[int]:
    return [field for field, owner in enumerate(seen.state.owner) if owner == seat]


def _jailed(seen: Seen, seat: int) -> int:
    return seen.state.jailed[seat]


def _held_cards(seen: Seen, seat: int) -> list[str]:
    return sorted(seen.state.cards[seat])


def _owes(seen: Seen, seat: int) -> tuple[Owed, ...]:
    debts = seen.state.debts
    return tuple(Owed(seen.cast.name(debt.creditor), debt.amount) for debt in debts if debt.debtor == seat)


def _can(seen: Seen, seat: int) -> list[str]:
    return sorted(seen.can[seat] - NOT_LISTED)


def _clock(seen: Seen, seat: int) -> int | None:
    """Whole seconds until the seat's decision is played: its own clock, or that of the auction it is asked in."""
    s = seen.state
    deadline_ms = s.deadline_ms[seat]
    if not deadline_ms and s.prompt[seat] and s.phase is Phase.AUCTION:
        deadline_ms = s.auction_deadline_ms
    return -(-(deadline_ms - (s.paused_ms or s.frozen_ms or s.now_ms)) // 1000) if deadline_ms else None


def _places(seen: Seen, seat: int) -> int | None:
    places = seen.state.places
    return places[seat] if places else None


# --- compared whole ---------------------------------------------------------------------------------------------------


def _whole(what: str, read: Callable[[Seen], list[Any]]) -> Compare:
    """Compare a list, in any order."""

    def compare(wanted: tuple[Any, ...], seen: Seen) -> Iterator[Found]:
        got = read(seen)
        if sorted(wanted) != sorted(got):
            yield what, _list(wanted), _list(got)

    return compare


def _mortgaged(seen: Seen) -> list[int]:
    return [field for field, mortgaged in enumerate(seen.state.mortgaged) if mortgaged]


def _out(seen: Seen) -> list[str]:
    return [seen.cast.name(seat) for seat, out in enumerate(seen.state.out) if out != Out.IN]


def _offers(seen: Seen) -> list[str]:
    return [seen.cast.offer(offer.offer) for offer in seen.state.offers]


def _away(seen: Seen) -> list[str]:
    s = seen.state
    return [seen.cast.name(seat) for seat, away in enumerate(s.away) if away != Away.NO and s.out[seat] == Out.IN]


def _buildings(wanted: dict[int, int], seen: Seen) -> Iterator[Found]:
    got = {field: level for field, level in enumerate(seen.state.level) if level}
    if wanted != got:
        yield "buildings", _show_levels(wanted), _show_levels(got)


def _show_levels(levels: dict[int, int]) -> str:
    shown = [f"{field}: {'factory' if level == FACTORY else level}" for field, level in sorted(levels.items())]
    return f"{{{', '.join(shown)}}}"


# --- plain ------------------------------------------------------------------------------------------------------------


def _plain(what: str, read: Callable[[Seen], Any], show: Callable[[Any], str] = str) -> Compare:
    """Compare one value of the table."""

    def compare(wanted: Any, seen: Seen) -> Iterator[Found]:
        got = read(seen)
        if wanted != got:
            yield what, show(wanted), show(got)

    return compare


def _show_name(name: str | None) -> str:
    return "nobody" if name is None else name


def _turn(seen: Seen) -> str | None:
    seat = seen.state.turn
    return seen.cast.name(seat) if seat >= 0 else None


def _winner(wanted: tuple[str, ...], seen: Seen) -> Iterator[Found]:
    got = [seen.cast.name(seat) for seat, place in enumerate(seen.state.places) if place == 1]
    if sorted(wanted) != sorted(got):
        yield "winner", ", ".join(wanted) or "nobody", ", ".join(got) or "nobody"


def _auction(wanted: AuctionWanted | None, seen: Seen) -> Iterator[Found]:
    s = seen.state
    running = s.lot >= 0
    if wanted is None or not running:
        if running or wanted is not None:
            yield "auction", "none" if wanted is None else "one", f"one of field {s.lot}" if running else "none"
        return
    bid = s.bids[-1] if s.bids else None
    got = {
        "field": s.lot,
        "high": bid.amount if bid is not None else 0,
        "by": seen.cast.name(bid.seat) if bid is not None else None,
    }
    yield from _named_keys("auction", wanted, got)


def _vote(wanted: VoteWanted | None, seen: Seen) -> Iterator[Found]:
    s = seen.state
    vote = s.vote
    if wanted is None or vote is None:
        if vote is not None or wanted is not None:
            yield "vote", "none" if wanted is None else "one", f"one by {vote.by}" if vote is not None else "none"
        return
    still = [
        person
        for seat, person in enumerate(s.holder)
        if s.out[seat] == Out.IN and not s.bot[seat] and person != vote.by and person not in vote.yes
    ]
    yield from _named_keys("vote", wanted, {"by": vote.by, "yes": sorted(vote.yes), "open": sorted(still)})


def _named_keys(what: str, wanted: AuctionWanted | VoteWanted, got: dict[str, Any]) -> Iterator[Found]:
    for key, value in got.items():
        want = getattr(wanted, key)
        if want is UNSET:
            continue
        if isinstance(value, list):
            want = sorted(want)
        if want != value:
            yield f"{what}.{key}", _show_any(want), _show_any(value)


def _show_any(value: Any) -> str:
    return _list(value) if isinstance(value, list) else _show_name(value if value is None else str(value))


def _log(wanted: tuple[str, ...], seen: Seen) -> Iterator[Found]:
    if wanted != seen.log:
        yield "log", _list(wanted), _list(seen.log)


EXPECTATIONS: dict[str, Compare] = {
    "cash": _by_player("cash", _cash),
    "at": _by_player("at", _at),
    "owns": _by_player("owns", _owns, _list, sorted),
    "jailed": _by_player("jailed", _jailed, _show_jailed),
    "held_cards": _by_player("held_cards", _held_cards, _list, sorted),
    "owes": _by_player("owes", _owes, _show_debts),
    "can": _by_player("can", _can, _list, lambda kinds: sorted(set(kinds))),
    "clock": _by_player("clock", _clock, _show_clock),
    "places": _by_player("places", _places),
    "mortgaged": _whole("mortgaged", _mortgaged),
    "buildings": _buildings,
    "out": _whole("out", _out),
    "offers": _whole("offers", _offers),
    "away": _whole("away", _away),
    "turn": _plain("turn", _turn, _show_name),
    "phase": _plain("phase", lambda seen: seen.state.phase.label),
    "auction": _auction,
    "casino": _plain("casino", lambda seen: seen.state.casino),
    "round": _plain("round", lambda seen: seen.state.round),
    "paused": _plain("paused", lambda seen: seen.state.paused_ms != 0, lambda on: "yes" if on else "no"),
    "vote": _vote,
    "winner": _winner,
    "bank": _plain("bank", lambda seen: seen.state.bank),
    "log": _log,
}
"""By key of an ``expect`` step."""
