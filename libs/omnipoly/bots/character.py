"""What tells one bot from another: a few numbers made of one."""

from __future__ import annotations

import msgspec


class Character(msgspec.Struct, frozen=True, gc=False):
    """How a bot leans. All bots value things alike; they differ in how far they go."""

    reserve: int
    """Cash that stays in hand when buying, building and lifting, in whole money units."""
    ardour: int
    """How much of what a lot is worth to it a bot bids at most, in percent; never above 100."""
    pride: int
    """What a trade has to bring beyond an even one, in whole money units."""

    @classmethod
    def of(cls, number: int) -> Character:
        """The character with that number; any whole number has one, and there are 45 different ones."""
        thrift, ardour, pride = number % 5, number // 5 % 3, number // 15 % 3
        return cls(reserve=10 + 15 * thrift, ardour=88 + 6 * ardour, pride=6 * pride)
