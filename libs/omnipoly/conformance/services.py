"""The contract's services as a client sees them. What has to do with a game is put in the peer's queue."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import grpc.aio

from omnipoly.editions import loader
from omnipoly.editions.problems import EditionError
from omnipoly.rules import actions as act
from omnipoly.rules.codes import Code
from omnipoly.rules.ring import Game
from omnipoly.runtime import refusals
from omnipoly.wire import calls, editions
from omnipoly.wire.channels import EOF
from omnipoly.wire.failures import Failure, to_status
from omnipoly.wire.gen.gateway.v1 import lobby_pb2, play_pb2, sessions_pb2
from omnipoly.wire.malformed import Malformed

if TYPE_CHECKING:
    from .peer import Peer

Context = Any
LIVES_S = 3600
PACKAGE = "omnipoly.gateway.v1"


class Opened(NamedTuple):
    """A ``Play`` stream was opened."""

    stream: Stream


class Asked(NamedTuple):
    """Something was asked on a stream."""

    stream: Stream
    request: play_pb2.PlayRequest


class Ended(NamedTuple):
    """The client has ended a stream: closed it on purpose, or broken it."""

    stream: Stream
    closed: bool


class Called(NamedTuple):
    """A plain call was answered."""

    method: str


Event = Opened | Asked | Ended | Called


class Stream:
    """A ``Play`` stream, from the server's side."""

    def __init__(self, person: str, token: str) -> None:
        self.person = person
        self.token = token
        self.over = asyncio.Event()
        """Nothing more can be sent."""
        self._outbox: asyncio.Queue[bytes | Failure | None] = asyncio.Queue()

    def send(self, *responses: play_pb2.PlayResponse) -> None:
        """Sends what comes at the same moment, in one message."""
        first = play_pb2.PlayResponse.FromString(responses[0].SerializeToString())
        first.along.extend(responses[1:])
        self._outbox.put_nowait(first.SerializeToString())

    def end(self, failure: Failure | None = None) -> None:
        """Ends it once everything is sent: with a failure, or in order."""
        self.over.set()
        self._outbox.put_nowait(failure)

    async def run(self, context: Context, heard: Callable[[Event], None]) -> None:
        """Until it ends, from whatever side."""
        reader = asyncio.create_task(self._read(context, heard), name="conformance-reader")
        try:
            while isinstance(data := await self._outbox.get(), bytes):
                await context.write(data)
            if data is not None:
                await abort(context, data)
        finally:
            self.over.set()
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    async def _read(self, context: Context, heard: Callable[[Event], None]) -> None:
        closed = False
        try:
            while (data := await context.read()) is not EOF:
                heard(Asked(self, play_pb2.PlayRequest.FromString(data)))
            closed = True
        finally:
            if not self.over.is_set():
                heard(Ended(self, closed))
                self.end()


async def abort(context: Context, failure: Failure) -> None:
    """Ends a call with a failure; always raises."""
    details = to_status(failure).SerializeToString()
    await context.abort(failure.status, failure.sentence, (("grpc-status-details-bin", details),))


