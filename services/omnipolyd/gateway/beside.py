"""What is served beside the door: gRPC's own health, and reflection where it is on.

Anybody may ask them, with a session or without: what they ask is counted by their connection, as calls and streams are.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from omnipoly.runtime.interceptors import Behaviour, Context, Wrapping, is_generator

from . import limits

if TYPE_CHECKING:
    from .door import Door

OURS = "/omnipoly.gateway.v1."
"""What the door counts itself."""


class Beside(Wrapping):
    """Has everything that is not the door's own counted there."""

    def __init__(self) -> None:
        super().__init__()
        self.door: Door | None = None
        """To be set before the server answers."""

    def _behaviour(self, method: str, kind: str, behaviour: Behaviour) -> Behaviour:
        if method.startswith(OURS):
            return behaviour
        if kind == "unary_unary":

            async def ask(request: Any, context: Context) -> Any:
                await self._door.count(context)
                return await behaviour(request, context)

            return ask

        async def stream(request: Any, context: Context) -> None:
            async with self._door.stream(context):
                asked = self._counted(request, context) if kind.startswith("stream") else request
                if not is_generator(behaviour):
                    await behaviour(asked, context)
                    return
                async with aclosing(behaviour(asked, context)) as answers:
                    async for answer in answers:
                        await context.write(answer)

        return stream

    @property
    def _door(self) -> Door:
        assert self.door is not None
        return self.door

    async def _counted(self, requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
        """The messages of a stream, each of which asks as a call does."""
        async for request in requests:
            await self._door.count(context, limits.REFLECTED)
            yield request
