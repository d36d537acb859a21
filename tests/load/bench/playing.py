"""The load generator of commands: as many tables as asked for, two persons each, everybody answers at once.

Against the product each person's stream follows its table and answers every decision that it is shown; against the
floor the table's first stream sends, and sends again when it is answered. In lines of JSON on standard input:

    {"to": "product" | "floor", "gateway": …, "table": …, "tables": n}   then any number of   {"seconds": s}
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import secrets
import sys
import time
from typing import Any

import grpc
import grpc.aio

from omnipoly.rules import actions as act
from omnipoly.runtime.link import Link
from omnipoly.wire import actions
from omnipoly.wire.gen.game.v1 import legal_pb2
from omnipoly.wire.gen.gateway.v1 import play_pb2
from omnipoly.wire.gen.table.v1 import identity_pb2, table_pb2
from omnipolyd.gateway import tokens
from tests.load.along import each

from .processes import SECRET

STREAMS = 80
"""Streams on one connection."""
PROMPT, ACCEPTED, REFUSED, LEGAL = 0x52, 0x5A, 0x62, 0x6A
"""First bytes of what comes: the field's number and kind."""
RATHER = ("roll", "decline", "pass", "end_turn", "pay", "raise", "pay_bail", "give_up", "choose_steps")
"""What a person answers, the first that is listed: lots stay with the bank, so that a game goes on for ever."""
_numbers = itertools.count(1)
_run = secrets.token_hex(4)
"""A table's id comes from who opens it by which command: of two products over one NATS it has to be another."""
EOF: Any = grpc.aio.EOF  # type: ignore[attr-defined]


class Seat:
    """One person at one table, on a stream of their own."""

    def __init__(self, run: Run, table: str, stream: Any) -> None:
        self._run = run
        self._table = table
        self._stream = stream
        self._sent_at = 0.0
        self._waits: bytes | None = None
        self._answered = 0
        """The last decision answered: in an auction it is shown again with each bid and pass."""

    async def listen(self) -> None:
        """Until the stream ends."""
        read, run = self._stream.read, self._run
        while (several := await read()) is not EOF:
            run.messages += 1
            for data in each(several):
                kind = data[0]
                if kind == ACCEPTED:
                    run.active.add(self._table)
                    run.answered(time.perf_counter() - self._sent_at)
                elif kind in (PROMPT, LEGAL):
                    await self._answer(data, kind)
                elif kind == REFUSED:
                    run.refused += 1
                    await self._ask()

    async def go(self) -> None:
        """Goes on with the decision that came while nobody played."""
        if self._waits is not None:
            waits, self._waits = self._waits, None
            await self._send(waits)

    async def _answer(self, data: bytes, kind: int) -> None:
        message = play_pb2.PlayResponse.FromString(data)
        prompt: legal_pb2.Prompt = message.prompt if kind == PROMPT else message.legal
        if not prompt.prompt_id or (kind == PROMPT and prompt.prompt_id == self._answered):
            return
        self._answered = prompt.prompt_id
        listed = {action.kind: action for action in prompt.actions}
        kind_ = next((name for name in RATHER if name in listed), "")
        if not kind_:
            self._run.stuck += 1
            return
        chosen = play_pb2.Act(table=self._table, prompt_id=prompt.prompt_id, command_id=f"c{next(_numbers)}")
        body = getattr(chosen.action, kind_)
        body.SetInParent()
        if kind_ == "pass":
            body.auction = listed[kind_].auction
        if kind_ == "choose_steps":
            body.steps = listed[kind_].amounts[0]
        data = play_pb2.PlayRequest(act=chosen).SerializeToString()
        if self._run.going:
            await self._send(data)
        else:
            self._waits = data

    async def _send(self, data: bytes) -> None:
        self._sent_at = time.perf_counter()
        await self._stream.write(data)

    async def _ask(self) -> None:
        ask = play_pb2.PlayRequest(ask_legal=play_pb2.AskLegal(table=self._table))
        await self._stream.write(ask.SerializeToString())


class Bare:
    """One of a table's two streams at the floor; the first one sends."""

    def __init__(self, run: Run, request: bytes, stream: Any) -> None:
        self._run = run
        self._request = request
        self._stream = stream
        self._sent_at = 0.0
        self._waits = False

    async def listen(self) -> None:
        """Until the stream ends."""
        read, run = self._stream.read, self._run
        while (data := await read()) is not EOF:
            run.messages += 1
            if data[0] == ACCEPTED:
                run.answered(time.perf_counter() - self._sent_at)
                self._waits = True
                if run.going:
                    await self.go()

    def first(self) -> None:
        """It is this one's turn."""
        self._waits = True

    async def go(self) -> None:
        """Sends, if it is this one's turn."""
        if self._waits:
            self._waits = False
            self._sent_at = time.perf_counter()
            await self._stream.write(self._request)


