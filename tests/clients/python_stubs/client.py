"""Plays a whole game of Omnipoly with nothing but stubs that protoc has made of protos/: no library, no engine.

    python client.py HOST:PORT [TABLE]

Opens a table with two bots, or sits down at TABLE, plays until the game is over, and prints what it has seen as JSON.
Environment: EDITION (rugpull) and ROUNDS (5) of the table it opens. docs/clients says why each step is as it is.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import secrets
import sys
from collections.abc import AsyncIterator

import grpc
from google.rpc import error_details_pb2, status_pb2
from omnipoly.game.v1 import actions_pb2, legal_pb2, types_pb2
from omnipoly.gateway.v1 import lobby_pb2 as lobby
from omnipoly.gateway.v1 import lobby_pb2_grpc, play_pb2_grpc, sessions_pb2_grpc
from omnipoly.gateway.v1 import play_pb2 as play
from omnipoly.gateway.v1 import sessions_pb2 as sessions
from omnipoly.gateway.v1 import stream_pb2 as stream

CHANNEL = [("grpc.keepalive_time_ms", 5_000), ("grpc.keepalive_timeout_ms", 5_000)]
FINAL = (
    "UNAUTHENTICATED",
    "PERMISSION_DENIED",
    "NOT_FOUND",
    "INVALID_ARGUMENT",
    "FAILED_PRECONDITION",
    "UNIMPLEMENTED",
)
"""A stream that ends with one of these ends alike the next time."""
FIRST = ("roll", "buy", "pay", "raise", "choose_steps", "teleport", "decline", "pass", "end_turn", "give_up")
"""Kinds of action, the one this player likes best first."""


def reason(status: status_pb2.Status) -> tuple[str, float]:
    """Why something was refused, and after how many seconds to try again."""
    code, wait_s = "", 0.0
    for detail in status.details:
        info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
        if detail.Unpack(info) and info.domain == "omnipoly":
            code = info.reason
        elif detail.Unpack(retry):
            wait_s = retry.retry_delay.ToMilliseconds() / 1000
    return code, wait_s


def reason_of(error: grpc.aio.AioRpcError) -> str:
    """The same of a call or stream that ended with an error."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            return reason(status_pb2.Status.FromString(value))[0]
    return ""


def action_of(listed: legal_pb2.LegalAction) -> actions_pb2.Action:
    """The simplest action that a listed one stands for."""
    action = actions_pb2.Action()
    body = getattr(action, listed.kind)
    body.SetInParent()  # most actions have no fields: to be there is all they say
    if listed.kind == "choose_steps":
        body.steps = listed.amounts[0]
    elif listed.kind == "pass":
        body.auction = listed.auction
    elif listed.fields:
        body.field = listed.fields[0].field
    return action


