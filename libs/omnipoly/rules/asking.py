"""Whose decision is open, and with which clock (CORE-PHASE, CORE-CLOCK, TUB-CLOCK, TUB-AFK)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import auctions, order
from .draft import clock_now
from .events import Asked
from .state import NOBODY, Away, Phase, Prompt

if TYPE_CHECKING:
    from .draft import Draft
    from .state import State

_OF_THE_TURN = frozenset((Phase.THROW, Phase.LANDED, Phase.CHOICE, Phase.MOVED))


def clock_ms(s: State, seat: int) -> int:
    """How long the seat's next decision may take."""
    away = s.away[seat] != Away.NO
    return (s.rules.choices.play.away_clock_s if away else s.options.clock_s) * 1000


def deciding(s: State) -> list[int]:
    """Seats whose decision the present phase waits for."""
    phase = s.phases[-1]
    if phase in _OF_THE_TURN:
        return [s.turn]
    if phase is Phase.DEBT:
        return list(dict.fromkeys(debt.debtor for debt in s.debts))
    if phase is Phase.AUCTION:
        return auctions.candidates(s) if s.bidder == NOBODY else [s.bidder]
    return order.waiting(s) if phase is Phase.ORDER else []


def ask(d: Draft) -> None:
    """Open the decisions that are due and close those that are not, at the end of a command.

    A decision that stays open keeps its clock: only its answer, another phase, or a wait for somebody else's debt in
    between makes a new one.
    """
    s = d.state
    phase = s.phases[-1]
    prompts = s.prompt
    if phase is Phase.OVER or phase is Phase.LOBBY:
        return
    seats = deciding(s)
    opened: list[Prompt] = []
    closed: list[int] = []
    for seat, prompt in enumerate(prompts):
        if prompt and seat not in seats:
            closed.append(seat)
    number = s.prompts
    # an open cry has one clock for all; everything else one for each who decides
    own_clock = phase is not Phase.AUCTION or s.bidder != NOBODY
    for seat in seats:
        if not prompts[seat] or s.asked[seat] != phase or d.answered >> seat & 1:
            number += 1
            opened.append(Prompt(seat, number, phase, clock_now(s) + clock_ms(s, seat) if own_clock else 0))
    d.answered = 0
    if opened or closed:
        d.emit(Asked(tuple(opened), tuple(closed)))
