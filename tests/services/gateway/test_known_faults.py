"""Rows of docs/known-faults.md whose kind is concurrency or protocol, over the wire: several sockets, two gateways."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from typing import Any, NamedTuple

import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.failures import Failure, from_status
from omnipoly.scenarios import position
from omnipoly.scenarios.model import Given, Position, TableOptions
from omnipoly.scenarios.script import Script
from omnipoly.wire import views
from omnipoly.wire.gen.game.v1 import actions_pb2, script_pb2, types_pb2
from omnipoly.wire.gen.gateway.v1 import dev_pb2, play_pb2, stream_pb2, watch_pb2
from tests.services.gateway.calling import Client, Playing, Stack, game, gateway, unique_id


class Sockets(NamedTuple):
    """Each of three players at each of two gateways."""

    ann: tuple[Client, Client]
    bob: tuple[Client, Client]
    cid: tuple[Client, Client]
    viewer: Client

    @property
    def players(self) -> tuple[str, str, str]:
        """Their ids, in the order of their seats."""
        return ("guest:ann", "guest:bob", "guest:cid")

    async def staged(self, **given: Any) -> str:
        """A table of the three in a position; ann is about to throw."""
        table = await self.ann[0].create(dev=True)
        wanted = Position(
            edition="tubbypoly",
            players=self.players,
            options=TableOptions(),
            given=Given(turn=self.players[0], **given),
        )
        state = position.state_of(wanted, now_ms=time.time_ns() // 1_000_000, entropy=Script())
        request = dev_pb2.SetUpRequest(table=table, command_id=unique_id(), view=views.to_view(state, 0, 0))
        await self.ann[0].call("Dev/SetUp", request)
        return table


@pytest.fixture
async def sockets(running: Stack, nats_url: str) -> AsyncIterator[Sockets]:
    async with gateway(running.table, nats_url) as other:
        clients = [[stack.client(f"guest:{name}") for stack in (running, other)] for name in ("ann", "bob", "cid")]
        viewer = other.client("oidc:vic", guest=False)
        yield Sockets(*(tuple(pair) for pair in clients), viewer)  # type: ignore[arg-type]
        for client in (*clients[0], *clients[1], *clients[2], viewer):
            await client.channel.close(None)


def throws(*dice: tuple[int, int]) -> script_pb2.Script:
    return script_pb2.Script(throws=[script_pb2.ScriptedThrow(dice=one) for one in dice])


async def answers(*asked: Awaitable[Any]) -> Counter[str]:
    """How often what was said, "ok" for what was accepted."""
    said: Counter[str] = Counter()
    for answer in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(answer, Failure):
            said[answer.reason] += 1
        elif isinstance(answer, BaseException):
            raise answer
        else:
            said["ok"] += 1
    return said


async def following(client: Client, table: str, resume: stream_pb2.Resume | None = None) -> Playing:
    stream = client.play()
    await stream.follow(table, resume)
    return stream


async def refused(client: Client, table: str, action: act.Action, **more: Any) -> str:
    with pytest.raises(Failure) as caught:
        await client.act(table, action, **more)
    return caught.value.reason


async def test_one_purchase_however_often_it_is_sent(sockets: Sockets) -> None:
    """Row 16: the same message on two sockets, and another one for the same lot."""
    table = await sockets.staged()
    ann = sockets.ann
    await _roll(ann[0], table, (1, 2))
    same = [client.act(table, act.Buy(), command_id="buy-it") for client in (*ann, *ann)]
    first = await asyncio.gather(*same)
    assert {answer.version for answer in first} == {first[0].version}
    assert sum(not answer.duplicate for answer in first) == 1
    assert (await answers(*(client.act(table, act.Buy()) for client in (*ann, *sockets.bob))))["ok"] == 0
    view = await ann[1].view(table)
    assert [seat.cash for seat in view.seats] == [1440, 1500, 1500]
    assert [field.owner for field in view.fields].count(0) == 1


async def _roll(client: Client, table: str, dice: tuple[int, int]) -> Any:
    """A throw by script, which the stream alone takes."""
    answer = await (await following(client, table)).act(table, act.Roll(), script=throws(dice))
    assert answer.DESCRIPTOR.name == "Accepted"
    return answer


async def test_one_asset_in_two_open_offers(sockets: Sockets) -> None:
    """Row 18: both are accepted at the same moment, at two gateways; one settles."""
    for _ in range(3):
        table = await sockets.staged(owns={sockets.players[0]: (39,), sockets.players[1]: (1,)})
        ann, bob, cid = sockets.ann, sockets.bob, sockets.cid
        # ann asks for bob's lot, and bob offers it to cid
        await ann[0].act(table, act.Offer(1, act.Side(cash=400), act.Side(fields=(1,))))
        await bob[1].act(table, act.Offer(2, act.Side(fields=(1,)), act.Side(cash=450)))
        said = await answers(bob[0].act(table, act.Accept(1)), cid[1].act(table, act.Accept(2)))
        assert said["ok"] == 1
        assert said.keys() - {"ok"} <= {"asset_changed", "not_owner", "offer_gone"}
        view = await ann[0].view(table)
        owner = view.fields[1].owner
        paid = {0: 400, 2: 450}[owner]
        assert [seat.cash for seat in view.seats] == [
            1500 - paid * (owner == 0),
            1500 + paid,
            1500 - paid * (owner == 2),
        ]


async def test_nothing_goes_on_before_it_is_its_turn(sockets: Sockets) -> None:
    """Row 30: no turn ends before the throw, before an answer, or in debt; no balance is ever below nothing."""
    players = sockets.players
    table = await sockets.staged(cash={players[0]: 0}, at={players[0]: 29}, owns={players[1]: (39,)})
    ann = sockets.ann
    assert await refused(ann[0], table, act.EndTurn()) == "wrong_phase"
    await _roll(ann[1], table, (4, 6))  # on a lot of bob's, without a penny
    for action in (act.EndTurn(), act.Roll(), act.Buy()):
        assert await refused(ann[0], table, action) in {"wrong_phase", "in_debt"}
    table = await sockets.staged(at={players[0]: 0})
    await _roll(ann[1], table, (2, 4))
    for action in (act.EndTurn(), act.Roll()):
        assert await refused(ann[0], table, action) == "wrong_phase"
    view = await ann[1].view(table)
    assert min(seat.cash for seat in view.seats) >= 0


async def test_a_turn_is_ended_once(sockets: Sockets) -> None:
    """Row 46: five times in a moment, over two sockets; the next one's turn is still on."""
    table = await sockets.staged(at={sockets.players[0]: 10, sockets.players[1]: 10})
    ann, bob = sockets.ann, sockets.bob
    await _roll(ann[0], table, (4, 6))
    said = await answers(*(ann[number % 2].act(table, act.EndTurn()) for number in range(5)))
    assert said == {"ok": 1, "not_your_turn": 4}
    assert (await bob[1].view(table)).turn == 1


