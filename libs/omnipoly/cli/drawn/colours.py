"""Colours that tell sets, and seats, apart: neighbours in number are far from each other on the wheel."""

from __future__ import annotations

import colorsys
import functools

GOLDEN_DEGREES = 137.508
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%&"
"""By seat: a table has 64 at most."""


@functools.cache
def of_set(number: int) -> str:
    """The background of a set's streets."""
    return _hex(number * GOLDEN_DEGREES + 12, 0.36, 0.5)


@functools.cache
def of_seat(seat: int) -> str:
    """What a seat's figure, name and lots are drawn in."""
    return _hex(seat * GOLDEN_DEGREES + 62, 0.68, 0.8)


def letter(seat: int) -> str:
    """A seat's figure."""
    return LETTERS[seat % len(LETTERS)]


def _hex(degrees: float, light: float, saturation: float) -> str:
    parts = colorsys.hls_to_rgb(degrees % 360 / 360, light, saturation)
    return "#" + "".join(f"{round(part * 255):02x}" for part in parts)
