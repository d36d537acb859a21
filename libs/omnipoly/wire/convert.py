"""What the derived conversions call: times, masks, and the bounds on what comes from outside."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Any, TypeVar

from omnipoly.wire.malformed import Malformed
from omnipoly.wire.rows import LONGEST_ITEM

T = TypeVar("T", bound=Sized)

MOST_SEATS = 64
"""Seats that a bit mask may name."""


def put_duration(duration: Any, ms: int) -> None:
    """Set a Duration; seconds and nanos have the same sign."""
    seconds, rest = divmod(abs(ms), 1000)
    sign = 1 if ms >= 0 else -1
    duration.seconds = sign * seconds
    duration.nanos = sign * rest * 1_000_000


def ms_of(duration: Any) -> int:
    """A Duration in milliseconds; what is finer is cut off."""
    return int(duration.seconds) * 1000 + int(duration.nanos / 1_000_000)


def whole(duration: Any, unit_ms: int, name: str) -> int:
    """A Duration in whole seconds or minutes; ``Malformed`` when there is a rest."""
    units, rest = divmod(duration.seconds * 1000, unit_ms)
    if rest or duration.nanos:
        raise Malformed(f"{name} is not in whole {'seconds' if unit_ms == 1000 else 'minutes'}")
    return int(units)


def seats_of(mask: int) -> list[int]:
    """The seats of a bit mask, rising."""
    return [seat for seat in range(mask.bit_length()) if mask >> seat & 1]


def mask_of(seats: Iterable[int]) -> int:
    """The bit mask of seats; ``Malformed`` for one that no table has."""
    mask = 0
    for seat in seats:
        if not 0 <= seat < MOST_SEATS:
            raise Malformed(f"{seat} is not a seat")
        mask |= 1 << seat
    return mask


def bounded(value: T, longest: int, name: str) -> T:
    """The value, when it has at most so many characters or items, and none of them is too long; else ``Malformed``."""
    if len(value) > longest:
        raise Malformed(f"{name} is longer than {longest}")
    if not isinstance(value, str):
        for item in value:  # type: ignore[attr-defined]
            if isinstance(item, str) and len(item) > LONGEST_ITEM:
                raise Malformed(f"{name} has a text longer than {LONGEST_ITEM}")
    return value


def pair_of(values: Any, name: str) -> tuple[int, int]:
    """Two numbers; none at all are two zeros. ``Malformed`` for any other count."""
    numbers = tuple(values)
    if not numbers:
        return (0, 0)
    if len(numbers) != 2:
        raise Malformed(f"{name} are not two")
    return numbers
