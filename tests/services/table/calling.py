"""Calling a table service over a real link, as other services do."""

from __future__ import annotations

import itertools
from typing import Any

from google.protobuf.message import Message

from omnipoly.rules import actions as act
from omnipoly.rules import engine
from omnipoly.rules.ring import Game
from omnipoly.rules.state import State
from omnipoly.runtime.app import App
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.link import Link
from omnipoly.wire import actions, commits, views
from omnipoly.wire.gen.table.v1 import chat_pb2, identity_pb2
from omnipoly.wire.gen.table.v1 import table_pb2 as pb

SERVICE = "/omnipoly.table.v1.TableService/"
_numbers = itertools.count(1)


def identity(person: str, *, name: str = "", admin: bool = False) -> identity_pb2.Identity:
    """Somebody the gateway has verified; ids that begin with "bot:" are bots."""
    return identity_pb2.Identity(
        person=person, name=name or person[:40], bot=person.startswith("bot:"), admin=admin, guest=True
    )


class Caller:
    """One link to one table service."""

    def __init__(self, address: str) -> None:
        self.link = Link(address)

    @classmethod
    def to(cls, app: App) -> Caller:
        return cls(app.address)

    async def close(self) -> None:
        await self.link.close()

    async def call(self, method: str, request: Message, timeout_s: float = 20) -> Any:
        body = await self.link.call(SERVICE + method, request.SerializeToString(), timeout_s)
        return getattr(pb, f"{method}Response").FromString(body)

    async def chat(self, method: str, request: Message) -> Any:
        """A call of the chat's methods."""
        body = await self.link.call(f"/omnipoly.table.v1.ChatService/{method}", request.SerializeToString(), 20)
        return getattr(chat_pb2, f"{method}Response").FromString(body)

    async def open(self, person: str = "guest:ann", *, command_id: str = "", **options: Any) -> str:
        request = pb.OpenRequest(
            identity=identity(person), command_id=command_id or unique_id(), edition="tubbypoly", **options
        )
        return str((await self.call("Open", request)).table)

    async def act(self, table: str, person: str, action: act.Action, *, command_id: str = "", **more: Any) -> Any:
        timeout_s = more.pop("timeout_s", 20)
        request = pb.ActRequest(
            table=table,
            identity=identity(person),
            action=actions.to_proto(action),
            command_id=command_id or unique_id(),
            **more,
        )
        return await self.call("Act", request, timeout_s)

    async def refused(self, table: str, person: str, action: act.Action, **more: Any) -> Failure:
        """The refusal of an action that must be refused."""
        try:
            await self.act(table, person, action, **more)
        except Failure as failure:
            return failure
        raise AssertionError(f"{action} was accepted")

    async def view(self, table: str) -> Any:
        return (await self.call("Read", pb.ReadRequest(table=table))).view

    async def state(self, table: str, game: Game) -> State:
        return views.from_view(await self.view(table), game)

    async def log(self, table: str) -> list[bytes]:
        """Every commit of a table."""
        found: list[bytes] = []
        while True:
            page = await self.call("Commits", pb.CommitsRequest(table=table, after=len(found)))
            found += page.commits
            if len(found) >= page.version:
                return found

    async def started(self, game: Game, *, bots: int = 3, person: str = "guest:ann", **options: Any) -> str:
        """A table of a person and bots whose game has started."""
        table = await self.open(person, **options)
        for _ in range(bots):
            await self.act(table, person, act.AddBot())
        await self.act(table, person, act.Start())
        return table


def unique_id() -> str:
    """A command id that was not used before."""
    return f"c{next(_numbers)}"


def replay(log: list[bytes], game: Game) -> State:
    """The state that a log tells, from nothing, with versions checked and invariants held after each commit."""
    state = engine.blank(game.first)
    for version, body in enumerate(log, start=1):
        commit = commits.decode(body, game)
        assert commit.version == version
        engine.enter(state, commit.at_ms, commit.actor)
        for event in commit.events:
            engine.apply(state, event)
        engine.check(state)
    return state
