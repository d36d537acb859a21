"""A connection is cut at every point of a command's way: of a change of options, a bid, an offer and an acceptance,
asked on a `Play` stream and as a plain call. Whoever goes to another gateway with what they had, and asks again under
the same id, has it done once, and is shown exactly what they missed, in order; whoever looked on was shown everything,
once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.actions import Action, Side
from omnipoly.runtime import app
from omnipoly.runtime.failures import Failure
from omnipoly.wire import views
from omnipoly.wire.gen.game.v1 import script_pb2
from omnipoly.wire.gen.gateway.v1 import dev_pb2, play_pb2, stream_pb2, trades_pb2, watch_pb2
from omnipolyd.auction.config import AuctionSettings
from omnipolyd.auction.service import AuctionService
from omnipolyd.gateway import upstream
from omnipolyd.trade.config import TradeSettings
from omnipolyd.trade.service import TradeService
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import Client, Playing, Stack, gateway, stack, unique_id
from tests.services.proxy import Cut, Proxy, Trap, Way
from tests.services.table.staging import state

ACTIONS = ("options", "bid", "offer", "accept")
THROUGH = {"bid": "auction", "offer": "trade", "accept": "trade"}
"""The service between gateway and table."""
PLACES = (
    ("act at the client", Way.THERE),
    ("commit at the client", Way.BACK),
    ("answer at the client", Way.BACK),
    ("act between", Way.THERE),
    ("answer between", Way.BACK),
    ("act at the table", Way.THERE),
    ("answer of the table", Way.BACK),
    ("append", Way.THERE),
    ("answer to the append", Way.BACK),
)
PEOPLE = ("guest:ann", "guest:bob", "guest:cid")
AUCTIONED = 3
WITHIN_S = 20


def cuts(kind: str, place: str, *, plain: bool) -> list[Cut]:
    """Those that a command's way has at that place."""
    if ("between" in place and kind not in THROUGH) or (plain and place == "commit at the client"):
        return []  # of a plain call the commit is in the answer
    if plain and not place.endswith("client"):  # behind the gateway its way is that of a stream's
        return [] if "answer" in place else [Cut.BEFORE, Cut.AFTER]
    if place == "answer to the append":
        return [Cut.BEFORE, Cut.IN]  # nothing of this command comes after it
    return list(Cut)


POINTS = [
    pytest.param(kind, plain, place, way, id=f"{kind}-{'call' if plain else 'stream'}-{place}")
    for kind in ACTIONS
    for plain in (False, True)
    for place, way in PLACES
    if cuts(kind, place, plain=plain)
]


class Lines(NamedTuple):
    """Two gateways before one of each service; every line of the first one's can be cut."""

    client: Proxy
    """Between a client and the first gateway."""
    between: dict[str, Proxy]
    """Between the first gateway and auction, trade."""
    table: dict[str, Proxy]
    """Between the table and auction, trade, the first gateway (``gateway``)."""
    database: Proxy
    """Between the table and Postgres."""
    first: Stack
    other: Stack
    people: tuple[Client, Client, Client]
    """Ann, Bob and Cid at the other gateway."""
    bystander: Client
    """Bob at the first one, by a line that is not cut."""

    def at(self, place: str, kind: str) -> Proxy:
        if place.endswith("client"):
            return self.client
        if "append" in place:
            return self.database
        service = THROUGH.get(kind, "gateway")
        return self.between[service] if place.endswith("between") else self.table[service]


@pytest.fixture(scope="module")
async def lines(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Lines]:
    url = await make_module_database("omnipolyd.table.migrations")
    async with AsyncExitStack() as up:
        # a way that failed twice is taken again at once, so that the next cut is at its place
        up.enter_context(pytest.MonkeyPatch.context()).setattr(upstream, "CLOSED_S", 0.0)
        database = await up.enter_async_context(Proxy(url))
        running = await up.enter_async_context(stack(database.url, nats_url, table={"open_tables": 1000}))
        to_table = {
            name: await up.enter_async_context(Proxy(f"tcp://{running.table.address}"))
            for name in ("auction", "trade", "gateway")
        }
        shared: dict[str, Any] = {"port": 0, "nats_url": nats_url, "reflection": False}
        services: dict[str, app.Service] = {
            "auction": AuctionService(AuctionSettings(table_addr=to_table["auction"].address, **shared)),
            "trade": TradeService(TradeSettings(table_addr=to_table["trade"].address, **shared)),
        }
        direct = {name: (await up.enter_async_context(app.running(one))).address for name, one in services.items()}
        between = {name: await up.enter_async_context(Proxy(f"tcp://{address}")) for name, address in direct.items()}
        roomy = {"streams_per_identity": 1000}  # one test that fails is no reason for the next
        settings = {f"{name}_addr": proxy.address for name, proxy in between.items()}
        settings["table_addr"] = to_table["gateway"].address
        first = await up.enter_async_context(gateway(running.table, nats_url, **settings, **roomy))
        settings = {f"{name}_addr": address for name, address in direct.items()}
        other = await up.enter_async_context(gateway(running.table, nats_url, **settings, **roomy))
        client = await up.enter_async_context(Proxy(f"tcp://{first.gateway.address}"))
        ann, bob, cid = [await up.enter_async_context(other.client(person)) for person in PEOPLE]
        bystander = await up.enter_async_context(first.client(PEOPLE[1]))
        yield Lines(client, between, to_table, database, first, other, (ann, bob, cid), bystander)


