"""The client on stubs alone with one fault planted: what `omnipoly conformance` must find.

python faulty.py FAULT=HOST:PORT/TABLE …

Many at once, each against a peer of its own: starting a process costs more than playing.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "python_stubs"))
import client
from client import play


class NamesNoPrompt(client.Player):
    """acts: its commands answer whatever is open when they arrive."""

    async def send(self, **request: Any) -> None:
        if "act" in request:
            request["act"].prompt_id = 0
        await super().send(**request)


class DropsWhatComesAlong(client.Player):
    """along: it was written before messages had others along."""

    async def messages(self) -> Any:
        async for message in super().messages():
            del message.along[:]
            yield message


class AnswersTwice(client.Player):
    """prompt_twice: each time a decision is told, it is answered."""

    async def on_prompt(self, prompt: Any) -> None:
        await self.act(prompt)


class TakesDuplicates(client.Player):
    """commits_twice: it stands where the last commit does, whichever that is."""

    async def on_commit(self, commit: Any) -> None:
        await super().on_commit(commit)
        if self.resume is not None:
            self.resume.version = commit.version


class NeverResumes(client.Player):
    """broken, missed, …: it begins anew each time."""

    async def follow(self) -> None:
        self.resume = None
        await super().follow()


class ForgetsItsCommands(client.Player):
    """lost_command: what was under way when the stream broke is decided anew, under another id."""

    async def stream(self) -> float:
        self.pending = None
        return await super().stream()


class IsImpatient(client.Player):
    """slow_answer: no answer in a moment, another command."""

    async def act(self, prompt: Any) -> None:
        await super().act(prompt)
        asyncio.get_running_loop().call_later(0.2, self.lose_patience, self.pending, prompt)

    def lose_patience(self, pending: Any, prompt: Any) -> None:
        if self.pending is pending:
            self.task = asyncio.ensure_future(super().act(prompt))


class Hammers(client.Player):
    """rate_limited: it does not look at RetryInfo."""

    async def again(self, command_id: str, wait_s: float) -> None:
        await super().again(command_id, 0)


class GivesAnotherId(client.Player):
    """unknown_outcome: it tries again under another id."""

    async def again(self, command_id: str, wait_s: float) -> None:
        if self.pending is not None:
            self.pending.command_id = self.fresh()
            command_id = self.pending.command_id
        await super().again(command_id, wait_s)


class DiesOfNewReasons(client.Player):
    """refused_unknown: it has a table of all reasons there are."""

    async def on_refused(self, refused: Any) -> None:
        if client.reason(refused.status)[0] == "SOMETHING_NEW":
            raise SystemExit("unknown reason")
        await super().on_refused(refused)


class GivesUpWhenStale(client.Player):
    """refused_stale: it takes no decision to be open any more, whatever it is told."""

    async def on_refused(self, refused: Any) -> None:
        if client.reason(refused.status)[0] == "STALE_PROMPT":
            self.pending = play.Act(command_id="never")
            return
        await super().on_refused(refused)


class KeepsOldPictures(client.Player):
    """snapshot: it goes on from what it had."""

    async def on_snapshot(self, snapshot: Any) -> None:
        if self.resume is None:
            await super().on_snapshot(snapshot)


class BelievesTheHighestVersion(client.Player):
    """epoch: it takes no picture that is older than what it has."""

    async def on_snapshot(self, snapshot: Any) -> None:
        if self.resume is None or snapshot.resume.version >= self.resume.version:
            await super().on_snapshot(snapshot)


class BreaksOnNewKinds(client.Player):
    """unknown_kinds: it takes every message for one it knows."""

    async def messages(self) -> Any:
        async for message in super().messages():
            if message.WhichOneof("response") is None:
                raise SystemExit("unknown kind")
            yield message


class UnderstandsEverything(client.Player):
    """must_understand: it passes over what it does not know."""

    async def on_commit(self, commit: Any) -> None:
        for event in commit.events:
            event.must_understand = False
        await super().on_commit(commit)


class ComesAtOnce(client.Player):
    """reconnect: it does not wait to be let in."""

    async def stream(self) -> float:
        await super().stream()
        return 0.0


class SignsInAnew(client.Player):
    """token: it is somebody else from then on."""

    async def renew(self) -> None:
        await self.sign_in()


class Stays(client.Player):
    """over: it waits for more."""

    async def close(self) -> None:
        """Never."""


class UsesOneId(client.Player):
    """always: every command has the same id."""

    def fresh(self) -> str:
        return "the-only-one" if self.table and self.resume is not None else super().fresh()


class ForgetsItsToken(client.Player):
    """always: not every call has the token."""

    async def sit(self, table: str) -> None:
        kept, self.session.access_token = self.session.access_token, "none"
        try:
            await super().sit(table)
        except client.grpc.aio.AioRpcError:
            self.session.access_token = kept
        await super().sit(table)


FAULTS = {
    fault.__name__: fault
    for fault in vars().copy().values()
    if isinstance(fault, type) and issubclass(fault, client.Player) and fault is not client.Player
}


async def play_one(fault: str, address: str, table: str) -> None:
    """One faulty client to its end, whatever that is."""
    player = FAULTS[fault](address)
    try:
        await player.sign_in()
        await player.sit(table)
        await player.play()
    except (Exception, SystemExit) as end:  # noqa: BLE001 - some of them are meant to fall
        print(f"{fault}: {end!r}")


async def main(given: list[str]) -> None:
    """All of them."""
    await asyncio.gather(*(play_one(*part.replace("/", "=").split("=")) for part in given))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
