"""How a game ends, and who comes where (CORE-WIN, CORE-NETWORTH, TUB-RANK, TUB-CLOSE, TUB-PAUSE, CORE-LIMIT)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .draft import seats_in
from .events import GameEnded
from .state import FACTORY, Out

if TYPE_CHECKING:
    from .draft import Draft
    from .state import State

Why = Literal["last_standing", "round_limit", "time_limit", "vote", "alone", "closed", "idle", "abandoned"]


def net_worth(s: State, seat: int) -> int:
    """Cash, lots at their price (mortgaged: half), buildings at what they cost (CORE-NETWORTH)."""
    total = s.cash[seat]
    rules = s.rules
    for field in rules.lots:
        if s.owner[field] == seat:
            price = rules.price[field]
            total += price // 2 if s.mortgaged[field] else price
            level = s.level[field]
            if level:
                total += rules.factory_cost[field] if level == FACTORY else level * rules.house_cost[field]
    return total


def places(s: State) -> tuple[int, ...]:
    """By seat, 1 is best: those in by net worth, then those out, the later the better; equals share (CORE-WIN)."""
    merit = [(1, net_worth(s, seat)) if s.out[seat] == Out.IN else (0, s.out_rank[seat]) for seat in range(s.seats)]
    return tuple(1 + sum(other > own for other in merit) for own in merit)


def end(d: Draft, why: Why) -> None:
    """The game is over as it stands."""
    s = d.state
    d.emit(GameEnded(why, places(s) if s.order or s.started_ms else ()))


def last_standing(d: Draft) -> bool:
    """Whether only one is left, who then wins at once (CORE-WIN); the game is over when this is true."""
    if len(seats_in(d.state)) > 1:
        return False
    end(d, "last_standing")
    return True