class Seen:
    """What somebody was shown of a table, over all their streams."""

    def __init__(self) -> None:
        self.versions: list[int] = []
        self.bodies: list[bytes] = []
        self.epoch = 0
        self.pictures = 0
        self.accepted: list[tuple[str, int, bool]] = []
        """(command, version, whether it is the first answer again)"""

    def take(self, message: Any) -> str:
        """Takes a message in; its kind."""
        kind = str(message.WhichOneof("response"))
        if kind == "commit":
            self.versions.append(message.commit.version)
            self.bodies.append(message.commit.SerializeToString())
            self.epoch = message.commit.epoch
        elif kind == "snapshot":
            self.pictures += 1
            self.versions.append(message.snapshot.view.version)
            self.epoch = message.snapshot.resume.epoch
        elif kind == "accepted":
            answer = message.accepted
            self.accepted.append((answer.command_id, answer.version, answer.duplicate))
        return kind

    async def until(self, stream: Playing, *kinds: str) -> str:
        """Reads on until such a message, or the end; its kind, empty at the end."""
        with contextlib.suppress(Failure):
            while (message := await stream.read()) is not None:
                if (kind := self.take(message)) in kinds:
                    return kind
        return ""

    async def up_to(self, stream: Playing, version: int) -> None:
        """Reads on until a version was shown, or the end."""
        while self.versions[-1] < version and await self.until(stream, "commit"):
            pass


async def staged(lines: Lines, kind: str) -> tuple[str, int]:
    """A table at which Ann is about to do what will be cut, and its version."""
    ann, bob, _ = lines.people
    table = await ann.create(dev=True)
    if kind == "options":
        return table, (await bob.act(table, act.Join("Bob"))).version
    view = views.to_view(state(turn="B"), 0, 0)
    for seat, person in zip(view.seats, PEOPLE, strict=True):
        seat.holder = person
    view.host = PEOPLE[0]
    request = dev_pb2.SetUpRequest(table=table, command_id=unique_id(), view=view)
    version = (await ann.call("Dev/SetUp", request)).version
    # Auction and trade follow the table from here on, and know a command that they have seen.
    if kind == "bid":
        throw = script_pb2.Script(throws=[script_pb2.ScriptedThrow(dice=(1, 2))])
        throwing = bob.play()
        await throwing.act(table, act.Roll(), script=throw)
        throwing.raw.cancel()
        version = (await bob.act(table, act.Decline())).version
        await ann.call("Watch/GetAuction", watch_pb2.GetAuctionRequest(table=table))
    else:
        await bob.call("Trades/ListOffers", trades_pb2.ListOffersRequest(table=table))
    return table, version


async def chosen(lines: Lines, kind: str, table: str, number: int) -> Action:
    """What Ann does for the number-th time; Bob does what comes before it."""
    bob = lines.people[1]
    if kind == "options":
        return act.SetOptions(round_limit=5 * number)
    if kind == "bid":
        await bob.act(table, act.Bid(1, 50 * number - 10))
        return act.Bid(1, 50 * number)
    if kind == "offer":
        return act.Offer(1, Side(cash=50 * number), Side(cash=5))
    await bob.act(table, act.Offer(0, Side(cash=5), Side(cash=50 * number)))
    return act.Accept(number)


async def took_effect(lines: Lines, kind: str, table: str, times: int) -> None:
    """It did, once each time, and the game goes on from there."""
    ann, bob, cid = lines.people
    if kind == "bid":
        bids = [(bid.seat, bid.amount) for bid in (await ann.view(table)).auction.bids]
        assert bids == [bid for number in range(1, times + 1) for bid in ((1, 50 * number - 10), (0, 50 * number))]
        await cid.act(table, act.Pass(1))
        await bob.act(table, act.Pass(1))
    view = await ann.view(table)
    if kind == "options":
        assert view.options.round_limit == 5 * times
        return
    paid = 50 * times
    if kind == "bid":
        assert (view.fields[AUCTIONED].owner, view.HasField("auction")) == (0, False)
    else:
        paid = sum(50 * number - 5 for number in range(1, times + 1))
        assert not view.offers
    assert [seat.cash for seat in view.seats] == [1500 - paid, 1500 + (kind != "bid") * paid, 1500]


