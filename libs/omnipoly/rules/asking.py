"""Whose decision is open, and with which clock (CORE-PHASE, CORE-CLOCK, TUB-CLOCK, TUB-AFK)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import auctions, order
from .draft import clock_now
from .events import Asked
from .state import AUCTION, CHOICE, DEBT, LANDED, LOBBY, MOVED, NOBODY, ORDER, OVER, THROW, Phase, Prompt

if TYPE_CHECKING:
    from .draft import Draft
    from .state import State

_OF_THE_TURN = [phase in (THROW, LANDED, CHOICE, MOVED) for phase in Phase]
"""By phase: whether the turn owner alone decides."""


def clock_ms(s: State, seat: int) -> int:
    """How long the seat's next decision may take."""
    return (s.rules.choices.play.away_clock_s if s.away[seat] else s.options.clock_s) * 1000


def deciding(s: State) -> list[int]:
    """Seats whose decision the present phase waits for."""
    phase = s.phases[-1]
    if _OF_THE_TURN[phase]:
        return [s.turn]
    if phase is DEBT:
        return list(dict.fromkeys([debt.debtor for debt in s.debts]))
    if phase is AUCTION:
        return auctions.candidates(s) if s.bidder == NOBODY else [s.bidder]
    return order.waiting(s) if phase is ORDER else []


def ask(d: Draft) -> None:
    """Open the decisions that are due and close those that are not, at the end of a command.

    A decision that stays open keeps its clock: only its answer, another phase, or a wait for somebody else's debt in
    between makes a new one.
    """
    s = d.state
    phase = s.phases[-1]
    if _OF_THE_TURN[phase]:
        # nearly every decision: the turn owner's alone
        seat, prompts = s.turn, s.prompt
        opened: tuple[Prompt, ...] = ()
        closed: tuple[int, ...] = ()
        number = prompts[seat]
        if not number or d.answered >> seat & 1 or s.asked[seat] != phase:
            clock_s = s.rules.choices.play.away_clock_s if s.away[seat] else s.options.clock_s
            opened = (Prompt(seat, s.prompts + 1, phase, (s.paused_ms or s.now_ms) + clock_s * 1000),)
        if prompts.count(0) < len(prompts) - (number > 0):
            closed = tuple([other for other, prompt in enumerate(prompts) if prompt and other != seat])
        if opened or closed:
            d.emit(Asked(opened, closed))
    elif phase is not OVER and phase is not LOBBY:
        _ask(d, phase)
    d.answered = 0


def _ask(d: Draft, phase: Phase) -> None:
    s = d.state
    seats, prompts, number = deciding(s), s.prompt, s.prompts
    opened = []
    # an open cry has one clock for all; everything else one for each who decides
    own_clock = phase is not AUCTION or s.bidder != NOBODY
    for seat in seats:
        if not prompts[seat] or d.answered >> seat & 1 or s.asked[seat] != phase:
            number += 1
            opened.append(Prompt(seat, number, phase, clock_now(s) + clock_ms(s, seat) if own_clock else 0))
    closed = [seat for seat, prompt in enumerate(prompts) if prompt and seat not in seats]
    if opened or closed:
        d.emit(Asked(tuple(opened), tuple(closed)))
