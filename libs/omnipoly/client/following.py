"""One followed table, whatever stream it is followed on: what its messages do to the replica, and what they say."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from omnipoly.client.happenings import CaughtUp, Happened, Happening, Pictured, Said
from omnipoly.client.replica import OutOfStep, TableReplica
from omnipoly.wire import commits
from omnipoly.wire.commits import NeedsSnapshot
from omnipoly.wire.gen.gateway.v1 import stream_pb2
from omnipoly.wire.malformed import Malformed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from omnipoly.client.record import Tell
    from omnipoly.rules.ring import Game
    from omnipoly.wire.gen.game.v1 import commit_pb2, table_pb2


class Refollow(Exception):
    """This table is to be followed anew; with a picture where what is known is no use any more."""


class Following:
    """A table that is followed, before its first picture and after."""

    def __init__(self, table: str, pin: str, *, tell: Tell, game_of: Callable[[str, str], Awaitable[Game]]) -> None:
        """``game_of(edition, digest)`` finds the compiled edition. ``tell``: keep a record of each commit."""
        self.table = table
        self.pin = pin
        self.replica: TableReplica | None = None
        self.ready: asyncio.Future[TableReplica] = asyncio.get_running_loop().create_future()
        """Done once the first picture is there and all that was missed has been heard; fails with ``Refused``."""
        self._tell = tell
        self._game_of = game_of
        self._chat = 0
        self._stale = False
        """What is known is no use: only a picture counts."""
        self._caught_up = False

    @property
    def resume(self) -> stream_pb2.Resume | None:
        """Where to go on; ``None``: from a picture."""
        if self.replica is None or self._stale:
            return None
        return self.replica.resume

    def again(self) -> None:
        """It is followed anew, from ``resume``: what was missed comes next."""
        self._caught_up = False

    async def take(self, response: Any) -> Happening | None:
        """What a message of the shared kinds (PlayResponse, WatchResponse) means. Raises ``Refollow``."""
        kind = response.WhichOneof("response")
        if kind == "commit":
            return self._commit(response.commit)
        if kind == "snapshot":
            return await self._snapshot(response.snapshot)
        if kind == "progress":
            return self._progress(response.progress)
        if kind == "chat":
            return self._line(response.chat)
        return None

    async def _snapshot(self, message: stream_pb2.Snapshot) -> Happening:
        view = message.view
        replica = self.replica
        try:
            if replica is None:
                replica = TableReplica(await self._game_of(view.edition, view.digest), view)
                replica.chat = self._chat
                self.replica = replica
            else:
                replica.replace(view)
        except Malformed as error:
            # A newer server's picture: nothing of it can be kept, and asking again would bring the same.
            if not self.ready.done():
                self.ready.set_exception(error)
            raise
        self._stale = False
        self._heard(message.resume.chat)
        return Pictured(replica)

    def _commit(self, message: commit_pb2.Commit) -> Happening | None:
        replica = self.replica
        if replica is None or self._stale:
            return None
        commit = commits.understand(message.SerializeToString(), replica.game)
        try:
            if isinstance(commit, NeedsSnapshot):
                raise OutOfStep("an event that this client does not know")
            lines = replica.apply(commit, tell=self._tell)
        except OutOfStep as error:
            self._stale = True
            raise Refollow(str(error)) from error
        return None if lines is None else Happened(replica, commit, lines)

    def _progress(self, message: stream_pb2.Progress) -> Happening | None:
        replica = self.replica
        if replica is None:
            return None
        server_ms = message.server_time.seconds * 1000 + message.server_time.nanos // 1_000_000
        if server_ms:
            replica.behind_ms = server_ms - int(time.time() * 1000)
        if self._stale:
            return None
        if message.version > replica.version:
            # Nothing is on its way any more, and yet something is missing.
            raise Refollow(f"version {message.version} is out, {replica.version} is here")
        if self._caught_up:
            return None
        self._caught_up = True
        if not self.ready.done():
            self.ready.set_result(replica)
        return CaughtUp(replica)

    def _line(self, message: table_pb2.ChatLine) -> Happening | None:
        if message.number <= self._chat:
            return None
        self._heard(message.number)
        at_ms = message.at.seconds * 1000 + message.at.nanos // 1_000_000
        return Said(message.table, message.number, at_ms, message.person, message.name, message.seat, message.text)

    def _heard(self, number: int) -> None:
        self._chat = max(self._chat, number)
        if self.replica is not None:
            self.replica.chat = self._chat


def table_of(response: Any) -> str:
    """The table that a message of the shared kinds is about; "" for none."""
    kind = response.WhichOneof("response")
    if kind == "snapshot":
        return str(response.snapshot.view.table)
    if kind in ("commit", "progress", "chat", "left", "prompt", "accepted", "refused", "legal"):
        return str(getattr(response, kind).table)
    return ""
