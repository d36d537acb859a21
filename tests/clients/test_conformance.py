"""`omnipoly conformance`: our own clients pass it, planted faults do not."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from omnipoly.conformance import running as conformance
from omnipoly.conformance.trials import TRIALS
from omnipoly.editions import loader
from omnipoly.rules.ring import Game
from tests.cli.calling import call
from tests.clients import running

HERE = Path(__file__).parent
FAULTS = {
    "NamesNoPrompt": "acts",
    "DropsWhatComesAlong": "along",
    "AnswersTwice": "prompt_twice",
    "TakesDuplicates": "commits_twice",
    "NeverResumes": "broken",
    "ForgetsItsCommands": "lost_command",
    "IsImpatient": "slow_answer",
    "Hammers": "rate_limited",
    "GivesAnotherId": "unknown_outcome",
    "DiesOfNewReasons": "refused_unknown",
    "GivesUpWhenStale": "refused_stale",
    "KeepsOldPictures": "snapshot",
    "BelievesTheHighestVersion": "epoch",
    "BreaksOnNewKinds": "unknown_kinds",
    "UnderstandsEverything": "must_understand",
    "ComesAtOnce": "reconnect",
    "SignsInAnew": "token",
    "Stays": "over",
    "UsesOneId": "always",
    "ForgetsItsToken": "always",
}
"""By fault of ``faulty``: the trial that finds it."""


@pytest.fixture(scope="module")
def game() -> Game:
    return Game(loader.edition("rugpull"))


async def examined(
    game: Game, names: list[str], command: list[str], environment: dict[str, str], patience_s: float = 20
) -> conformance.Report:
    """What the peer finds out about a client."""
    given = ["env", *(f"{name}={value}" for name, value in environment.items()), *command]
    return await conformance.run(
        game, names, given, lambda finding: None, patience_s=patience_s, slow_s=0.5, quiet=True
    )


def wrongs(report: conformance.Report) -> list[str]:
    return [f"{finding.trial}: {finding.sentence}" for finding in report.findings if not finding.right]


@pytest.mark.needs("node")
async def test_our_own_clients_pass(game: Game, stubs: Path) -> None:
    library = [sys.executable, str(HERE / "twenty.py"), "{address}", "{table}"]
    clients = (running.python_stubs(stubs, "{address}"), running.node("{address}", "{table}"), (library, {}))
    async with asyncio.TaskGroup() as group:
        reports = [group.create_task(examined(game, list(TRIALS), *client)) for client in clients]
    assert [wrongs(report.result()) for report in reports] == [[], [], []]
    assert all(len(report.result().findings) == len(TRIALS) for report in reports)


async def test_every_planted_fault_is_found(game: Game, stubs: Path) -> None:
    where: asyncio.Queue[str] = asyncio.Queue()

    async def found(fault: str, trial: str) -> set[str]:
        names = [trial] if trial in TRIALS else ["acts", "lost_command"]
        report = await conformance.run(
            game,
            names,
            (),
            lambda finding: None,
            address=lambda address, table: where.put_nowait(f"{fault}={address}/{table}"),
            patience_s=3,
            slow_s=1.5,
            retry_s=2,  # twenty clients of one process may be slow, and would seem to wait
        )
        assert not report.passed
        return {finding.trial for finding in report.findings if finding.right is False}

    async with asyncio.TaskGroup() as group:
        tasks = {fault: group.create_task(found(fault, trial)) for fault, trial in FAULTS.items()}
        given = [await where.get() for _ in FAULTS]
        clients = await asyncio.create_subprocess_exec(
            sys.executable, str(HERE / "faulty.py"), *given, env={**os.environ, "PYTHONPATH": str(stubs)}
        )
        try:
            await asyncio.wait(tasks.values())
        finally:
            if clients.returncode is None:  # some of them never end
                clients.kill()
            await clients.wait()
    assert {fault: FAULTS[fault] for fault, task in tasks.items() if FAULTS[fault] not in task.result()} == {}
    assert set(TRIALS) - set(FAULTS.values()) == {"missed", "lost_answer"}  # as `broken` and `lost_command`


def test_the_command_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert call("conformance", "--list") == 0
    assert [line.split()[0] for line in capfd.readouterr().out.splitlines()] == list(TRIALS)
    assert call("conformance", "--only", "nothing") == 2
    assert "there is no trial nothing" in capfd.readouterr().err
    assert call("conformance", "--port", 0, "--only", "acts", "--", sys.executable, "-c", "print('hello')") == 1
    told = capfd.readouterr().out
    assert "hello" in told
    assert "WRONG  acts             the client's program has ended" in told
