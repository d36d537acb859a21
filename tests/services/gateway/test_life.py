"""A whole game of two people, two bots and a viewer, through all that happens at a table: who comes, goes, is replaced,
votes, watches and writes; and its record, compared with what happened.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from omnipoly.editions import loader
from omnipoly.rules import actions as act
from omnipoly.rules import engine
from omnipoly.rules.ring import Game
from omnipoly.rules.state import State
from omnipoly.runtime import app
from omnipoly.runtime.failures import Failure
from omnipoly.wire import commits
from omnipoly.wire.gen.game.v1 import actions_pb2, types_pb2
from omnipoly.wire.gen.gateway.v1 import chat_pb2, dev_pb2, lobby_pb2, play_pb2, watch_pb2
from omnipolyd.presence.config import PresenceSettings
from omnipolyd.presence.service import PresenceService
from omnipolyd.table.config import TableSettings
from omnipolyd.table.service import TableService
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import Client, Playing, Stack, Watching, gateway, unique_id
from tests.services.waiting import eventually

PIN = "48151623"
ANN, BOB, VIC = "guest:ann", "guest:bob", "oidc:vic"


@asynccontextmanager
async def platform(url: str, nats_url: str) -> AsyncIterator[Stack]:
    """Table, presence and gateway."""
    shared: dict[str, Any] = {"port": 0, "nats_url": nats_url, "reflection": False}
    async with AsyncExitStack() as up:
        table = await up.enter_async_context(
            app.running(TableService(TableSettings(database_url=url, dev=True, **shared)))
        )
        bucket = f"presence_{uuid.uuid4().hex}"
        presence = await up.enter_async_context(
            app.running(PresenceService(PresenceSettings(presence_bucket=bucket, table_addr=table.address, **shared)))
        )
        public = await up.enter_async_context(gateway(table, nats_url, presence_addr=presence.address))
        yield public


class Evening:
    """The table, and everybody at it."""

    def __init__(self, public: Stack) -> None:
        self.ann, self.bob = public.client(ANN), public.client(BOB)
        self.vic = public.client(VIC, guest=False)
        self.bots = public.client("service:bots", guest=False, roles=["bots"])
        self.table = ""
        self.streams: list[Watching] = []
        self.game = Game(loader.edition("tubbypoly"))

    async def state(self) -> Any:
        """How the table stands, by what the viewer sees: who only looks does not count as being there."""
        return await self.vic.view(self.table)

    async def until(self, holds: Any) -> None:
        async def so() -> bool:
            return bool(holds(await self.state()))

        await eventually(so)

    async def there(self, client: Client) -> Playing:
        """Somebody opens a stream and follows the table."""
        stream = client.play()
        self.streams.append(stream)
        await stream.follow(self.table)
        await stream.next("progress")
        return stream

    async def gone(self, stream: Playing) -> None:
        """Somebody closes it."""
        await stream.close()
        assert await stream.ended() is None

    async def advance(self, seconds: int) -> None:
        request = dev_pb2.AdvanceRequest(table=self.table, command_id=unique_id())
        request.by.FromSeconds(seconds)
        await self.ann.call("Dev/Advance", request)

    async def kinds(self) -> list[str]:
        """The kinds of all events so far, in order, but for the ends of throws, of which nothing is told."""
        events = [event for commit in await self.log() for event in commit.events]
        return [
            event.WhichOneof("kind")
            for event in events
            if not event.HasField("throw_played") or event.throw_played.again
        ]

    async def log(self) -> list[Any]:
        found: list[Any] = []
        while True:
            request = watch_pb2.HistoryRequest(table=self.table, after=len(found))
            page = await self.vic.call("Watch/History", request)
            found += page.commits
            if len(found) >= page.version:
                return found

    async def close(self) -> None:
        for client in (self.ann, self.bob, self.vic, self.bots):
            await client.channel.close(None)


def in_order(wanted: list[str], found: list[str]) -> list[str]:
    """What of the wanted is not found, one after the other."""
    left = iter(found)
    return [one for one in wanted if not any(one in text for text in left)]


async def test_an_evening_at_the_table(make_database: MakeDatabase, nats_url: str) -> None:
    url = await make_database("omnipolyd.table.migrations")
    async with platform(url, nats_url) as public:
        evening = Evening(public)
        async with asyncio.timeout(120):
            await _fill(evening)
            await _come_and_go(evening)
            await _stand_still(evening)
            await _substitute(evening)
            await _vote(evening)
            await _look_back(evening)
        await evening.close()


async def _fill(evening: Evening) -> None:
    """A private table is filled and started; who has no PIN neither sits nor watches."""
    ann, bob, vic = evening.ann, evening.bob, evening.vic
    evening.table = table = await ann.create(pin=PIN, dev=True, options=actions_pb2.SetOptions(viewers_chat=True))
    with pytest.raises(Failure, match="has a PIN"):
        await bob.act(table, act.Join(""))
    await bob.act(table, act.Join("Bob"), pin=PIN)
    for _ in range(2):
        await ann.act(table, act.AddBot())
    failure = await vic.watch(table, pin="00000000").ended()
    assert failure is not None
    assert failure.reason == "wrong_pin"
    watching = vic.watch(table, pin=PIN)
    evening.streams.append(watching)
    await watching.next("progress")
    await ann.act(table, act.Start())


async def _come_and_go(evening: Evening) -> None:
    """Bob closes his stream and is away; being back alone does not end that, an action does (TUB-AFK)."""
    ann, bob = await evening.there(evening.ann), await evening.there(evening.bob)
    await _throw(ann, evening.table)
    await evening.gone(bob)
    await evening.until(lambda view: view.seats[1].away == types_pb2.AWAY_CLOSED)
    bob = await evening.there(evening.bob)
    await evening.until(lambda view: view.seats[1].connected)
    assert (await evening.state()).seats[1].away == types_pb2.AWAY_CLOSED
    await _throw(bob, evening.table)  # for the order
    assert (await evening.state()).seats[1].away == types_pb2.AWAY_NO
    await _throw_all(evening, ann, bob)
    await ann.send(say=play_pb2.Say(table=evening.table, command_id="hi", text="Good luck!"))
    assert (await bob.next("chat")).text == "Good luck!"
    line = chat_pb2.SayRequest(table=evening.table, command_id="hi", text="I am watching.")
    assert (await evening.vic.call("Chat/Say", line)).line.seat == -1
    evening.streams += [ann, bob]


async def _throw(stream: Playing, table: str) -> None:
    """Throws for the order, for whoever has not."""
    answer = await stream.act(table, act.Roll())
    assert isinstance(answer, play_pb2.Accepted)


async def _throw_all(evening: Evening, ann: Playing, bob: Playing) -> None:
    """Whoever has to, has thrown; the bots too, which at a table with a driven clock move when they are told to."""
    bots = evening.bots.play()
    people = {ANN: ann, BOB: bob}
    while (view := await evening.state()).round == 0:
        for seat in view.seats:
            if seat.prompt:
                stream, more = (bots, {"as_bot": seat.holder}) if seat.bot else (people[seat.holder], {})
                assert isinstance(await stream.act(evening.table, act.Roll(), **more), play_pb2.Accepted)
    await evening.gone(bots)


async def _stand_still(evening: Evening) -> None:
    """With none of the people there nobody moves, bots included; it goes on when one is back (TUB-PAUSE)."""
    for stream in evening.streams[-2:]:
        assert isinstance(stream, Playing)
        await evening.gone(stream)
    await evening.until(lambda view: view.paused.seconds)
    version = (await evening.state()).version
    with pytest.raises(Failure, match="stands still"):
        await evening.bob.act(evening.table, act.Leave())
    assert (await evening.state()).version == version
    evening.streams.append(await evening.there(evening.ann))
    await evening.until(lambda view: not view.paused.seconds)


async def _substitute(evening: Evening) -> None:
    """Bob is still away: the host has a bot play for him, and he takes his seat again (TUB-SUBSTITUTE)."""
    await evening.ann.act(evening.table, act.ReplaceWithBot(1))
    seat = (await evening.state()).seats[1]
    assert (seat.bot, seat.stands_in_for) == (True, BOB)
    bob = await evening.there(evening.bob)
    answer = await bob.act(evening.table, act.TakeSeat(1))
    assert isinstance(answer, play_pb2.Accepted)
    seat = (await evening.state()).seats[1]
    assert (seat.holder, seat.bot, seat.name) == (BOB, False, "Bob")
    evening.streams.append(bob)


async def _vote(evening: Evening) -> None:
    """One ✗ ends a vote; after the wait the next one passes, and the game ends as it stands (TUB-END-VOTE)."""
    table, ann, bob = evening.table, evening.ann, evening.bob
    await ann.act(table, act.ProposeEnd())
    await bob.act(table, act.Vote(yes=False))
    with pytest.raises(Failure) as caught:
        await bob.act(table, act.ProposeEnd())
    assert caught.value.reason == "vote_cooldown"
    await evening.advance(30)
    with pytest.raises(Failure) as caught:
        await ann.act(table, act.ProposeEnd())
    assert caught.value.reason == "vote_cooldown"  # three minutes for who proposed
    await bob.act(table, act.ProposeEnd())
    await ann.act(table, act.Vote(yes=True))
    view = await evening.state()
    assert view.ended == types_pb2.ENDING_VOTE
    assert min(view.places) == 1
    assert len(view.places) == 4


async def _look_back(evening: Evening) -> None:
    """The log gives the end again, every stream had all of it, and the record tells what happened, in order."""
    log = await evening.log()
    state: State = engine.blank(evening.game.first)
    for message in log:
        commit = commits.decode(message.SerializeToString(), evening.game)
        engine.enter(state, commit.at_ms, commit.actor)
        for event in commit.events:
            engine.apply(state, event)
    view = await evening.state()
    assert (list(view.places), view.version) == (state.places, len(log))
    watching = evening.streams[0]
    versions = [one.version for one in await watching.up_to(len(log))]
    assert versions == sorted(set(versions))
    assert [seat.cash for seat in view.seats] == state.cash

    request = watch_pb2.RecordRequest(table=evening.table, page_size=500)
    lines: list[Any] = []
    while True:
        page = await evening.vic.call("Watch/Record", request)
        lines += page.lines
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    kinds = [line.kind for line in lines]
    told = set(kinds)
    assert kinds == [kind for kind in await evening.kinds() if kind in told]
    happened = [
        "The table is opened for Tubbypoly",
        "Ann sits down.",
        "Bob sits down.",
        "sits down (a bot).",
        "sits down (a bot).",
        "The game begins with start money 1500 pupas, a clock of 45 s, a PIN to sit or to watch, a chat for viewers",
        "Bob is no longer connected.",
        "Bob has gone and is away.",
        "Bob is connected.",
        "Bob is back.",
        "Round 1: it is the turn of",
        "The table stands still: none of its persons is there.",
        "Ann is connected.",
        "The table goes on.",
        "A bot plays on for Bob.",
        "Bob takes the seat back.",
        "Ann proposes to end the game",
        "Bob votes no.",
        "The vote fails.",
        "The table's clock is moved forward",  # in steps, where something fell due meanwhile
        "Bob proposes to end the game",
        "Ann votes yes.",
        "The vote passes.",
        "The game is over:",
    ]
    texts = [line.text for line in lines]
    assert in_order(happened, texts) == [], "\n".join(texts)
    assert PIN not in "".join(line.text for line in lines)
    assert await evening.vic.call("Lobby/ListViewers", lobby_pb2.ListViewersRequest(table=evening.table))
