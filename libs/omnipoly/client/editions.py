"""Editions as the server has them, compiled for play and kept by digest."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from omnipoly.client.refused import Refused
from omnipoly.editions import loader
from omnipoly.rules.codes import Code
from omnipoly.rules.ring import Game
from omnipoly.wire.gen.game.v1 import edition_pb2
from omnipoly.wire.gen.gateway.v1 import lobby_pb2, lobby_pb2_grpc

if TYPE_CHECKING:
    import grpc.aio

    from omnipoly.client.connection import Calls


def compiled(edition: str, digest: str, text: str) -> Game:
    """The edition of a text, checked against its digest. Raises ``EditionError``, and ``Refused`` for another text."""
    loaded = loader.from_text(text, edition.partition("/")[2], source=edition)
    if loaded.digest != digest:
        raise Refused(Code.UNKNOWN_EDITION, f"The text of {edition} is not the one of its digest.")
    return Game(loaded)


class Editions:
    """The editions that a client has met."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = lobby_pb2_grpc.LobbyServiceStub(channel)
        self._games: dict[str, asyncio.Future[Game]] = {}

    async def game(self, calls: Calls, edition: str, digest: str) -> Game:
        """The compiled edition of a digest; asked for once. Raises ``Refused``."""
        kept = self._games.get(digest)
        if kept is None:
            kept = asyncio.ensure_future(self._fetch(calls, edition, digest))
            self._games[digest] = kept
            kept.add_done_callback(lambda done: self._forget_failed(digest, done))
        return await asyncio.shield(kept)

    async def read(self, calls: Calls, edition: str) -> edition_pb2.Edition:
        """The current edition of an id, with its text. Raises ``Refused``."""
        answer = await calls.call(self._stub.GetEdition, lobby_pb2.GetEditionRequest(edition=edition, with_text=True))
        message: edition_pb2.Edition = answer.edition
        return message

    async def current(self, calls: Calls, edition: str) -> Game:
        """The compiled current edition of an id. Raises ``Refused``."""
        message = await self.read(calls, edition)
        if message.digest not in self._games:
            made: asyncio.Future[Game] = asyncio.get_running_loop().create_future()
            made.set_result(compiled(message.id, message.digest, message.text))
            self._games[message.digest] = made
        return await self._games[message.digest]

    async def _fetch(self, calls: Calls, edition: str, digest: str) -> Game:
        request = lobby_pb2.GetEditionRequest(edition=edition, digest=digest, with_text=True)
        answer = await calls.call(self._stub.GetEdition, request)
        return compiled(answer.edition.id or edition, digest, answer.edition.text)

    def _forget_failed(self, digest: str, done: asyncio.Future[Game]) -> None:
        if done.cancelled() or done.exception() is not None:
            self._games.pop(digest, None)
