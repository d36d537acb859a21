"""Scenarios played: step by step on a stage, with everything that differs reported.

A scenario stops at the first step that is not as it says. A fault of the file (a throw that nothing scripts, dice that
nothing uses, a position that the rules cannot reach) is a ``ScenarioError``, and not a difference.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from omnipoly.rules import engine
from omnipoly.rules.actions import Offer, Roll, kind_of
from omnipoly.rules.codes import Code
from omnipoly.rules.ring import Rules
from omnipoly.rules.state import State

from . import compare, reader
from . import position as positions
from .cast import Cast
from .compare import Difference, Seen
from .errors import ScenarioError, Unreachable, Unscripted
from .model import Act, Expect, Scenario, Throw, Wait
from .script import Script
from .stage import EngineStage, MakeStage, Stage

_NO_CODE = "no refusal"


class Result(msgspec.Struct, frozen=True):
    """How one scenario went: all is as it says when nothing differs and there is no error."""

    name: str
    path: str
    line: int
    differences: tuple[Difference, ...] = ()
    error: ScenarioError | None = None

    @property
    def holds(self) -> bool:
        """Whether everything was as the scenario says."""
        return not self.differences and self.error is None


class Report(msgspec.Struct):
    """How a run went."""

    results: list[Result]
    errors: list[ScenarioError]
    """Files that could not be read, and scenarios that could not be played."""

    @property
    def failed(self) -> list[Result]:
        """Scenarios in which something differs."""
        return [result for result in self.results if result.differences]

    @property
    def exit_code(self) -> int:
        """0: all hold; 1: one does not; 2: a file cannot be read or played."""
        return 2 if self.errors else 1 if self.failed else 0


async def run_paths(
    paths: Iterable[str | Path],
    make_stage: MakeStage = EngineStage,
    tell: Callable[[Result], None] | None = None,
) -> Report:
    """Play every scenario of files and folders, each on a stage of its own; ``tell`` hears of each as it ends.

    Raises nothing for what is wrong with a file: that stands in the report, and the other files are played.
    """
    report = Report([], [])
    for path in paths:
        try:
            for file in reader.files([path]):
                await _run_file(file, make_stage, report, tell)
        except ScenarioError as error:
            report.errors.append(error)
    return report


async def _run_file(file: str, make_stage: MakeStage, report: Report, tell: Callable[[Result], None] | None) -> None:
    try:
        scenarios = reader.read(file)
    except ScenarioError as error:
        report.errors.append(error)
        return
    for scenario in scenarios:
        result = await run(scenario, make_stage)
        report.results.append(result)
        if result.error is not None:
            report.errors.append(result.error)
        if tell is not None:
            tell(result)


async def run(scenario: Scenario, make_stage: MakeStage = EngineStage) -> Result:
    """Play one scenario on a stage of its own."""
    differences: Sequence[Difference] = ()
    fault: ScenarioError | None = None
    stage = make_stage()
    try:
        differences = await play(scenario, stage)
    except ScenarioError as error:
        fault = error
    finally:
        await stage.close()
    return Result(scenario.name, scenario.path, scenario.line, tuple(differences), fault)


async def play(scenario: Scenario, stage: Stage) -> list[Difference]:
    """Play a scenario; what differs at the first step at which something does.

    Raises ``ScenarioError`` for a fault of the file.
    """
    return await _Play(scenario, stage).all()


class _Play:
    """One scenario being played."""

    def __init__(self, scenario: Scenario, stage: Stage) -> None:
        self.scenario = scenario
        self.stage = stage
        self.cast = Cast(scenario.position)
        self.opening: tuple[Throw, ...] | None = None
        """What Start has left of the further throws of the first step that is played."""
        self.thrown_at_start = False
        """The throw of the first step was that of Start."""

    async def all(self) -> list[Difference]:
        await self._set_up()
        for number, step in enumerate(self.scenario.steps, 1):
            try:
                differences = await self._step(number, step)
            except Unscripted as error:
                raise self._error(step.line, f"step {number} needs {error.reason}") from error
            except engine.Broken as error:
                differences = [Difference(number, step.line, "the engine's invariants", "to hold", str(error))]
            except ScenarioError:
                raise
            except Exception as error:  # noqa: BLE001 - reported as what the engine did in this step
                differences = [Difference(number, step.line, "the step", "to be played", _crash(error))]
            if differences:
                return differences
        return []

    def _error(self, line: int, reason: str) -> ScenarioError:
        return ScenarioError(self.scenario.path, line, f"{self.scenario.name!r}: {reason}")

    # --- the position

    async def _set_up(self) -> None:
        """Set the table up. What Start throws (the order at a big table) is scripted by the first step that is played.

        It takes that step's further throws, or, where the step is a throw and it takes that one too, all of them: the
        step is then the throw for the order.
        """
        scenario = self.scenario
        self._check_speed_dice()
        first = next((step for step in scenario.steps if not isinstance(step, Expect)), None)
        then_dice = first.then_dice if first is not None else ()
        pools = [then_dice]
        if isinstance(first, Act) and first.dice is not None and scenario.position.given is None:
            pools.append((first.dice, *then_dice))
        for pool in pools:
            script = Script(pool)
            try:
                await self.stage.set_up(scenario.position, script)
            except Unreachable as error:
                raise self._error(scenario.line_of(error.key), str(error)) from error
            except Unscripted as error:
                if pool is pools[-1]:
                    line = first.line if first is not None else scenario.line
                    raise self._error(line, f"Start needs {error.reason}: the first step scripts it") from error
                continue
            self.opening = script.rest
            self.thrown_at_start = pool is not then_dice
            break
        await self.stage.check()

    def _check_speed_dice(self) -> None:
        """Refuse a third entry of a throw where no speed die is thrown. Raises ``ScenarioError``."""
        try:
            if positions.game(self.scenario.position.edition).edition.rules.turn.speed_die:
                return
        except Unreachable as error:
            raise self._error(self.scenario.line_of(error.key), str(error)) from error
        for number, step in enumerate(self.scenario.steps, 1):
            if isinstance(step, Expect):
                continue
            dice = step.dice if isinstance(step, Act) else None
            if any(throw.speed for throw in (*((dice,) if dice is not None else ()), *step.then_dice)):
                raise self._error(step.line, f"step {number} scripts a speed die, and this edition has none")

    # --- a step

    async def _step(self, number: int, step: Act | Wait | Expect) -> list[Difference]:
        if isinstance(step, Expect):
            return await self._expect(number, step)
        then_dice, self.opening = (step.then_dice if self.opening is None else self.opening), None
        if isinstance(step, Wait):
            script = Script(then_dice)
            await self.stage.wait(step.by_ms, script)
            return await self._after(number, step, script)
        if self.thrown_at_start:
            self.thrown_at_start = False
            return await self._after(number, step, Script(then_dice))
        return await self._act(number, step, then_dice)

    async def _act(self, number: int, step: Act, then_dice: tuple[Throw, ...]) -> list[Difference]:
        before = await self.stage.state()
        frozen = encoded(before)
        script = Script((*((step.dice,) if step.dice is not None else ()), *then_dice), before.doubles)
        try:
            code = await self.stage.do(self.cast.actor(before, step), self.cast.action(before, step), script)
        except Unscripted:
            if step.refused is None:
                raise
            code = None  # who expects a refusal scripts nothing
        if code is not step.refused:
            what = f"{kind_of(step.action)} of {step.by}"
            return [Difference(number, step.line, what, _code(step.refused), _code(code))]
        if code is not None:
            if encoded(await self.stage.state()) != frozen:
                return [Difference(number, step.line, "the refusal", "to change nothing", "another state")]
            await self.stage.check()
            return []
        if isinstance(step.action, Offer):
            self.cast.offered(step, await self.stage.state())
        return await self._after(number, step, script)

    async def _after(self, number: int, step: Act | Wait, script: Script) -> list[Difference]:
        if script.rest:
            left = ", ".join(f"[{throw.first}, {throw.second}]" for throw in script.rest)
            hint = "" if isinstance(step, Act) and isinstance(step.action, Roll) else " (it throws fewer dice)"
            raise self._error(step.line, f"step {number} leaves dice over: {left}{hint}")
        await self.stage.check()
        return []

    async def _expect(self, number: int, step: Expect) -> list[Difference]:
        state = await self.stage.state()
        asked = step.can if isinstance(step.can, dict) else {}
        can: dict[int, frozenset[str]] = {}
        for name in asked:
            seat = self.cast.seat(state, name)
            if seat >= 0:
                can[seat] = await self.stage.can(seat)
        return compare.expectation(number, step, Seen(state, self.cast, can, await self.stage.log()))


def encoded(state: State) -> bytes:
    """A state to the byte, for "nothing changes"."""
    return msgspec.msgpack.encode(state, enc_hook=_rules)


def _rules(value: object) -> str:
    if isinstance(value, Rules):
        return repr(value)
    raise TypeError(type(value).__name__)


def _code(code: Code | None) -> str:
    return _NO_CODE if code is None else code.value


def _crash(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