class Services:
    """All of them, for one peer."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._persons: dict[str, tuple[str, str]] = {}
        """Person and name by access token."""
        self._expired: set[str] = set()
        self._renewals: dict[str, tuple[str, str, sessions_pb2.Session]] = {}
        """By refresh token: the access token it came with, the call that used it, and what that gave."""

    def expire(self, token: str) -> None:
        """An access token has ended."""
        self._expired.add(token)

    def register(self, server: grpc.aio.Server) -> None:
        """Have them served."""
        lobby = {
            call.method: self._action(call) for call in calls.CALLS.values() if call.service.endswith("LobbyService")
        }
        lobby |= {
            "ListEditions": self._plain(lobby_pb2.ListEditionsRequest, self.list_editions),
            "GetEdition": self._plain(lobby_pb2.GetEditionRequest, self.get_edition),
            "CreateTable": self._plain(lobby_pb2.CreateTableRequest, self.create_table),
            "GetTable": self._plain(lobby_pb2.GetTableRequest, self.get_table),
        }
        sessions = {
            "SignInGuest": self._plain(sessions_pb2.SignInGuestRequest, self.sign_in, token=False),
            "Refresh": self._plain(sessions_pb2.RefreshRequest, self.refresh, token=False),
            "Revoke": self._plain(sessions_pb2.RevokeRequest, self.revoke, token=False),
            "GetServerInfo": self._plain(sessions_pb2.GetServerInfoRequest, self.server_info, token=False),
        }
        play = {"Play": grpc.stream_stream_rpc_method_handler(self.play)}
        for name, handlers in (("Sessions", sessions), ("Lobby", lobby), ("Play", play)):
            server.add_generic_rpc_handlers(
                (grpc.method_handlers_generic_handler(f"{PACKAGE}.{name}Service", handlers),)
            )

    def _plain(self, request: Any, answer: Callable[..., Awaitable[Any]], *, token: bool = True) -> Any:
        async def call(data: bytes, context: Context) -> bytes:
            method = answer.__name__
            try:
                message = request.FromString(data)
                response = await (answer(message, self.known(context, method)[0]) if token else answer(message))
            except Failure as failure:
                await abort(context, failure)
                raise
            self._peer.heard(Called(method))
            return bytes(response.SerializeToString())

        return grpc.unary_unary_rpc_method_handler(call)

    def _action(self, call: calls.Call) -> Any:
        async def answer(request: Any, person: str) -> Any:
            table = self._peer.table_of(request.table)
            try:
                action = calls.from_request(request)
            except Malformed as malformed:
                raise refusals.failure(Code.BAD_REQUEST, malformed.sentence) from None
            if isinstance(action, act.Join) and not action.name:
                action = act.Join(self._name(person))
            before = table.version
            done = table.act(person, action, command_id=request.command_id, content=request.SerializeToString())
            self._peer.sat(table, person)
            response: Any = call.response(version=done.version, duplicate=done.duplicate)
            response.commits.extend(self._peer.commits(before, done.version))
            return response

        answer.__name__ = call.method
        return self._plain(call.request, answer)

    def known(self, context: Context, method: str) -> tuple[str, str]:
        """Who calls, and with which token. Raises ``Failure``."""
        given = dict(context.invocation_metadata() or ()).get("authorization", "")
        token = str(given).removeprefix("Bearer ")
        if token in self._expired:
            raise refusals.failure(Code.TOKEN_EXPIRED)
        if token not in self._persons:
            self._peer.wrong(f"{method} was called without the session's token in its metadata")
            raise refusals.failure(Code.SIGN_IN_REQUIRED)
        return self._persons[token][0], token

    def _name(self, person: str) -> str:
        return next(name for one, name in self._persons.values() if one == person)

    # --- sessions

    async def sign_in(self, request: sessions_pb2.SignInGuestRequest) -> sessions_pb2.SignInGuestResponse:
        """A new guest."""
        return sessions_pb2.SignInGuestResponse(
            session=self._session(f"guest:{len(self._persons)}", request.name or "Guest")
        )

    def _session(self, person: str, name: str) -> sessions_pb2.Session:
        session = sessions_pb2.Session(
            access_token=secrets.token_urlsafe(24), refresh_token=secrets.token_urlsafe(24), person=person, name=name
        )
        session.guest = True
        session.expires.FromSeconds(int(time.time()) + LIVES_S)
        session.session_expires.FromSeconds(int(time.time()) + 10 * LIVES_S)
        self._persons[session.access_token] = (person, name)
        self._renewals[session.refresh_token] = (session.access_token, "", session)
        return session

    async def refresh(self, request: sessions_pb2.RefreshRequest) -> sessions_pb2.RefreshResponse:
        """The session goes on; the same call again has the same answer."""
        token, used_by, given = self._renewals.get(request.refresh_token, ("", "", sessions_pb2.Session()))
        if used_by and used_by == request.request_id:
            return sessions_pb2.RefreshResponse(session=given)
        if not token or used_by:
            self._peer.wrong("a refresh token was used that is not good, or not any more: each is good once")
            raise refusals.failure(Code.SIGN_IN_REQUIRED)
        given = self._session(*self._persons[token])
        self._renewals[request.refresh_token] = (token, request.request_id, given)
        return sessions_pb2.RefreshResponse(session=given)

    async def revoke(self, request: sessions_pb2.RevokeRequest) -> sessions_pb2.RevokeResponse:
        """The session ends."""
        return sessions_pb2.RevokeResponse(revoked=1)

    async def server_info(self, request: sessions_pb2.GetServerInfoRequest) -> sessions_pb2.GetServerInfoResponse:
        """What this is, with the limits of a gateway."""
        limits = sessions_pb2.Limits(
            message_in_bytes=65_536,
            message_out_bytes=1_114_112,
            command_bytes=4_096,
            streams_per_identity=8,
            streams_per_connection=100,
            commands_per_second=20,
            commands_burst=40,
            open_tables_per_identity=5,
        )
        info = sessions_pb2.GetServerInfoResponse(version=version("omnipoly"), limits=limits, guests=True)
        info.editions.append(editions.summary(self._peer.game.edition))
        info.server_time.GetCurrentTime()
        return info

    # --- lobby

    async def list_editions(
        self, request: lobby_pb2.ListEditionsRequest, person: str
    ) -> lobby_pb2.ListEditionsResponse:
        """The one there is."""
        return lobby_pb2.ListEditionsResponse(editions=[editions.summary(self._peer.game.edition)])

    async def get_edition(self, request: lobby_pb2.GetEditionRequest, person: str) -> lobby_pb2.GetEditionResponse:
        """The one there is, or one that is shipped."""
        edition = self._peer.game.edition
        if request.edition and request.edition != edition.id and not request.digest:
            edition = self._shipped(request.edition).edition
        shown = editions.to_proto(edition, with_text=request.with_text, language=request.language)
        return lobby_pb2.GetEditionResponse(edition=shown)

    async def create_table(self, request: lobby_pb2.CreateTableRequest, person: str) -> lobby_pb2.CreateTableResponse:
        """A table of the client's own, of the edition it wants; its options are not looked at."""
        peer = self._peer
        again = peer.opened.get(request.request_id)
        if again is None:
            game = peer.game if request.edition == peer.game.edition.id else self._shipped(request.edition)
            name = "" if request.unseated else self._name(person)
            again = peer.opened[request.request_id] = peer.open_table(game, person, name)
            peer.sat(again, person)
        response = lobby_pb2.CreateTableResponse(table=again.id, version=1)
        response.commits.extend(peer.commits(0, 1))
        return response

    async def get_table(self, request: lobby_pb2.GetTableRequest, person: str) -> lobby_pb2.GetTableResponse:
        """The whole picture."""
        return lobby_pb2.GetTableResponse(view=self._peer.table_of(request.table).view())

    def _shipped(self, name: str) -> Game:
        try:
            return Game(loader.edition(name))
        except EditionError:
            raise refusals.failure(Code.UNKNOWN_EDITION) from None

    # --- playing

    async def play(self, _requests: object, context: Context) -> None:
        """A stream."""
        try:
            person, token = self.known(context, "Play")
        except Failure as failure:
            await abort(context, failure)
            raise
        stream = Stream(person, token)
        self._peer.heard(Opened(stream))
        await stream.run(context, self._peer.heard)