class Asked(NamedTuple):
    """One command."""

    table: str
    command_id: str
    action: Action
    plain: bool

    def marker(self, place: str, version: int) -> bytes:
        """What it is recognised by. version: the table's after it."""
        if place == "answer to the append":
            return self.table.encode()
        if place != "answer at the client":
            return self.command_id.encode()
        if self.plain:  # the version after it, and then its commits
            return play_pb2.BidResponse(version=version).SerializeToString() + b"\x12"
        return play_pb2.Accepted(command_id=self.command_id, table=self.table).SerializeToString()

    async def ask(self, client: Client, stream: Playing, seen: Seen) -> str:
        """Asks for it, and waits until it is answered or the connection has ended; how it was answered."""
        if not self.plain:
            with contextlib.suppress(Failure, asyncio.InvalidStateError):
                await stream.send_act(self.table, self.action, command_id=self.command_id)
            return await seen.until(stream, "accepted", "refused")
        try:
            answer = await client.act(self.table, self.action, command_id=self.command_id)
        except Failure:
            return ""
        seen.accepted.append((self.command_id, answer.version, answer.duplicate))
        return "accepted"


async def is_cut(trap: Trap, stream: Playing, table: str) -> None:
    """Returns once it is; what is lost after an answer is what the client says next."""
    if trap.cut is Cut.AFTER and trap.way is Way.BACK and not trap.done.is_set():
        with contextlib.suppress(Failure, asyncio.InvalidStateError):
            await stream.send(ask_legal=play_pb2.AskLegal(table=table))
    async with asyncio.timeout(WITHIN_S):
        await trap.done.wait()


async def follow(client: Client, table: str, seen: Seen) -> Playing:
    """A stream that goes on from what was seen, and has come to what is new."""
    stream = client.play()
    resume = stream_pb2.Resume(epoch=seen.epoch, version=seen.versions[-1]) if seen.versions else None
    await stream.follow(table, resume)
    assert await seen.until(stream, "progress")
    return stream


@pytest.mark.parametrize(("kind", "plain", "place", "way"), POINTS)
async def test_a_connection_that_is_cut(lines: Lines, kind: str, plain: bool, place: str, way: Way) -> None:
    """Before, in and after what passes there, one after the other in the same game."""
    elsewhere, bob, _ = lines.people
    table, version = await staged(lines, kind)
    seen, shown = Seen(), Seen()
    watching = await follow(lines.bystander, table, shown)
    token = lines.first.token(PEOPLE[0], "Ann", guest=True)
    answers: dict[str, int] = {}
    commands: list[Asked] = []
    todo = cuts(kind, place, plain=plain)
    for number, cut in enumerate(todo, 1):
        asked = Asked(table, unique_id("to-be-cut-"), await chosen(lines, kind, table, number), plain)
        version += kind in {"bid", "accept"}
        commands.append(asked)
        async with Client(lines.client.address, token) as ann:
            stream = await follow(ann, table, seen)
            await seen.up_to(stream, version)
            trap = lines.at(place, kind).cut_at(asked.marker(place, version + 1), cut, way)
            await asked.ask(ann, stream, seen)
            await is_cut(trap, stream, table)
            stream.raw.cancel()

        request = dev_pb2.AdvanceRequest(table=table, command_id=unique_id())
        request.by.FromMilliseconds(1)
        missed = (await bob.call("Dev/Advance", request)).version
        again = await follow(elsewhere, table, seen)
        assert await asked.ask(elsewhere, again, seen) == "accepted"
        given = {answer[1] for answer in seen.accepted if answer[0] == asked.command_id}
        (answers[asked.command_id],) = given
        done = answers[asked.command_id]
        assert {done, missed} == {version + 1, version + 2}
        assert done > missed or seen.accepted[-1][2]  # the repeat is told that it is one
        version += 2
        if kind == "offer":
            version = (await bob.act(table, act.Accept(number))).version
        await seen.up_to(again, version)
        again.raw.cancel()
    await took_effect(lines, kind, table, len(todo))
    for asked in commands:  # whatever has happened since, the first answer
        answer = await elsewhere.act(table, asked.action, command_id=asked.command_id)
        assert (answer.version, answer.duplicate) == (answers[asked.command_id], True)

    page = await elsewhere.call("Watch/History", watch_pb2.HistoryRequest(table=table))
    log = [commit.SerializeToString() for commit in page.commits]
    logged = [(one.command_id, one.version) for one in page.commits if one.command_id.startswith("to-be-cut-")]
    assert logged == sorted(answers.items(), key=lambda answer: answer[1])
    await shown.up_to(watching, len(log))
    watching.raw.cancel()
    for someone, last in ((seen, version), (shown, len(log))):
        first = someone.versions[0]
        assert someone.pictures == 1
        assert someone.versions == list(range(first, last + 1))
        assert someone.bodies == log[first:last]
