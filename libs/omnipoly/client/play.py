"""Playing: one stream for any number of tables, which comes back by itself, and commands that are done once.

Each followed table has a replica with the engine's own state. A command waits for its answer across broken streams:
it is sent again under its own id, which the table never does twice.
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from omnipoly.client import names
from omnipoly.client.backoff import Backoff
from omnipoly.client.connection import TIMEOUT_S
from omnipoly.client.decisions import decisions
from omnipoly.client.feed import Feed, Feeds
from omnipoly.client.following import Following, Refollow, table_of
from omnipoly.client.happenings import Gone, Prompted
from omnipoly.client.lobby import Answer
from omnipoly.client.refused import Refused, unanswered
from omnipoly.client.stream import Stream
from omnipoly.wire import actions as wire_actions
from omnipoly.wire import legal
from omnipoly.wire.gen.gateway.v1 import play_pb2, play_pb2_grpc, stream_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from omnipoly.client.connection import Calls
    from omnipoly.client.decisions import Decision
    from omnipoly.client.editions import Editions
    from omnipoly.client.record import Tell
    from omnipoly.client.replica import TableReplica
    from omnipoly.rules.actions import Action
    from omnipoly.rules.legal import LegalAction
    from omnipoly.rules.ring import Game
    from omnipoly.rules.state import Prompt
    from omnipoly.wire.gen.game.v1 import script_pb2

_REASON = stream_pb2.Left.Reason
_WHY = {
    _REASON.REASON_BARRED: ("barred", "The host has sent you away from this table."),
    _REASON.REASON_PRIVATE: ("private", "This table has become private."),
    _REASON.REASON_GONE: ("gone", "This table is out of order, or is kept no longer."),
}


class _Command:
    """A command on its way."""

    def __init__(self, request: play_pb2.PlayRequest, deadline: float) -> None:
        self.request = request
        self.deadline = deadline
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()


class Play:
    """A playing connection. Made by ``Session.play``; an async context manager, and iterated for what happens."""

    def __init__(self, calls: Calls, editions: Editions, *, tell: Tell = False) -> None:
        """For ``Session.play`` alone."""
        self._calls = calls
        self._editions = editions
        self._tell = tell
        self._stub = play_pb2_grpc.PlayServiceStub(calls.connection.channel)
        self._following: dict[str, Following] = {}
        self._commands: dict[tuple[str, str], _Command] = {}
        self._asked: dict[str, list[asyncio.Future[tuple[Prompt, tuple[LegalAction, ...]]]]] = {}
        self._outbox: deque[play_pb2.PlayRequest] = deque()
        self._to_send = asyncio.Event()
        self._feeds = Feeds()
        self._ended: Refused | None = None
        self._stream = Stream(
            calls.tokens,
            lambda metadata: self._stub.Play(None, metadata=metadata),
            self._write,
            self._heard,
            lambda token: self._send(play_pb2.PlayRequest(renew=play_pb2.Renew(access_token=token))),
            self._end,
        )

    async def __aenter__(self) -> Self:
        self._stream.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection: at tables where nothing else holds one's place, one is away at once (TUB-AFK)."""
        await self._stream.close()

    def drop(self) -> None:
        """Break the stream, as a lost network would; it comes back by itself."""
        self._stream.drop()

    @property
    def streams(self) -> int:
        """How many streams were opened so far, the present one included."""
        return self._stream.opened

    @property
    def replicas(self) -> Mapping[str, TableReplica]:
        """The followed tables of which there is a picture, by id."""
        return {table: each.replica for table, each in self._following.items() if each.replica is not None}

    def __aiter__(self) -> Feed:
        """What happens from now on at the followed tables; each iterator hears everything."""
        return self._feeds.open()

    # --- tables

    async def follow(self, table: str, *, pin: str = "", timeout_s: float = TIMEOUT_S) -> TableReplica:
        """Follow a table; its replica, once it is up to date. Raises ``Refused``."""
        following = self._following.get(table)
        if following is None:
            self._raise_if_ended()
            following = Following(table, pin, tell=self._tell, game_of=self._game_of)
            self._following[table] = following
            self._send(_follow(following))
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(following.ready)
        except TimeoutError:
            self._forget(table)
            raise unanswered(f"To follow {table}") from None

    async def unfollow(self, table: str) -> None:
        """Follow a table no longer. What is still on its way is passed over."""
        if self._forget(table):
            self._send(play_pb2.PlayRequest(unfollow=play_pb2.Unfollow(table=table)))

    # --- commands

    async def act(
        self,
        table: str,
        action: Action,
        *,
        command_id: str = "",
        prompt: int = 0,
        if_version: int = 0,
        timeout_s: float = TIMEOUT_S,
        pin: str = "",
        script: script_pb2.Script | None = None,
        as_bot: str = "",
        traceparent: str = "",
    ) -> Answer:
        """Act at a table, followed or not. Once this returns, a followed table's replica has what it led to.

        ``command_id`` names the command: the same again, here or from elsewhere, is done once; without one it gets a
        name of its own. It is sent again after a broken stream, after ``unavailable`` and, when the server says, after
        ``rate_limited``, until ``timeout_s`` is over.
        ``prompt``: the decision that it answers, ``if_version``: what it was decided on; 0: none named. ``script``:
        throws and cards at a table opened with ``dev``. ``as_bot``: for the platform's bots. ``traceparent``: the trace
        that it belongs to (W3C), which its commit then names. Raises ``Refused``.
        """
        command_id = command_id or names.fresh()
        act = play_pb2.Act(
            table=table,
            command_id=command_id,
            prompt_id=prompt,
            if_version=if_version,
            pin=pin,
            as_bot=as_bot,
            traceparent=traceparent,
        )
        act.action.CopyFrom(wire_actions.to_proto(action))
        if script is not None:
            act.script.CopyFrom(script)
        return await self._command(table, command_id, play_pb2.PlayRequest(act=act), timeout_s)

    async def say(self, table: str, text: str, *, command_id: str = "", timeout_s: float = TIMEOUT_S) -> Answer:
        """Write a line in the chat; the answer's version is the line's number. Raises ``Refused``."""
        command_id = command_id or names.fresh()
        say = play_pb2.Say(table=table, command_id=command_id, text=text)
        return await self._command(table, command_id, play_pb2.PlayRequest(say=say), timeout_s)

    async def legal(self, table: str, *, timeout_s: float = TIMEOUT_S) -> tuple[Prompt, tuple[LegalAction, ...]]:
        """All that one's seat may do now. Raises ``Refused``."""
        self._raise_if_ended()
        waiting: asyncio.Future[tuple[Prompt, tuple[LegalAction, ...]]] = asyncio.get_running_loop().create_future()
        self._asked.setdefault(table, []).append(waiting)
        self._send(_ask(table))
        try:
            async with asyncio.timeout(timeout_s):
                return await waiting
        except TimeoutError:
            raise unanswered(f"What may be done at {table}") from None
        finally:
            asked = self._asked.get(table, [])
            if waiting in asked:
                asked.remove(waiting)

    def decisions(self, table: str) -> AsyncIterator[Decision]:
        """One's decisions at a table as they open, until the game is over: see ``client.decisions``."""
        return decisions(self, table)

    async def _command(self, table: str, command_id: str, request: play_pb2.PlayRequest, timeout_s: float) -> Answer:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        backoff = Backoff()
        key = (table, command_id)
        if key in self._commands:
            raise ValueError(f"the command {command_id} is on its way already")
        try:
            async with asyncio.timeout_at(deadline):
                while True:
                    self._raise_if_ended()
                    command = self._commands[key] = _Command(request, deadline)
                    self._send(_timed(command))
                    try:
                        return await command.answer
                    except Refused as refused:
                        if not (refused.passing or refused.later):
                            raise
                        await asyncio.sleep(backoff.pause_s(refused.retry_after_s))
        except TimeoutError:
            raise unanswered("The command", command_id) from None
        finally:
            self._commands.pop(key, None)

    # --- the stream

    def _send(self, request: play_pb2.PlayRequest) -> None:
        self._outbox.append(request)
        self._to_send.set()

    async def _write(self, call: Any) -> None:
        """On a new stream: go on with every table, ask everything again that has no answer, then what comes."""
        self._outbox.clear()
        for following in self._following.values():
            following.again()
            self._outbox.append(_follow(following))
        self._outbox.extend(_timed(command) for command in self._commands.values() if not command.answer.done())
        self._outbox.extend(_ask(table) for table, asked in self._asked.items() for _ in asked)
        while True:
            while self._outbox:
                await call.write(self._outbox.popleft())
            self._to_send.clear()
            await self._to_send.wait()

    async def _heard(self, response: play_pb2.PlayResponse) -> None:
        kind = response.WhichOneof("response")
        if kind == "accepted":
            accepted = response.accepted
            self._answered(accepted.table, accepted.command_id, Answer(accepted.version, accepted.duplicate))
        elif kind == "refused":
            self._refused(response.refused)
        elif kind == "reconnect":
            self._stream.renew(response.reconnect)
        elif kind == "legal":
            asked = self._asked.get(response.legal.table)
            if asked:
                _resolve(asked.pop(0), legal.from_prompt(response.legal))
        else:
            await self._of_a_table(kind, response)

    async def _of_a_table(self, kind: str | None, response: play_pb2.PlayResponse) -> None:
        following = self._following.get(table_of(response))
        if following is None:
            return
        if kind == "left":
            if response.left.reason == _REASON.REASON_UNFOLLOWED:
                return  # the answer to an `unfollow` of ours, and since then the table is followed anew
            why, sentence = _WHY.get(response.left.reason, ("", "It is followed no longer."))
            self._gone(following, Refused(why, sentence))
        elif kind == "prompt":
            if following.replica is not None:
                prompt, listed = legal.from_prompt(response.prompt)
                following.replica.prompted(prompt, listed)
                self._feeds.put(Prompted(following.replica, prompt, listed))
        else:
            try:
                happening = await following.take(response)
            except Refollow:
                following.again()
                self._send(_follow(following))
                return
            except Refused as refused:
                # The edition could not be had: without it there is no picture.
                self._gone(following, refused)
                return
            if happening is not None:
                self._feeds.put(happening)

    def _refused(self, message: play_pb2.Refused) -> None:
        refused = Refused.of_status(message.status, message.command_id)
        if message.command_id:
            self._answered(message.table, message.command_id, refused)
            return
        following = self._following.get(message.table)
        if following is not None and not following.ready.done():
            self._gone(following, refused)
            return
        asked = self._asked.get(message.table)
        if asked:
            _resolve(asked.pop(0), refused)
        elif following is not None:
            self._gone(following, refused)

    def _answered(self, table: str, command_id: str, answer: Answer | Refused) -> None:
        command = self._commands.get((table, command_id))
        if command is not None:
            _resolve(command.answer, answer)

    def _gone(self, following: Following, refused: Refused) -> None:
        self._following.pop(following.table, None)
        if not following.ready.done():
            following.ready.set_exception(refused)
            following.ready.exception()  # whoever waits has it; nobody has to
        self._feeds.put(Gone(following.table, refused.code, refused.sentence))

    def _forget(self, table: str) -> bool:
        following = self._following.pop(table, None)
        if following is None:
            return False
        following.ready.cancel()
        return True

    def _end(self, error: Refused | None) -> None:
        """The connection is over for good."""
        self._ended = error or Refused("unavailable", "The connection is closed.")
        for following in self._following.values():
            if not following.ready.done():
                following.ready.set_exception(self._ended)
                following.ready.exception()
        for command in self._commands.values():
            _resolve(command.answer, self._ended)
        for asked in self._asked.values():
            for waiting in asked:
                _resolve(waiting, self._ended)
        self._feeds.end(error)

    def _raise_if_ended(self) -> None:
        if self._ended is not None:
            raise self._ended

    async def _game_of(self, edition: str, digest: str) -> Game:
        return await self._editions.game(self._calls, edition, digest)


def _follow(following: Following) -> play_pb2.PlayRequest:
    return play_pb2.PlayRequest(
        follow=play_pb2.Follow(table=following.table, resume=following.resume, pin=following.pin)
    )


def _ask(table: str) -> play_pb2.PlayRequest:
    return play_pb2.PlayRequest(ask_legal=play_pb2.AskLegal(table=table))


def _timed(command: _Command) -> play_pb2.PlayRequest:
    """The command with the time that is left for it."""
    if command.request.WhichOneof("request") == "act":
        left_s = command.deadline - asyncio.get_running_loop().time()
        command.request.act.timeout.FromMilliseconds(min(max(1, round(left_s * 1000)), 60_000))
    return command.request


def _resolve(waiting: asyncio.Future[Any], answer: Any) -> None:
    if waiting.done():
        return
    if isinstance(answer, Refused):
        waiting.set_exception(answer)
    else:
        waiting.set_result(answer)
