"""Commands that change rows beside the log: each takes effect once, by its id."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from .statements import Statements

BEGIN = """
INSERT INTO asides (table_id, actor, command_id, digest, answer) VALUES ($1, $2, $3, $4, 0)
ON CONFLICT DO NOTHING
RETURNING true
"""
END = "UPDATE asides SET answer = $4 WHERE table_id = $1 AND actor = $2 AND command_id = $3"
KNOWN = "SELECT digest, answer FROM asides WHERE table_id = $1 AND actor = $2 AND command_id = $3"


class Done(NamedTuple):
    """What a command led to, now or the first time."""

    answer: int
    digest: bytes
    """Of the content it was given with, the first time."""


class Asides(Statements):
    """What stores of rows beside the log are made of."""

    async def once(
        self,
        table_id: str,
        actor: str,
        command_id: str,
        digest: bytes,
        change: Callable[[Any], Awaitable[int]],
    ) -> Done:
        """Make a change in a transaction, on the connection it is given, unless the command is known."""
        async with self._connection() as connection, connection.transaction():
            if await connection.fetchval(BEGIN, table_id, actor, command_id, digest):
                answer = await change(connection)
                await connection.execute(END, table_id, actor, command_id, answer)
                return Done(answer, digest)
            known = await connection.fetchrow(KNOWN, table_id, actor, command_id)
        return Done(known["answer"], known["digest"])