class Player:
    """One session, one table, one stream at a time."""

    def __init__(self, address: str) -> None:
        self.channel = grpc.aio.insecure_channel(address, CHANNEL)
        self.sessions = sessions_pb2_grpc.SessionsServiceStub(self.channel)
        self.lobby = lobby_pb2_grpc.LobbyServiceStub(self.channel)
        self.plays = play_pb2_grpc.PlayServiceStub(self.channel)
        self.table = ""
        self.resume: stream.Resume | None = None  # where we stand; None: we want a picture
        self.cash: list[int] = []  # our picture of the table: who has how much
        self.pending: play.Act | None = None  # our command that has no answer yet
        self.prompt: legal_pb2.Prompt | None = None  # our decision that we have not answered yet
        self.name, self.commands, self.streams, self.duplicates = secrets.token_hex(6), 0, 0, 0
        self.pause_s, self.over = 0.1, False

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.session.access_token}"),)

    def fresh(self) -> str:
        """A name for a command or call that no other has."""
        self.commands += 1
        return f"{self.name}-{self.commands:04}"

    async def sign_in(self) -> None:
        request = sessions.SignInGuestRequest(name="Stubs", request_id=self.fresh())
        self.session = (await self.sessions.SignInGuest(request)).session

    async def renew(self) -> None:
        """Each refresh token is good once; named after it, a renewal that is tried again is the same renewal."""
        token = self.session.refresh_token
        name = hashlib.sha256(token.encode()).hexdigest()[:32]
        request = sessions.RefreshRequest(refresh_token=token, request_id=name)
        self.session = (await self.sessions.Refresh(request)).session

    async def sit(self, table: str) -> None:
        """At TABLE, or at one of our own."""
        calls, self.table = self.lobby, table
        if table:
            await calls.Join(lobby.JoinRequest(table=table, command_id=self.fresh()), metadata=self.metadata)
            return
        edition, rounds = os.environ.get("EDITION", "rugpull"), int(os.environ.get("ROUNDS", "5"))
        request = lobby.CreateTableRequest(request_id=self.fresh(), edition=edition, options={"round_limit": rounds})
        self.table = (await calls.CreateTable(request, metadata=self.metadata)).table
        for _ in range(2):
            await calls.AddBot(lobby.AddBotRequest(table=self.table, command_id=self.fresh()), metadata=self.metadata)
        await calls.Start(lobby.StartRequest(table=self.table, command_id=self.fresh()), metadata=self.metadata)

    async def play(self) -> None:
        """One stream after another until the game is over."""
        while not self.over:
            wait_s = 0.0
            try:
                wait_s = await self.stream()
            except grpc.aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.UNAUTHENTICATED and reason_of(error) == "TOKEN_EXPIRED":
                    await self.renew()
                elif error.code().name in FINAL:
                    raise
            if not self.over:
                await asyncio.sleep(max(wait_s, self.pause_s * random.uniform(0.5, 1)))
                self.pause_s = min(2 * self.pause_s, 5)

    async def stream(self) -> float:
        """One stream to its end; how many seconds to wait before the next."""
        self.streams += 1
        self.call = self.plays.Play(metadata=self.metadata)
        loop, again_at = asyncio.get_running_loop(), 0.0
        await self.follow()
        if self.pending is not None:  # what became of it is unknown: the same command again is done once
            await self.send(act=self.pending)
        async for message in self.messages():
            self.pause_s = 0.1
            for response in (message, *message.along):  # what comes at the same moment comes in one message
                kind = response.WhichOneof("response")  # None: a kind that these stubs do not know
                if kind == "reconnect":
                    again_at = loop.time() + response.reconnect.after.ToMilliseconds() / 1000
                elif kind is not None:
                    await getattr(self, f"on_{kind}")(getattr(response, kind))
            if self.over:
                await self.close()
            elif self.prompt is not None and self.pending is None:
                await self.act(self.prompt)
        return max(0.0, again_at - loop.time())

    def messages(self) -> AsyncIterator[play.PlayResponse]:
        return aiter(self.call)

    async def close(self) -> None:
        """Who closes a stream leaves on purpose; the server ends it then."""
        if not self.call.done():
            await self.call.done_writing()

    async def send(self, **request: object) -> None:
        if not self.over and not self.call.done():  # else the next stream, if there is one, begins with what is pending
            await self.call.write(play.PlayRequest(**request))

    async def follow(self) -> None:
        await self.send(follow=play.Follow(table=self.table, resume=self.resume))

    async def act(self, prompt: legal_pb2.Prompt) -> None:
        listed = {one.kind: one for one in prompt.actions}
        kind = next((kind for kind in FIRST if kind in listed), "")
        self.prompt = None
        if kind:
            self.pending = play.Act(table=self.table, command_id=self.fresh(), prompt_id=prompt.prompt_id)
            self.pending.action.CopyFrom(action_of(listed[kind]))
            await self.send(act=self.pending)

    async def on_snapshot(self, snapshot: stream.Snapshot) -> None:
        """In place of all before it, whatever its version."""
        self.resume = snapshot.resume
        self.cash = [seat.cash for seat in snapshot.view.seats]
        self.over = types_pb2.PHASE_OVER in snapshot.view.phases

    async def on_commit(self, commit: object) -> None:
        at = self.resume
        if at is None or commit.epoch != at.epoch or commit.version <= at.version:
            return  # known already, or of a history that a snapshot will replace
        if any(event.must_understand and event.WhichOneof("kind") is None for event in commit.events):
            self.resume = None  # our picture cannot go on from here: take another
            await self.follow()
            return
        at.version = commit.version
        if self.pending is not None and commit.command_id == self.pending.command_id:
            self.pending = self.prompt = None  # our own command, done: as good as its answer
        for event in commit.events:
            kind = event.WhichOneof("kind")
            if kind == "paid":
                for seat, sign in ((event.paid.payer, -1), (event.paid.payee, 1)):
                    if seat >= 0:
                        self.cash[seat] += sign * event.paid.amount
            self.over = self.over or kind == "game_ended"

    async def on_chat(self, line: object) -> None:
        if self.resume is not None:
            self.resume.chat = max(self.resume.chat, line.number)

    async def on_progress(self, progress: stream.Progress) -> None:
        """Nothing new; `server_time` is what clocks are compared with."""

    async def on_left(self, left: stream.Left) -> None:
        raise SystemExit(f"followed no longer: {stream.Left.Reason.Name(left.reason)}")

    async def on_prompt(self, prompt: legal_pb2.Prompt) -> None:
        self.prompt = prompt if prompt.prompt_id else None

    on_legal = on_prompt

    async def on_accepted(self, accepted: play.Accepted) -> None:
        self.duplicates += accepted.duplicate
        if self.pending is not None and accepted.command_id == self.pending.command_id:
            self.pending = None

    async def on_renewed(self, renewed: play.Renewed) -> None:
        """We open a new stream under a new token instead."""

    async def on_refused(self, refused: play.Refused) -> None:
        code, wait_s = reason(refused.status)
        if code in ("UNAVAILABLE", "RATE_LIMITED"):  # the same again, a command under the same id
            asyncio.get_running_loop().create_task(self.again(refused.command_id, wait_s or 0.5))
        elif not refused.command_id:
            raise SystemExit(f"{refused.status.message} ({code})")
        else:  # no, and the sentence says why; whether we know the code or not: what may we do instead?
            print(refused.status.message, file=sys.stderr)
            self.pending = None
            await self.send(ask_legal=play.AskLegal(table=self.table))

    async def again(self, command_id: str, wait_s: float) -> None:
        await asyncio.sleep(wait_s)
        if not command_id:
            await self.follow()
        elif self.pending is not None and self.pending.command_id == command_id:
            await self.send(act=self.pending)


async def main(address: str, table: str = "") -> None:
    player = Player(address)
    await player.sign_in()
    await player.sit(table)
    await player.play()
    await player.channel.close()
    seen = {name: getattr(player, name) for name in ("table", "commands", "streams", "duplicates", "cash")}
    print(json.dumps({**seen, "version": player.resume.version}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
