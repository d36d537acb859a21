"""Where the fields of a ring stand: on the edge of a rectangle, as large as there is space for. Pure."""

from __future__ import annotations

from typing import NamedTuple

WIDEST = 14
"""Columns of one field's cell at most."""
TALLEST = 3
NARROWEST = 6
"""Columns of a cell that has more than one line: room for the beginning of a name."""
LEAST_INSIDE = 4
"""Rows of fields at least: what stands in the middle needs two lines."""


class Ring(NamedTuple):
    """A drawn ring, in cells and in columns and lines of a terminal."""

    columns: int
    rows: int
    cell_width: int
    cell_height: int
    places: tuple[tuple[int, int], ...]
    """By field from Start: column and row of its cell, from 0."""

    @property
    def width(self) -> int:
        """In columns of the terminal."""
        return self.columns * self.cell_width

    @property
    def height(self) -> int:
        """In lines of the terminal."""
        return self.rows * self.cell_height


def fit(fields: int, width: int, height: int, *, most_height: int = 0) -> Ring:
    """The largest ring of so many fields in so many columns and lines.

    most_height: lines that may be taken where ``height`` is not enough for even the smallest cells. Where that is not
    enough either, the ring is as small as can be, and wider than there is space.
    """
    for lines in range(height, max(height, most_height) + 1):
        found = [
            _ring(fields, rows, width, tall) for tall in range(1, TALLEST + 1) for rows in _rows(fields, lines // tall)
        ]
        good = [ring for ring in found if ring is not None]
        if good:
            return max(good, key=lambda ring: (ring.cell_width * ring.cell_height, ring.rows * ring.cell_height))
    rows = max(LEAST_INSIDE, height, most_height)
    return _place(fields, min(rows, _half(fields) - 1), 1, 1)


def _half(fields: int) -> int:
    return (fields + 1) // 2


def _rows(fields: int, most: int) -> range:
    """How many rows of cells there can be: of columns there are at least as many as of rows."""
    return range(LEAST_INSIDE, min(most, _half(fields) - 1) + 1)


def _ring(fields: int, rows: int, width: int, tall: int) -> Ring | None:
    columns = _half(fields) + 2 - rows
    if columns < LEAST_INSIDE or columns * 2 < rows:
        return None
    wide = min(width // columns, WIDEST)
    if wide < (1 if tall == 1 else NARROWEST):
        return None
    return _place(fields, rows, wide, tall)


def _place(fields: int, rows: int, wide: int, tall: int) -> Ring:
    """Start at the bottom right, then to the left. Of an odd ring the place before Start stays empty."""
    columns = _half(fields) + 2 - rows
    bottom = [(column, rows - 1) for column in range(columns - 1, -1, -1)]
    left = [(0, row) for row in range(rows - 2, -1, -1)]
    top = [(column, 0) for column in range(1, columns)]
    right = [(columns - 1, row) for row in range(1, rows - 1)]
    return Ring(columns, rows, wide, tall, tuple((bottom + left + top + right)[:fields]))
