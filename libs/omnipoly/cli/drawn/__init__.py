"""A table drawn on a terminal: the ring, whatever its size, players, the record, what one may do; the keyboard alone.

ring     where the fields of a ring stand on a terminal of any size
board    the ring with figures, owners and buildings, and what stands in its middle
seats    the players
app      the screen: keys, clocks, what is typed
"""

from __future__ import annotations
