"""What table services publish on NATS."""

from __future__ import annotations

from collections import defaultdict

from omnipoly.runtime.bus import Bus, Message
from omnipoly.wire import commits
from omnipoly.wire.gen.table.v1 import table_pb2


class Ear:
    """Hears and keeps every commit and prompt."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.commits: dict[str, dict[int, bytes]] = defaultdict(dict)
        """By table and version."""
        self.headers: dict[str, dict[int, dict[str, str]]] = defaultdict(dict)
        self.prompts: dict[str, list[table_pb2.SeatPrompts]] = defaultdict(list)
        self.all: list[bytes] = []
        """Every payload."""

    async def listen(self) -> None:
        await self.bus.subscribe("omnipoly.table.*", self._commit)
        await self.bus.subscribe("omnipoly.prompts.*", self._prompts)
        await self.bus.flush()

    async def _commit(self, message: Message) -> None:
        table = message.subject.rpartition(".")[2]
        version = commits.parse(message.data).version
        before = self.commits[table].setdefault(version, message.data)
        assert before == message.data, f"{table} has two commits {version}"
        self.headers[table][version] = message.headers
        self.all.append(message.data)

    async def _prompts(self, message: Message) -> None:
        self.prompts[message.subject.rpartition(".")[2]].append(table_pb2.SeatPrompts.FromString(message.data))
        self.all.append(message.data)
