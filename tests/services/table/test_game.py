"""A whole game through the service: what its log says, what of it is known when, and that its dice were fair."""

from __future__ import annotations

import grpc
import grpc.aio
import pytest

from omnipoly.client import verify
from omnipoly.rules import actions as act
from omnipoly.rules.entropy import commitment
from omnipoly.rules.events import SeedRevealed, TableOpened
from omnipoly.rules.ring import Game
from omnipoly.rules.state import Phase
from omnipoly.runtime import failures
from omnipoly.wire import commits, views
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from tests.services.table.calling import SERVICE, Caller, replay, unique_id
from tests.services.table.hearing import Ear
from tests.services.table.operators import close
from tests.services.table.playing import Picture, play
from tests.services.table.replicas import Replica
from tests.services.waiting import eventually

ANN, BOB = "guest:ann", "guest:bob"


class Recording(Caller):
    """A caller that keeps every answer's bytes, refusals included."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.heard: list[bytes] = []
        call = self.link.call

        async def recorded(method: str, body: bytes, timeout_s: float, traceparent: str = "") -> bytes:
            try:
                answer = await call(method, body, timeout_s, traceparent)
            except Exception as error:
                self.heard.append(repr((error, vars(error))).encode())
                raise
            self.heard.append(answer)
            return answer

        self.link.call = recorded  # type: ignore[method-assign]


async def test_a_whole_game(replica: Replica, game: Game, ear: Ear, caplog: pytest.LogCaptureFixture) -> None:
    caller = Recording(replica.app.address)
    seed_hidden_until = 0

    table = await caller.open(ANN)
    await caller.act(table, BOB, act.Join("Bob"))
    await caller.act(table, BOB, act.Contribute("my own luck"))
    await caller.act(table, ANN, act.SetOptions(round_limit=25))
    await caller.act(table, ANN, act.AddBot())
    await caller.act(table, ANN, act.Start())
    picture = await Picture.take(caller, table, game)

    played = 0
    while not picture.over:
        # somebody looks around and tries what is not allowed, all along
        seed_hidden_until = len(caller.heard)
        played += await play([caller], picture, most=25)
        await caller.call("Legal", pb.LegalRequest(table=table, person=ANN))
        await caller.refused(table, "guest:eve", act.Roll())
        await caller.refused(table, ANN, act.Bid(auction=10_000, amount=1))
        await caller.call("Read", pb.ReadRequest(table=table))
        await caller.call("Commits", pb.CommitsRequest(table=table, after=max(0, picture.version - 3)))
        await caller.call("Export", pb.ExportRequest(table=table))
    assert played > 100

    log = await caller.log(table)
    state = replay(log, game)  # versions without a gap, invariants after each commit
    assert state == picture.state
    assert state == views.from_view(await caller.view(table), game)
    assert sum(state.cash) + state.casino == state.bank

    # what was published is what is stored
    await eventually(lambda: len(ear.commits[table]) == len(log))
    assert [ear.commits[table][version] for version in range(1, len(log) + 1)] == log
    assert all(prompt.version <= len(log) for prompt in ear.prompts[table])

    # the seed: promised in the first event, in no byte before the last commit
    first, last = commits.decode(log[0], game).events[0], commits.decode(log[-1], game).events[-1]
    assert isinstance(first, TableOpened)
    assert isinstance(last, SeedRevealed)
    seed = bytes.fromhex(last.seed)
    assert len(seed) == 32
    assert commitment(seed) == first.commitment
    (stored,) = await replica.sql("SELECT seed FROM secrets WHERE table_id = $1", table)
    assert stored["seed"] == seed
    for said in (*caller.heard[:seed_hidden_until], *log[:-1], *(body for body in ear.all if body != log[-1])):
        _has_not(said, seed)
    for row in await replica.sql("SELECT body FROM snapshots WHERE table_id = $1 AND version < $2", table, len(log)):
        _has_not(row["body"], seed)

    _has_not(caplog.text.encode(), seed)

    # and every throw and draw is the seed's
    verdict = verify.check(game, [commits.decode(body, game) for body in log])
    assert verdict.holds, verdict.problems
    assert verdict.throws == state.thrown > 50
    assert verdict.draws >= sum(state.draws)
    await caller.close()


def _has_not(said: bytes, seed: bytes) -> None:
    for form in (seed, seed.hex().encode(), seed.hex().upper().encode(), str(seed).encode()[2:-1]):
        assert form not in said


async def test_after_the_end_everything_is_refused_and_can_be_looked_at(caller: Caller, game: Game) -> None:
    table = await caller.started(game, bots=1)
    await caller.act(table, ANN, act.Leave())
    view = await caller.view(table)
    assert views.from_view(view, game).phase is Phase.OVER
    for action in (act.Roll(), act.EndTurn(), act.Bid(1, 10), act.Leave(), act.ProposeEnd(), act.Accept(1)):
        assert (await caller.refused(table, ANN, action)).reason == "game_over"
    assert (await caller.view(table)).version == view.version
    assert len(await caller.log(table)) == view.version


async def test_a_closed_table_says_so(caller: Caller, game: Game) -> None:
    table = await caller.started(game)
    assert (await caller.refused(table, "guest:op", act.CloseTable())).reason == "not_admin"
    await close(caller, table, by="oidc:op")
    assert (await caller.refused(table, ANN, act.Roll())).reason == "table_closed"
    last = commits.decode((await caller.log(table))[-1], game)
    assert last.actor == "admin:oidc:op"
    assert isinstance(last.events[-1], SeedRevealed)


async def test_the_methods_are_plain_rpcs_too(replica: Replica, caller: Caller) -> None:
    table = await caller.open(ANN)
    async with grpc.aio.insecure_channel(replica.app.address) as channel:
        read = channel.unary_unary(SERVICE + "Read", pb.ReadRequest.SerializeToString, pb.ReadResponse.FromString)
        assert (await read(pb.ReadRequest(table=table))).view.table == table
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await read(pb.ReadRequest(table=unique_id()))
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        assert failures.from_rpc_error(caught.value).reason == "unknown_table"
