"""Who throws odd messages at every public RPC, in a process of its own: ``storm`` says what, and how many.

Each message is a call, or part of a stream, over a socket to a gateway, and each answer is looked at. Many are under
way at once, about a few tables; who throws sits at them, watches, is an admin, or is nobody.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import sys
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import uvloop
from google.protobuf.message import DecodeError

from omnipoly.rules import actions as act
from omnipoly.runtime.failures import Failure, from_status
from omnipoly.wire.gen.table.v1 import accounts_pb2
from omnipolyd.gateway import tokens
from omnipolyd.gateway.checks import MESSAGE_BYTES
from tests.services.gateway.calling import PACKAGE, Client, game
from tests.services.hostile import corpus, mutating
from tests.services.hostile.http2 import WELL, Connection, End, Stream
from tests.services.hostile.methods import RPCS, Rpc, fault_in

WITHIN_S = 30.0
GRACE_S = 10.0
"""How much later than that a call counts as never answered."""
AT_ONCE = 96
"""Calls of one process; with so many, about four tables, the queue of one, 32 commands, does not overflow …"""
AGAIN_AT = 10
"""… and how few are left when as many are begun again: what comes together costs both sides a sixth less."""
BURST = 12
"""Calls that somebody begins together, about one table."""
EVENINGS = 4
"""Tables about which messages are thrown at a time …"""
MOST_EVENINGS_AHEAD = 2
EVENING = 1000
"""… and how many messages are, before there is another in its place."""
LOOK_EVERY = 50
"""Messages after which a table is looked at: whether there is still something to be done at it."""
ON_ONE_STREAM = 24
SENSIBLE = 400
"""Messages that a client might send, made once for an RPC; of these the odd ones are made."""
FAULTS_TOLD = 20
IN_VAIN = 10
"""Tables that could not be opened, one after the other, until it is given up."""
EDITIONS = ("tubbypoly", "laspoly", "rugpull", "globopoly/classic")
ADMINS = 0.7
"""Share of what is thrown at calls for admins that one throws."""
BEGUN = 0.7
"""Share of the tables at which the game has begun."""
_numbers = itertools.count(1)


class Thrown(Client):
    """A person, over a connection that costs little."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def raw(self, method: str, data: bytes, timeout_s: float | None = WITHIN_S) -> bytes:
        return await self.connection.ask(f"/{PACKAGE}.{method}", data)


class Evening:
    """A table, and those who throw messages about it."""

    def __init__(self, table: str, known: str, people: list[Connection], root: Connection) -> None:
        self.table = table
        self.known = known
        """The viewer: somebody with an account."""
        self.people = people
        """As often as they are to be heard; the first is the host."""
        self.root = root
        self.left = EVENING
        self.under_way = 0

    def close(self) -> None:
        for one in set(self.people):
            one.close()


class Fault(NamedTuple):
    """An answer that no client may get."""

    message: bytes
    what: str


class Messages:
    """Odd messages for an RPC, made in bulk."""

    def __init__(self, rpc: Rpc, rng: random.Random) -> None:
        self._rng = rng
        self._known = corpus.read(rpc.name)
        self._sensible = [mutating.sensible(rpc.request, rng).SerializeToString() for _ in range(SENSIBLE)]

    def odd(self) -> Iterator[bytes]:
        """The corpus as it stands, then what becomes of it and of the sensible ones, without end."""
        yield from self._known
        rng, known, sensible = self._rng, self._known, self._sensible
        while True:
            chance = rng.random()
            if chance < 0.6 and known:
                yield mutating.mutated(rng.choice(known), rng, known)
            elif chance < 0.7:
                yield rng.choice(sensible)
            else:
                yield mutating.mutated(rng.choice(sensible), rng, known)