async def test_who_comes_back_with_an_old_picture(sockets: Sockets) -> None:
    """Row 47: what was missed comes once and in order, and what was decided on it is refused with a reason."""
    ann, bob = sockets.ann, sockets.bob
    table = await ann[0].create()
    stream = await following(ann[0], table)
    had = (await stream.next("progress")).resume
    stream.raw.cancel()
    for action in (act.Join(""), act.Leave(), act.Join(""), act.Leave()):
        await bob[1].act(table, action)
    back = await following(ann[1], table, had)
    command_id = await back.send_act(table, act.SetOptions(round_limit=9), if_version=had.version)
    heard = [await back.next("commit", "snapshot", "refused") for _ in range(5)]
    (no,) = [one for one in heard if one.DESCRIPTOR.name == "Refused"]
    assert [one.version for one in heard if one is not no] == [had.version + n for n in (1, 2, 3, 4)]
    assert no.command_id == command_id
    assert from_status(no.status).reason == "stale_version"
    assert (await back.act(table, act.SetOptions(round_limit=9), if_version=had.version + 4)).version == had.version + 5


async def test_nothing_tells_of_what_is_to_come(running: Stack, sockets: Sockets) -> None:
    """Row 51: neither player nor viewer is sent the seed in any form before the end; then it is what was promised."""
    ann, viewer = sockets.ann[0], sockets.viewer
    table = await ann.create("globopoly/quick")
    for _ in range(2):
        await ann.act(table, act.AddBot())
    streams = [await following(ann, table), viewer.watch(table)]
    for stream in streams:
        await stream.next("progress")
    await ann.act(table, act.Start())
    (row,) = await running.table.database.fetch("SELECT seed FROM secrets WHERE table_id = $1", table)
    seed: bytes = row["seed"]
    for action in (act.Roll(), act.EndTurn(), act.Buy(), act.Bid(1, 1), act.Roll()):
        await answers(ann.act(table, action))
    replies = [
        await client.raw(method, request.SerializeToString())
        for client, method, request in (
            (ann, "PlayService/Legal", play_pb2.LegalRequest(table=table)),
            (ann, "WatchService/History", watch_pb2.HistoryRequest(table=table)),
            (viewer, "WatchService/Record", watch_pb2.RecordRequest(table=table)),
        )
    ]
    version = (await ann.view(table)).version
    for stream in streams:
        await stream.up_to(version)
    secrets = (seed, seed.hex().encode(), seed.hex().upper().encode(), str(int.from_bytes(seed, "big")).encode())
    for sent in (*replies, *(b"".join(stream.heard) for stream in streams)):
        assert sent
        assert not any(secret in sent for secret in secrets)
    await ann.act(table, act.ProposeEnd())
    page = await ann.call("Watch/History", watch_pb2.HistoryRequest(table=table))
    told = [event for commit in page.commits for event in commit.events]
    (revealed,) = [event.seed_revealed.seed for event in told if event.HasField("seed_revealed")]
    assert bytes.fromhex(revealed) == seed
    assert told[0].table_opened.commitment == hashlib.sha256(seed).hexdigest()


