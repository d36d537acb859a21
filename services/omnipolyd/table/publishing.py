"""Commits on NATS: the bytes as they are in the store, soon, to whoever listens; never awaited."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from omnipoly.runtime.bus import StreamSpec
from omnipoly.wire.gen.table.v1 import table_pb2

if TYPE_CHECKING:
    from omnipoly.runtime.bus import Bus

TABLE = "omnipoly.table."
"""Subject of a table's commits, its id behind."""
PROMPTS = "omnipoly.prompts."
"""Subject of the decisions that a table's commits opened for persons."""
DOORS = "omnipoly.doors."
"""Subject of what may send a table's viewers away."""
CHAT = "omnipoly.chat."
"""Subject of the lines of a table's chat."""
KEPT_S = 600


class Publisher:
    """Publishes what is committed. Consumers go by version: a lost message is found by them, nothing is sent again."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        bus.declare(StreamSpec("OMNIPOLY_TABLES", [TABLE + "*"], max_age_s=KEPT_S))

    def commit(self, table_id: str, version: int, epoch: int, due_ms: int, traceparent: str, body: bytes) -> None:
        """One commit; ``due_ms`` is the table's next deadline on the platform's clock, 0 for none."""
        headers = {
            "Omnipoly-Sent": f"{time.time():.4f}",
            "Omnipoly-Version": str(version),
            "Omnipoly-Epoch": str(epoch),
            "Omnipoly-Deadline": str(due_ms),
        }
        if traceparent:
            headers["traceparent"] = traceparent
        self._bus.publish(TABLE + table_id, body, headers)

    def prompts(self, table_id: str, version: int, prompts: list[tuple[str, bytes]]) -> None:
        """Decisions of persons that the commit with that version opened or changed."""
        message = table_pb2.SeatPrompts(table=table_id, version=version)
        for person, prompt in prompts:
            message.prompts.add(person=person, prompt=prompt)
        self._bus.publish(PROMPTS + table_id, message.SerializeToString())

    def door(self, table_id: str, revision: int) -> None:
        """A table's door has moved: whoever shows the table looks again at who may follow it."""
        message = table_pb2.DoorMoved(table=table_id, door=revision)
        self._bus.publish(DOORS + table_id, message.SerializeToString())

    def line(self, table_id: str, line: bytes) -> None:
        """A line of a table's chat, a serialized ``ChatLine``."""
        self._bus.publish(CHAT + table_id, line)
