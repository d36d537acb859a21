"""Throwing, walking, landing (CORE-MOVE, CORE-DOUBLE, CORE-FIELD, CORE-BUY; GLO-Q-*, LAS-START, LAS-TRAIN)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import cards, jail, order, rent
from .codes import Code
from .events import (
    ChoiceMade,
    ChoiceOffered,
    DiceThrown,
    LotOffered,
    Moved,
    Paid,
    Reason,
    StepsTaken,
    TripletThrown,
)
from .guards import spend, turn_owner
from .money import owe, pay_out, take
from .ring import LOT_KINDS, Kind
from .state import BANK, CASINO, CHOICE, FREE, NOBODY, ORDER, THROW, Choice

if TYPE_CHECKING:
    from .actions import ChooseSteps, Roll, Teleport, Travel
    from .draft import Draft
    from .state import State

DOUBLES_TO_JAIL = 3


def verify_roll(s: State, seat: int, action: Roll, now_ms: int) -> Code | None:
    """Whether the seat may throw: for the order of play, or its turn (GLO-CLAIM: not while a claim has its moment)."""
    if s.phases[-1] is ORDER:
        return None if order.still_throws(s, seat) else Code.NOT_YOUR_TURN
    code = turn_owner(s, seat, THROW)
    if code is None and s.claims and rent.throw_waits(s, now_ms):
        return Code.TOO_EARLY
    return code


def roll(d: Draft, seat: int, action: Roll | None) -> None:
    """Throw, and play out what follows (CORE-MOVE, CORE-DOUBLE)."""
    s = d.state
    if s.phases[-1] is ORDER:
        order.throw(d, seat)
        return
    if s.claims:
        rent.lapse(d)
    if s.jailed[seat] != FREE:
        jail.throw(d, seat)
        return
    number = s.thrown + 1
    dice = d.entropy.throw(number, "walk")
    if s.rules.speed_die:
        _throw_three(d, seat, number, dice)
        return
    d.emit(DiceThrown(seat, number, dice))
    if s.doubles == DOUBLES_TO_JAIL:
        jail.send(d, seat, "doubles")
    else:
        walk(d, seat, dice[0] + dice[1])


def _throw_three(d: Draft, seat: int, number: int, dice: tuple[int, int]) -> None:
    """The speed die beside the two (GLO-Q-SPEED, GLO-Q-CITY, GLO-Q-CHOICE, GLO-Q-TRIPLET)."""
    s = d.state
    face = d.entropy.speed(number)
    d.emit(DiceThrown(seat, number, dice, face))
    total = dice[0] + dice[1]
    if s.doubles == DOUBLES_TO_JAIL:
        jail.send(d, seat, "doubles")
    elif face == "choice":
        d.emit(ChoiceOffered(seat, Choice.STEPS))
    elif face == "city":
        d.emit(StepsTaken(total, jump=True))
        walk(d, seat, total)
    elif dice[0] == dice[1] == int(face):
        d.emit(TripletThrown(total + int(face)))
        d.emit(ChoiceOffered(seat, Choice.TELEPORT))
    else:
        d.emit(StepsTaken(total + int(face), jump=False))
        walk(d, seat, total + int(face))


def verify_choose_steps(s: State, seat: int, action: ChooseSteps, now_ms: int) -> Code | None:
    """GLO-Q-CHOICE: the first die, the second, or their sum."""
    code = turn_owner(s, seat, CHOICE)
    if code is None and s.choice is not Choice.STEPS:
        return Code.WRONG_PHASE
    if code is None and action.steps not in step_choices(s):
        return Code.INVALID_AMOUNT
    return code


def step_choices(s: State) -> tuple[int, ...]:
    """The steps that a ``choice`` face leaves open, in rising order."""
    first, second = s.dice
    return tuple(sorted({first, second, first + second}))


def choose_steps(d: Draft, seat: int, action: ChooseSteps) -> None:
    """Walk the steps chosen (GLO-Q-CHOICE)."""
    d.emit(ChoiceMade(seat))
    d.emit(StepsTaken(action.steps, jump=False))
    walk(d, seat, action.steps)


def verify_teleport(s: State, seat: int, action: Teleport, now_ms: int) -> Code | None:
    """GLO-Q-TRIPLET: any field there is."""
    code = turn_owner(s, seat, CHOICE)
    if code is None and s.choice is not Choice.TELEPORT:
        return Code.WRONG_PHASE
    if code is None and not 0 <= action.field < s.rules.fields_n:
        return Code.UNKNOWN_FIELD
    return code


def teleport(d: Draft, seat: int, action: Teleport) -> None:
    """Go to the field named; the start bonus only for Start itself (GLO-Q-TRIPLET)."""
    d.emit(ChoiceMade(seat))
    lap = d.state.rules.kind[action.field] is Kind.START
    go(d, seat, action.field, "teleport", lap=lap)
    land(d, seat)


def verify_travel(s: State, seat: int, action: Travel, now_ms: int) -> Code | None:
    """LAS-TRAIN: to another station, with the fare in hand."""
    code = turn_owner(s, seat, CHOICE)
    if code is not None:
        return code
    if s.choice is not Choice.TRAVEL:
        return Code.WRONG_PHASE
    if not 0 <= action.field < s.rules.fields_n:
        return Code.UNKNOWN_FIELD
    if action.field not in s.rules.transports or action.field == s.position[seat]:
        return Code.NOT_A_LOT
    return spend(s, seat, fare(s, seat, action.field))


def fare(s: State, seat: int, field: int) -> int:
    """What the ride to a station costs: the fare for each station on the way, in the moving direction (LAS-TRAIN)."""
    stations = s.rules.transports
    ahead = stations.index(field) - stations.index(s.position[seat])
    return ahead % len(stations) * s.rules.choices.play.train_fare


def travel(d: Draft, seat: int, action: Travel) -> None:
    """Ride: nothing is paid or bought at the destination, and no start money on the way (LAS-TRAIN)."""
    d.emit(ChoiceMade(seat))
    take(d, seat, fare(d.state, seat, action.field), Reason.FARE)
    d.emit(Moved(seat, d.state.position[seat], action.field, "ride", lap=False))


def offer_ride(d: Draft, seat: int) -> bool:
    """Ask a player on a station for a ride, if the shortest one leaves something in hand (LAS-TRAIN)."""
    s = d.state
    if s.cash[seat] <= s.rules.choices.play.train_fare:
        return False
    d.emit(ChoiceOffered(seat, Choice.TRAVEL))
    return True


def walk(d: Draft, seat: int, steps: int) -> None:
    """Walk forward and play out the field (CORE-MOVE)."""
    s = d.state
    n = s.rules.fields_n
    origin = s.position[seat]
    target = origin + steps
    if target >= n:
        go(d, seat, target - n, "walk", lap=True)
    else:
        d.emit(Moved(seat, origin, target, "walk", False))
    land(d, seat)


def walk_throw(d: Draft, seat: int) -> None:
    """Walk the last throw: out of jail."""
    dice = d.state.dice
    walk(d, seat, dice[0] + dice[1])


def advance(d: Draft, seat: int, field: int) -> None:
    """Forward by a card, with the start bonus when Start is passed or reached (CORE-MOVE); lands by the caller."""
    go(d, seat, field, "card", lap=field <= d.state.position[seat])


def go(d: Draft, seat: int, field: int, way: str, *, lap: bool) -> None:
    """Move a figure; a lap pays the start bonus before the field is played out (CORE-MOVE, LAS-START, GLO-Q-LAP)."""
    s = d.state
    d.emit(Moved(seat, s.position[seat], field, way, lap))  # type: ignore[arg-type]
    if lap:
        turn = s.rules.choices.turn
        steps = turn.start_bonus
        bonus = steps[min(s.laps[seat], len(steps)) - 1]
        if turn.start_bonus_exact is not None and s.rules.kind[field] is Kind.START:
            bonus = turn.start_bonus_exact
        pay_out(d, seat, bonus, Reason.START_BONUS)


def jump_to_city(d: Draft, seat: int) -> None:
    """Forward to the nearest unsold city, if there is one (GLO-Q-CITY)."""
    s = d.state
    rules = s.rules
    at = s.position[seat]
    for steps in range(1, rules.fields_n):
        field = (at + steps) % rules.fields_n
        if rules.kind[field] is Kind.STREET and s.owner[field] == NOBODY:
            d.emit(StepsTaken(steps, jump=False))
            go(d, seat, field, "jump", lap=at + steps >= rules.fields_n)
            land(d, seat)
            return
    d.emit(StepsTaken(s.steps, jump=False))


def land(d: Draft, seat: int, *, by_card: bool = False, nearest: bool = False) -> None:
    """Play out the field a figure has come to (CORE-FIELD, CORE-BUY, CORE-RENT)."""
    s = d.state
    field = s.position[seat]
    kind = s.rules.kind[field]
    if LOT_KINDS[kind]:
        owner = s.owner[field]
        if owner == NOBODY:
            d.emit(LotOffered(seat, field))
        elif owner != seat and not s.mortgaged[field]:
            rent.fall_due(d, seat, field, by_card, nearest)
    elif kind is Kind.DECK:
        cards.draw(d, seat, s.rules.fields[field].deck)
    elif kind is Kind.GO_TO_JAIL:
        jail.send(d, seat, "field")
    elif kind is Kind.TAX:
        owe(d, seat, BANK, _tax(s, seat, field), Reason.TAX)
    elif kind is Kind.WINDFALL:
        pay_out(d, seat, s.rules.fields[field].amount, Reason.WINDFALL)
    elif kind is Kind.CASINO_FEE:
        owe(d, seat, CASINO, s.rules.fields[field].amount, Reason.CASINO_FEE)
    elif kind is Kind.CASINO:
        _casino(d, seat)


def _tax(s: State, seat: int, field: int) -> int:
    """TUB-TAX, GLO-TAX: a sum, or a part of the cash in hand, rounded down."""
    tax = s.rules.fields[field]
    return tax.amount or s.cash[seat] * tax.percent // 100


def _casino(d: Draft, seat: int) -> None:
    """A double on the casino wins a part of its fortune, rounded down (LAS-CASINO)."""
    s = d.state
    if s.dice[0] != s.dice[1]:
        return
    play = s.rules.choices.play
    percent = play.casino_six_percent if s.dice[0] == 6 else play.casino_double_percent
    amount = s.casino * percent // 100
    if amount:
        d.emit(Paid(CASINO, seat, amount, Reason.CASINO))
