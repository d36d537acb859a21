"""The way into the rules: what a table service, a simulation and a scenario call.

``act`` plays what has fallen due, then one action, on a draft; ``verify`` says why an action would be refused;
``apply`` repeats an event. A state is made by ``blank`` and the events of a log. What a seat may do is listed by
``listing.legal_actions``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import actions as act_
from . import (
    asking,
    auctions,
    clocks,
    liquidation,
    order,
    presence,
    seats,
    turns,
)
from .answering import ANSWERS, BY_PERSON, BY_SEAT
from .codes import Code, Refused
from .draft import Draft
from .events import Advanced, ClocksMoved, Frozen, Thawed
from .invariants import Broken, check
from .state import (
    AUCTION,
    DEBT,
    LIQUIDATION,
    LOBBY,
    NOBODY,
    ORDER,
    OVER,
    PLAYING_OUT,
    THROW,
    Choice,
    Options,
    Phase,
    State,
)

if TYPE_CHECKING:
    from .actions import Action
    from .events import Event
    from .ring import Rules

__all__ = [
    "Broken",
    "Draft",
    "act",
    "apply",
    "blank",
    "check",
    "enter",
    "freeze",
    "moves",
    "next_deadline_ms",
    "play_due",
    "settle",
    "thaw",
    "verify",
]

PLATFORM = ""
"""The actor of wake-ups, clocks and set-up."""

next_deadline_ms = clocks.next_deadline_ms


def blank(rules: Rules) -> State:
    """An empty table, before its first event."""
    return State(
        rules=rules,
        table="",
        host="",
        commitment="",
        dev=False,
        options=Options(),
        contributions=[],
        started_ms=0,
        now_ms=0,
        offset_ms=0,
        last_move_ms=0,
        paused_ms=0,
        frozen_ms=0,
        limit_ms=0,
        time_up=False,
        holder=[],
        name=[],
        bot=[],
        stands_in_for=[],
        out=[],
        out_rank=[],
        connected=[],
        away=[],
        cash=[],
        position=[],
        jailed=[],
        laps=[],
        cards=[],
        prompt=[],
        asked=[],
        deadline_ms=[],
        offers_made=[],
        throws=[],
        factories=[],
        lots=[],
        owner=[],
        level=[],
        mortgaged=[],
        held=[],
        built=[],
        pledged=[],
        unseen=[],
        returned=[],
        draws=[],
        order=[],
        phases=(Phase.LOBBY,),
        round=0,
        turn=NOBODY,
        doubles=0,
        again=False,
        jump=False,
        ride=False,
        turn_over=False,
        jail_throws=0,
        dice=(0, 0),
        speed="",
        steps=0,
        thrown=0,
        choice=Choice.NONE,
        casino=0,
        bank=0,
        prompts=0,
        debts_n=0,
        auctions=0,
        offers_n=0,
        votes=0,
        debts=(),
        claims=(),
        offers=(),
        waits=(),
        vote=None,
        cooldowns=(),
        lot=-1,
        forced_by=NOBODY,
        bids=(),
        passed=0,
        bidder=NOBODY,
        auction_deadline_ms=0,
        liquidated=NOBODY,
        places=[],
        ended="",
        seed="",
    )


def apply(s: State, event: Event) -> None:
    """Repeat an event: the only thing that changes a state."""
    event.apply(s)


def moves(actor: str) -> bool:
    """Whether a command of that actor is a move of a person or a bot (TUB-PAUSE)."""
    return bool(actor) and not seats.is_admin(actor)


def enter(s: State, now_ms: int, actor: str) -> None:
    """Apply the head of a commit: its time, and that its actor moved. The events follow one by one."""
    s.now_ms = now_ms
    if moves(actor):
        s.last_move_ms = now_ms


# --- one action -------------------------------------------------------------------------------------------------------

_PRESENCE = (act_.Connect, act_.Disconnect)
_WHILE_FROZEN = (*_PRESENCE, act_.CloseTable)
_STANDS_STILL = (act_.Leave, act_.ProposeEnd, act_.Vote)
_VERIFY = {kind: verify for kind, (verify, _) in BY_SEAT.items()}
_PLAY = {kind: play for kind, (_, play) in BY_SEAT.items()}
_NO_GAME = [phase in (LOBBY, OVER) for phase in Phase]
"""By phase: whether there is nothing to play."""
_GOES_ON = [phase in (PLAYING_OUT, DEBT, LIQUIDATION, AUCTION, ORDER) for phase in Phase]
"""By phase: whether something may follow by itself."""
_CLOSED = ("closed", "idle", "abandoned")


def verify(s: State, actor: str, action: Action, now_ms: int, prompt: int = 0) -> Code | None:
    """Why the action would be refused, or ``None``. ``prompt``, if not 0, is the decision that it answers."""
    if type(action) not in BY_SEAT:
        return _verify_person(s, actor, action, now_ms)
    if actor not in s.holder:
        return Code.NOT_SEATED
    return _verify_seat(s, s.holder.index(actor), action, now_ms, prompt)


def _verify_seat(s: State, seat: int, action: Action, now_ms: int, prompt: int) -> Code | None:
    """Of an action in the game."""
    if prompt or s.paused_ms or s.frozen_ms or s.out[seat] or _NO_GAME[s.phases[-1]]:
        code = _barred(s, seat, prompt)
        if code is not None:
            return code
    return _VERIFY[type(action)](s, seat, action, now_ms)


def _barred(s: State, seat: int, prompt: int) -> Code | None:
    """Why the seat can do nothing at all now, or not in answer to that decision."""
    phase = s.phases[-1]
    if phase is OVER:
        return Code.TABLE_CLOSED if s.ended in _CLOSED else Code.GAME_OVER
    if s.out[seat]:
        return Code.OUT_OF_GAME
    if s.paused_ms or s.frozen_ms:
        return Code.PAUSED
    if prompt and (phase is LOBBY or prompt != s.prompt[seat]):  # before the start nobody is asked anything
        return Code.STALE_PROMPT
    return Code.WRONG_PHASE if phase is LOBBY else None


def _verify_person(s: State, person: str, action: Action, now_ms: int) -> Code | None:
    """Of an action of a person, whether they sit in the game or not."""
    kind = type(action)
    phase = s.phases[-1]
    if phase is OVER and kind not in _PRESENCE:
        return Code.TABLE_CLOSED if s.ended in _CLOSED else Code.GAME_OVER
    if s.frozen_ms and kind not in _WHILE_FROZEN:
        return Code.PAUSED
    if phase is LOBBY and kind in (act_.ProposeEnd, act_.Vote):
        return Code.WRONG_PHASE if person in s.holder else Code.NOT_SEATED
    if s.paused_ms and kind in _STANDS_STILL:
        return Code.PAUSED
    return BY_PERSON[kind][0](s, person, action, now_ms)


def act(d: Draft, actor: str, action: Action, *, now_ms: int, prompt: int = 0) -> Refused | None:
    """Play what has fallen due by ``now_ms``, then the action, on a draft.

    ``actor`` is a person's id, a bot's, an admin's, or ``PLATFORM``. A refusal leaves what fell due in the draft: those
    events happened whoever asked.
    """
    s = d.state
    kind = type(action)
    play = _PLAY.get(kind)
    if play is None:
        return _act_as_person(d, actor, action, now_ms)
    if s.now_ms < now_ms or not s.prompts:
        # in the very millisecond of the last command nothing new can have fallen due: no clock is that short
        play_due(d, now_ms=now_ms)
    holder = s.holder
    if actor not in holder:
        return Refused.because(Code.NOT_SEATED)
    seat = holder.index(actor)
    code = _verify_seat(s, seat, action, s.now_ms, prompt)
    if code is not None:
        return Refused.because(code)
    s.last_move_ms = s.now_ms
    if s.away[seat]:
        presence.come_back(d, seat)
    if kind in ANSWERS:
        d.answered |= 1 << seat
    play(d, seat, action)
    settle(d)
    return None


def _act_as_person(d: Draft, actor: str, action: Action, now_ms: int) -> Refused | None:
    """An action of a person, whether they sit in the game or not, or of the platform."""
    s = d.state
    kind = type(action)
    if kind is act_.MoveClocks:
        # before anything falls due: that is what it is for
        s.now_ms = max(s.now_ms, now_ms)
        d.emit(ClocksMoved(action.by_ms))  # type: ignore[attr-defined]
        return None
    play_due(d, now_ms=now_ms)
    if kind is act_.Advance:
        _advance(d, action.by_ms)  # type: ignore[attr-defined]
        return None
    code = _verify_person(s, actor, action, s.now_ms)
    if code is not None:
        return Refused.because(code)
    if kind not in _PRESENCE:
        if moves(actor):
            s.last_move_ms = s.now_ms
        if actor in s.holder:
            presence.come_back(d, s.holder.index(actor))
    BY_PERSON[kind][1](d, actor, action)
    settle(d)
    return None


def play_due(d: Draft, *, now_ms: int) -> None:
    """Play everything that has fallen due by ``now_ms``, in the order of CORE-CLOCK."""
    s = d.state
    s.now_ms = max(s.now_ms, now_ms)
    if s.phases[-1] is ORDER and not s.prompts:
        settle(d)
    played = False
    while clocks.play_next(d):
        settle(d)
        played = True
    if played:
        d.next_command()


def freeze(d: Draft, *, now_ms: int) -> None:
    """An admin keeps the table as it is: what has fallen due is played, then nothing, and every clock stands still."""
    s = d.state
    play_due(d, now_ms=now_ms)
    if not s.frozen_ms and s.phases[-1] is not OVER:
        d.emit(Frozen(s.now_ms))


def thaw(d: Draft, *, now_ms: int) -> None:
    """It goes on, every clock with the time that was left."""
    s = d.state
    s.now_ms = max(s.now_ms, now_ms)
    if s.frozen_ms:
        d.emit(Thawed(s.now_ms - s.frozen_ms))
        settle(d)
    play_due(d, now_ms=now_ms)


def _advance(d: Draft, by_ms: int) -> None:
    """Let time pass on the table's clock; what falls due meanwhile is played when it does (FORMAT: ``wait``)."""
    s = d.state
    until = s.now_ms + by_ms
    while True:
        at = clocks.next_deadline_ms(s)
        step = (min(at, until) if at else until) - s.now_ms
        if step > 0:
            d.emit(Advanced(step))
        play_due(d, now_ms=s.now_ms)
        if s.now_ms >= until:
            return


def settle(d: Draft) -> None:
    """Everything that follows by itself: until somebody has to decide, with their decision opened."""
    s = d.state
    while _GOES_ON[phase := s.phases[-1]]:
        if phase is PLAYING_OUT:
            turns.play_out(d)
        elif (phase is DEBT and s.rules.takes_at_once) or phase is LIQUIDATION:
            liquidation.step(d)
        elif phase is AUCTION and auctions.finished(s):
            auctions.close(d)
        elif phase is ORDER and order.proceed(d):
            turns.begin(d, s.order[0], 1)
        else:
            break
    if s.time_up and s.phases[-1] is THROW:
        # nobody throws any more, whatever the time found open above the throw (GLO-Q-TIME)
        turns.next_turn(d)
    if s.paused_ms or False in s.bot:
        # without a person at it a table never stands still
        presence.keep_pause(d)
    asking.ask(d)