class Run:
    """All tables, and what is counted."""

    def __init__(self) -> None:
        self.going = False
        self.messages = self.refused = self.stuck = 0
        self.latencies: list[float] = []
        self.active: set[str] = set()
        """Tables at which something was played."""
        self._players: list[Any] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._channels: list[Any] = []

    def answered(self, took_s: float) -> None:
        """A command was answered."""
        if self.going:
            self.latencies.append(took_s)

    async def set_up(self, *, to: str, tables: int, gateway: str, table: str = "", **_: Any) -> None:
        """Opens everything."""
        await (self._product(gateway, table, tables) if to == "product" else self._floor(gateway, tables))

    async def seconds(self, seconds: float) -> dict[str, Any]:
        """Plays for a while."""
        self.messages = self.refused = self.stuck = 0
        self.latencies = []
        self.active.clear()
        self.going = True
        began, cpu = time.perf_counter(), time.process_time()
        for player in self._players:
            await player.go()
        await asyncio.sleep(seconds)
        self.going = False
        took_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
        latencies = sorted(self.latencies)
        await asyncio.sleep(0.3)  # what is under way ends
        n = len(latencies)
        return {
            "commands": n,
            "per_s": n / took_s,
            "p50_ms": 1000 * latencies[n // 2] if n else 0,
            "p99_ms": 1000 * latencies[n * 99 // 100] if n else 0,
            "messages": self.messages,
            "refused": self.refused,
            "stuck": self.stuck,
            "active": len(self.active),
            "cpu_s": cpu_s,
            "took_s": took_s,
        }

    def _channel(self, address: str) -> Any:
        if len(self._players) % STREAMS == 0:
            options = [("grpc.use_local_subchannel_pool", 1)]
            self._channels.append(grpc.aio.insecure_channel(address, options=options))
        return self._channels[-1]

    def _listen(self, player: Any) -> None:
        self._players.append(player)
        self._tasks.append(asyncio.create_task(player.listen()))

    async def _product(self, gateway: str, address: str, tables: int) -> None:
        link = Link(address)
        try:
            for at in range(0, tables, 32):
                await asyncio.gather(*(self._game(link, gateway, n) for n in range(at, min(at + 32, tables))))
        finally:
            await link.close()
        while not all(player._waits for player in self._players[::2]):  # noqa: ASYNC110 - a generator that ends anyway
            await asyncio.sleep(0.05)

    async def _game(self, link: Link, gateway: str, number: int) -> None:
        persons = [f"guest:{'ab'[i]}{number}" for i in range(2)]
        who = [identity_pb2.Identity(person=person, name=person, guest=True) for person in persons]
        opened = table_pb2.OpenResponse.FromString(
            await _call(
                link, "Open", table_pb2.OpenRequest(identity=who[0], command_id=f"o{_run}{number}", edition=EDITION)
            )
        )
        for identity, action in ((who[1], act.Join("")), (who[0], act.Start())):
            request = table_pb2.ActRequest(
                table=opened.table, identity=identity, action=actions.to_proto(action), command_id=f"s{number}"
            )
            await _call(link, "Act", request)
        for person in persons:
            token = tokens.issue(SECRET, person, person, guest=True, lifetime_s=7200)
            channel = self._channel(gateway)
            stream = channel.stream_stream("/omnipoly.gateway.v1.PlayService/Play", None, None)(
                metadata=(("authorization", f"Bearer {token}"),)
            )
            self._listen(Seat(self, opened.table, stream))
            follow = play_pb2.PlayRequest(follow=play_pb2.Follow(table=opened.table))
            await stream.write(follow.SerializeToString())

    async def _floor(self, gateway: str, tables: int) -> None:
        for number in range(tables):
            for i in range(2):
                stream = self._channel(gateway).stream_stream("/floor/Play", None, None)()
                request = f"t{number} ".encode() + b"r" * 70
                bare = Bare(self, request, stream)
                self._listen(bare)
                await stream.write(request)  # the first one follows
                if i == 0:
                    bare.first()
        await asyncio.sleep(0.3)


EDITION = "tubbypoly"


async def _call(link: Link, method: str, request: Any) -> bytes:
    return await link.call(f"/omnipoly.table.v1.TableService/{method}", request.SerializeToString(), 30)


async def main() -> None:
    """Orders in, figures out."""
    loop = asyncio.get_running_loop()
    run = Run()
    first = True
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        if first:
            await run.set_up(**order)
            gc.collect()
            gc.freeze()
            answer: dict[str, Any] = {}
            first = False
        else:
            answer = await run.seconds(order["seconds"])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