async def test_an_answer_to_a_decision_that_was_answered(sockets: Sockets) -> None:
    """Row 52: the second tab still shows buy or decline."""
    table = await sockets.staged(at={sockets.players[0]: 0})
    ann = sockets.ann
    tabs = [await following(client, table) for client in ann]
    for tab in tabs:
        await tab.next("progress")
    await tabs[0].act(table, act.Roll(), script=throws((2, 4)))
    while (prompt := await tabs[1].next("prompt")).phase != types_pb2.PHASE_LANDED:
        pass
    shown = prompt.prompt_id
    assert (await tabs[0].act(table, act.Buy(), prompt_id=shown)).version
    for action in (act.Decline(), act.Buy(), act.EndTurn()):
        assert (await tabs[1].refused(table, action, prompt_id=shown)).reason == "stale_prompt"
    now = (await ann[1].call("Play/Legal", play_pb2.LegalRequest(table=table))).prompt.prompt_id
    assert now > shown
    assert (await tabs[1].act(table, act.EndTurn(), prompt_id=now)).version


async def test_nobody_says_who_they_are_or_what_the_dice_show(sockets: Sockets) -> None:
    """Row 53: who acts is who is signed in; what the contract does not know is refused, dice above all."""
    table = await sockets.staged(at={sockets.players[0]: 10})
    ann, bob, cid = sockets.ann, sockets.bob, sockets.cid
    before = (await ann[0].view(table)).version
    assert await refused(cid[0], table, act.Roll()) == "not_your_turn"
    stream = await following(bob[1], table)
    await stream.next("progress")
    unknown = (
        b"\x98\x06\x00",  # a number: a seat, a field to go to
        b"\xa2\x06\x09guest:ann",  # a text: a person
        b"\xa2\x06\x02\x06\x06",  # numbers: dice
    )
    for kind in ("roll", "offer", "accept", "propose_end"):
        for extra in unknown:
            action = actions_pb2.Action()
            getattr(action, kind).SetInParent()
            body = getattr(action, kind)
            body.MergeFromString(extra)
            await stream.send(act=play_pb2.Act(table=table, command_id=unique_id(), action=action))
            assert from_status((await stream.next("refused")).status).reason == "bad_request"
    assert (await ann[0].view(table)).version == before
    # a plain game takes no script either
    plain = await game(ann[0], bob[0])
    assert (await stream.refused(plain, act.Roll(), script=throws((6, 6)))).reason == "bad_request"
