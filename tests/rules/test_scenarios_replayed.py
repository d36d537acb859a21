"""CORE-REPLAY: every scenario, played twice, says the same to the byte; and its events alone give the same states."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from omnipoly.rules import engine
from omnipoly.rules.actions import Action, Connect, Disconnect
from omnipoly.rules.codes import Code
from omnipoly.scenarios import reader, runner
from omnipoly.scenarios.model import Scenario
from omnipoly.scenarios.script import Script
from omnipoly.scenarios.stage import EngineStage

FOLDER = Path(__file__).parents[1] / "scenarios"
FILES = [Path(file) for file in reader.files([FOLDER])]


class ReplayStage(EngineStage):
    """Plays, and repeats what each command's events say on a copy of the state before it."""

    def __init__(self) -> None:
        super().__init__()
        self.record: list[bytes] = []
        self._draft: engine.Draft | None = None

    def _keep(self, draft: engine.Draft) -> None:
        super()._keep(draft)
        self._draft = draft

    async def do(self, by: str, action: Action, script: Script) -> Code | None:
        again = (await self.state()).copy()
        code = await super().do(by, action, script)
        assert self._draft is not None
        events = self._draft.events
        self.record.append(msgspec.msgpack.encode(events))
        # presence is the platform's word, a refusal leaves nothing that its actor did
        reported = isinstance(action, Connect | Disconnect)
        engine.enter(again, again.now_ms, "" if reported or code is not None else by)
        for event in events:
            engine.apply(again, event)
        assert runner.encoded(again) == runner.encoded(await self.state()), f"{action} of {by!r} replayed"
        return code


def _named(file: Path) -> str:
    return str(file.relative_to(FOLDER))


async def _records(scenarios: list[Scenario]) -> list[list[bytes]]:
    records = []
    for scenario in scenarios:
        stage = ReplayStage()
        await runner.play(scenario, stage)
        records.append(stage.record)
    return records


@pytest.mark.parametrize("file", FILES, ids=_named)
async def test_played_twice_and_replayed_from_its_events(file: Path) -> None:
    scenarios = reader.read(str(file))
    first, second = await _records(scenarios), await _records(scenarios)
    assert first == second
    assert any(_flat(first))


def _flat(records: list[list[bytes]]) -> Iterator[bytes]:
    return itertools.chain.from_iterable(records)