class Thrower:
    """Throws so many messages at an RPC."""

    def __init__(self, gateway: str, table: str, secret: str, name: str) -> None:
        """gateway, table: where those services are; the latter makes accounts. name: one character, of this process
        among those that throw."""
        self._gateway = gateway
        self._table = table
        self._accounts: Connection | None = None
        self._secret = secret
        self._name = name
        self._rng = random.Random(name)
        self._ahead: asyncio.Queue[Evening] = asyncio.Queue(MOST_EVENINGS_AHEAD)
        self._evenings: deque[Evening] = deque()
        self._over: set[Evening] = set()
        self._under_way: set[_Call] = set()
        self._messages: dict[str, Iterator[bytes]] = {}
        self._left = 0
        self._done = asyncio.Event()
        self._rpc: Rpc
        self.caller: Connection
        """Who throws what is begun now."""
        self.statuses: Counter[str] = Counter()
        self.faults: list[Fault] = []

    async def run(self) -> None:
        """Keeps tables ready, for ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._make_evenings())
            tasks.create_task(self._watch())

    async def close(self) -> None:
        """Ends what ``run`` has made."""
        while self._evenings:
            self._evenings.popleft().close()
        while not self._ahead.empty():
            self._ahead.get_nowait().close()
        for evening in self._over:
            evening.close()
        if self._accounts is not None:
            self._accounts.close()

    async def throw(self, rpc: Rpc, messages: int, seed: str) -> dict[str, Any]:
        """Throws them; what came of it. seed: of these messages, the first time that this RPC is thrown at."""
        self._rpc, self._left = rpc, messages
        self.statuses, self.faults = Counter(), []
        if rpc.name not in self._messages:
            self._messages = {rpc.name: Messages(rpc, random.Random(seed)).odd()}
        self._done.clear()
        self.pump()
        await self._done.wait()
        return {
            "thrown": messages,
            "statuses": dict(self.statuses),
            "faults": [[fault.what, corpus.encode(fault.message)[:2000]] for fault in self.faults[:FAULTS_TOLD]],
            "faulty": len(self.faults),
        }

    def pump(self) -> None:
        """Throws as long as there is something to throw, and room for it."""
        if len(self._under_way) > AGAIN_AT:
            return
        begun = 0
        evening: Evening | None = None
        while self._left and len(self._under_way) < AT_ONCE:
            if evening is None or evening.left <= 0 or begun % BURST == 0:
                evening = self._evening()
                if evening is None:
                    return  # goes on when there is one
                self.caller = self._some_caller(evening)
            begun += 1
            if self._rpc.streams_in:
                _PlayCall(self, self._rpc, evening, self._several(evening))
            else:
                call = _WatchCall if self._rpc.streams_out else _Call
                call(self, self._rpc, evening, [self._one(evening)])
        if not self._left and not self._under_way:
            self._done.set()

    def _several(self, evening: Evening) -> list[bytes]:
        """As many as a stream takes: the first that is none ends it."""
        several: list[bytes] = []
        while self._left and len(several) < ON_ONE_STREAM:
            several.append(self._one(evening))
            if _ends_the_stream(several[-1]):
                break
        return several

    def _one(self, evening: Evening) -> bytes:
        self._left -= 1
        evening.left -= 1
        if evening.left % LOOK_EVERY == 0:
            self._look_at(evening)
        message = next(self._messages[self._rpc.name])
        number = next(_numbers)
        person = evening.known if number % 2 else f"oidc:{self._name}{number:031x}"
        return mutating.told_apart(message, evening.table, f"c{self._name}{number:010d}", person)

    def _some_caller(self, evening: Evening) -> Connection:
        """Who throws next."""
        if self._rpc.method in ("SetUp", "Advance"):
            return evening.people[0]
        if self._rpc.service == "AdminService" and self._rng.random() < ADMINS:
            return evening.root
        return self._rng.choice(evening.people)

    def begun(self, call: _Call) -> None:
        """A call is under way."""
        self._under_way.add(call)
        call.evening.under_way += 1

    def ended(self, call: _Call) -> None:
        """A call is not any more."""
        self._under_way.discard(call)
        evening = call.evening
        evening.under_way -= 1
        if not evening.under_way and evening in self._over:
            self._over.discard(evening)
            evening.close()
        self.pump()

    def look(self, end: End, message: bytes) -> None:
        """Looks at how something was answered."""
        self.statuses[f"{end.status.name} {end.reason}".strip()] += 1
        fault = fault_in(end.status, end.reason)
        if fault:
            self.faults.append(Fault(message, f"{fault}: {end.sentence}"))

    def wrong(self, what: str, message: bytes) -> None:
        """Something is wrong with an answer."""
        self.faults.append(Fault(message, what))

    # --- tables

    def _evening(self) -> Evening | None:
        """The next one in turn."""
        while self._evenings and self._evenings[0].left <= 0:
            self._end(self._evenings.popleft())
        while len(self._evenings) < EVENINGS and not self._ahead.empty():
            self._evenings.append(self._ahead.get_nowait())
        if not self._evenings:
            return None
        self._evenings.rotate()
        return self._evenings[0] if self._evenings[0].left > 0 else self._evening()

    def _end(self, evening: Evening) -> None:
        if evening.under_way:
            self._over.add(evening)
        else:
            evening.close()

    def _look_at(self, evening: Evening) -> None:
        def seen(data: bytes) -> None:
            view = _VIEW.FromString(data).view
            if view.ended or view.HasField("frozen"):
                evening.left = 0

        def ended(end: End) -> None:
            if end is not WELL:
                evening.left = 0

        request = _TABLE(table=evening.table).SerializeToString()
        evening.people[0].start(f"/{PACKAGE}.LobbyService/GetTable", request, seen, ended)

    async def _make_evenings(self) -> None:
        in_vain = 0
        while True:
            try:
                evening = await self._new_evening()
            except (Failure, OSError) as error:
                self.wrong(f"no table could be opened: {error!r}", b"")
                in_vain += 1
                if in_vain >= IN_VAIN:
                    self._left = 0  # there is nobody to throw at
                    self.pump()
                await asyncio.sleep(0.5)
            else:
                in_vain = 0
                await self._ahead.put(evening)
                self.pump()

    async def _person(self, person: str, **more: Any) -> Connection:
        name = person.partition(":")[2].title()[:40]
        return await Connection.open(
            self._gateway, tokens.issue(self._secret, person, name, lifetime_s=3600, **more), WITHIN_S
        )

    async def _new_evening(self) -> Evening:
        number = f"{self._name}{next(_numbers)}"
        host = await self._person(f"guest:host{number}", guest=True)
        other = await self._person(f"guest:other{number}", guest=True)
        known = await self._account(number)
        viewer = await self._person(known)
        root = await self._person(f"oidc:root{number}", roles=["admin"])
        nobody = await Connection.open(self._gateway, "", WITHIN_S)
        edition = self._rng.choice(EDITIONS)
        if self._rng.random() < BEGUN:
            table = await game(Thrown(host), Thrown(other), edition=edition)
        else:
            table = await Thrown(host).create(edition)
            await Thrown(other).act(table, act.Join(""))
        return Evening(table, known, [host, other] * 5 + [viewer, root] * 3 + [nobody], root)

    async def _account(self, subject: str) -> str:
        """The id of a new person."""
        if self._accounts is None:
            self._accounts = await Connection.open(self._table, "", WITHIN_S)
        request = accounts_pb2.UpsertPersonRequest(issuer="https://issuer.example", subject=subject, name="Vic")
        answer = await self._accounts.ask("/omnipoly.table.v1.AccountService/UpsertPerson", request.SerializeToString())
        return accounts_pb2.UpsertPersonResponse.FromString(answer).person.person

    async def _watch(self) -> None:
        """Whoever gets no answer is told of."""
        while True:
            await asyncio.sleep(1)
            late = asyncio.get_running_loop().time() - WITHIN_S - GRACE_S
            for call in [call for call in self._under_way if call.stream.began < late]:
                call.give_up()

    async def still_well(self) -> None:
        """A game can be played. Raises ``Failure`` where not."""
        number = f"{self._name}{next(_numbers)}"
        ann = await self._person(f"guest:ann{number}", guest=True)
        bob = await self._person(f"guest:bob{number}", guest=True)
        table = await game(Thrown(ann), Thrown(bob), edition="rugpull")
        await Thrown(ann).act(table, act.Roll())
        ann.close()
        bob.close()


class _Call:
    """A call of one message and one answer."""

    __slots__ = ("_answers", "_connection", "_messages", "_rpc", "_thrower", "evening", "stream")

    def __init__(self, thrower: Thrower, rpc: Rpc, evening: Evening, messages: list[bytes]) -> None:
        self._thrower = thrower
        self._rpc = rpc
        self._messages = messages
        self._answers = 0
        self.evening = evening
        self._connection = thrower.caller
        thrower.begun(self)
        self.stream = self._begin()

    def _begin(self) -> Stream:
        return self._connection.start(self._rpc.path, self._messages[0], self._message, self._end)

    def _message(self, data: bytes) -> None:
        self._answers += 1
        try:
            self._rpc.response.FromString(data)
        except DecodeError:
            self._thrower.wrong(f"the answer is no {self._rpc.response.DESCRIPTOR.name}", self._messages[-1])

    def _end(self, end: End) -> None:
        if end is WELL and self._answers != 1:
            self._thrower.wrong(f"{self._answers} answers", self._messages[-1])
        self._thrower.look(end, self._messages[-1])
        self._thrower.ended(self)

    def give_up(self) -> None:
        """No answer has come."""
        self._thrower.wrong(f"no answer within {WITHIN_S + GRACE_S:g} s", b"|".join(self._messages))
        self._connection.drop(self.stream)
        self._thrower.ended(self)


class _WatchCall(_Call):
    """A call that is answered with a stream; its first message is enough."""

    __slots__ = ()

    def _message(self, data: bytes) -> None:
        super()._message(data)
        if self._answers == 1:
            self._connection.drop(self.stream)
            self._thrower.look(WELL, b"")
            # Not at once: the connection is still reading.
            asyncio.get_running_loop().call_soon(self._thrower.ended, self)

    def _end(self, end: End) -> None:
        self._thrower.look(end, self._messages[-1])
        self._thrower.ended(self)


class _PlayCall(_Call):
    """A stream of messages."""

    __slots__ = ()

    def _begin(self) -> Stream:
        stream = self._connection.start(self._rpc.path, None, self._message, self._end)
        for message in self._messages:
            self._connection.say(stream, message)
        self._connection.said(stream)
        return stream

    def _message(self, data: bytes) -> None:
        try:
            response = self._rpc.response.FromString(data)
        except DecodeError:
            self._thrower.wrong("the answer is no PlayResponse", self._messages[-1])
            return
        for one in (response, *response.along):
            if one.WhichOneof("response") == "refused":
                refused = from_status(one.refused.status)
                end = End(refused.status, refused.reason, refused.sentence)
                self._thrower.look(end, b"|".join(self._messages))
            else:
                self._thrower.look(WELL, b"")

    def _end(self, end: End) -> None:
        if end is not WELL:
            self._thrower.look(end, self._messages[-1])
        self._thrower.ended(self)


_TABLE = RPCS["LobbyService.GetTable"].request
_VIEW = RPCS["LobbyService.GetTable"].response
_PLAY = RPCS["PlayService.Play"].request


def _ends_the_stream(message: bytes) -> bool:
    """Whether no other message is taken after this one."""
    if len(message) > MESSAGE_BYTES:
        return True
    try:
        _PLAY.FromString(message)
    except DecodeError:
        return True
    return False


async def main() -> None:
    """Orders and what came of them, in lines of JSON; ends with its standard input."""
    loop = asyncio.get_running_loop()

    async def order() -> dict[str, Any] | None:
        line = await loop.run_in_executor(None, sys.stdin.readline)
        return json.loads(line) if line else None

    def answer(what: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()

    setup = await order()
    assert setup is not None
    thrower = Thrower(setup["gateway"], setup["table"], setup["secret"], setup["name"])
    running = asyncio.create_task(thrower.run())
    running.add_done_callback(lambda _: os._exit(1) if not running.cancelled() else None)
    answer({})
    while (given := await order()) is not None:
        if given["what"] == "throw":
            answer(await thrower.throw(RPCS[given["rpc"]], given["messages"], given["seed"]))
        else:
            try:
                await thrower.still_well()
            except (Failure, OSError) as error:
                answer({"unwell": repr(error)})
            else:
                answer({"unwell": ""})
    os._exit(0)


if __name__ == "__main__":
    uvloop.run(main())
