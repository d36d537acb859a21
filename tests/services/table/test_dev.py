"""Under --dev, at tables opened for it: positions, throws by script, and a clock that only moves when it is told to."""

from __future__ import annotations

from typing import Any

import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.events import Advanced, PositionSet, SeedRevealed
from omnipoly.rules.ring import Game
from omnipoly.rules.state import Phase
from omnipoly.runtime.failures import Failure
from omnipoly.wire import commits, views
from omnipoly.wire.gen.game.v1 import script_pb2, view_pb2
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from tests.services.table.calling import Caller, identity, replay, unique_id
from tests.services.table.conftest import Serve
from tests.services.table.operators import close
from tests.services.table.staging import advance, script, set_up, staged, state
from tests.services.table.test_refusals import unchanged

ANN = "guest:ann"


async def malformed(asked: Any) -> Failure:
    with pytest.raises(Failure) as caught:
        await asked
    assert (caught.value.status.name, caught.value.reason) == ("INVALID_ARGUMENT", "bad_request")
    assert caught.value.sentence.endswith(".")
    return caught.value


async def test_a_position(caller: Caller, game: Game) -> None:
    wanted = state(
        cash={"A": 100, "B": 2000},
        at={"A": 7, "C": 20},
        owns={"A": (1, 3), "B": (39,)},
        buildings={1: 1},
        mortgaged=(39,),
        jailed={"B": 1},
        round=5,
        held_cards={"C": (next(iter(game.first.jail_free)),)},
    )
    table = await caller.open("A", dev=True)
    answer = await set_up(caller, table, wanted, command_id="position")
    stands = await caller.state(table, game)
    assert stands.table == table
    assert (stands.dev, stands.commitment) == (True, "")
    stands.table = wanted.table
    assert views.to_view(stands, 0, 0) == views.to_view(wanted, 0, 0)
    commit = commits.decode(answer.commits[0], game)
    assert commit.actor == "admin:op"
    assert isinstance(commit.events[0], PositionSet)
    again = await set_up(caller, table, wanted, command_id="position")
    assert again.duplicate
    assert list(again.commits) == list(answer.commits)
    # and once more, in the middle of it
    await caller.act(table, "A", act.Roll(), script=script((1, 1)))
    await set_up(caller, table, state(turn="C"))
    assert (await caller.state(table, game)).turn == 2
    replay(await caller.log(table), game)


async def test_scripted_throws_are_used_in_order(caller: Caller, game: Game) -> None:
    table = await staged(caller)
    await caller.act(table, "A", act.Roll(), script=script((2, 2)))
    s = await caller.state(table, game)
    assert (s.position[0], s.dice) == (4, (2, 2))
    # a clock that runs out throws for whoever is away: three doubles, and jail
    table = await staged(caller, doubles=2)
    answer = await advance(caller, table, 45, (3, 3))
    s = await caller.state(table, game)
    assert s.jailed[0] == 0
    assert s.turn == 1
    assert isinstance(commits.decode(answer.commits[0], game).events[0], Advanced)


async def test_scripted_cards(caller: Caller, game: Game) -> None:
    s = state()
    deck, cards = game.first.deck_names[0], game.first.cards[0]
    card = next(iter(cards))
    field = next(at for at, field in enumerate(game.first.fields) if getattr(field, "deck", "") == deck)
    s.position[0] = (field - 3) % 40
    table = await caller.open("A", dev=True)
    await set_up(caller, table, s)
    async with unchanged(caller, table):
        failure = await malformed(caller.act(table, "A", act.Roll(), script=script((1, 2))))
        assert deck in failure.sentence
        await malformed(caller.act(table, "A", act.Roll(), script=script((1, 2), **{deck: ["no-such-card"]})))
    answer = await caller.act(table, "A", act.Roll(), script=script((1, 2), **{deck: [card]}))
    drawn = [event for event in commits.decode(answer.commits[0], game).events if type(event).__name__ == "CardDrawn"]
    assert [event.card for event in drawn] == [card]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("throws", "says"),
    [
        ([], "a throw"),
        ([(1, 2), (3, 4)], "left over"),
        ([(0, 7)], "1 to 6"),
        ([(1,)], "two dice"),
        ([(1, 2, 3)], "two dice"),
    ],
)
async def test_scripts_that_do_not_fit(caller: Caller, game: Game, throws: Any, says: str) -> None:
    """Refused, and nothing has changed; the command's id is free for a better one."""
    table = await staged(caller)
    async with unchanged(caller, table):
        failure = await malformed(caller.act(table, "A", act.Roll(), script=script(*throws), command_id="better-luck"))
        assert says in failure.sentence.lower()
    answer = await caller.act(table, "A", act.Roll(), script=script((1, 2)), command_id="better-luck")
    assert not answer.duplicate


async def test_a_script_is_part_of_what_its_command_means(caller: Caller) -> None:
    table = await staged(caller)
    await caller.act(table, "A", act.Roll(), script=script((1, 2)), command_id="roll")
    assert (await caller.act(table, "A", act.Roll(), script=script((1, 2)), command_id="roll")).duplicate
    failure = await caller.refused(table, "A", act.Roll(), script=script((6, 6)), command_id="roll")
    assert failure.reason == "key_reused"


async def test_scripts_that_are_too_long(caller: Caller) -> None:
    table = await staged(caller)
    async with unchanged(caller, table):
        for wrong in (
            script(*(65 * [(1, 2)])),
            script((1, 2), **{f"deck{number}": ["x"] for number in range(17)}),
            script((1, 2), chance=65 * ["x"]),
        ):
            await malformed(caller.act(table, "A", act.Roll(), script=wrong))
            await malformed(advance(caller, table, 1, script=wrong))


async def test_time_passes_when_it_is_told_to(caller: Caller, game: Game) -> None:
    """What falls due meanwhile is played when it does: as a scenario's `wait`."""
    table = await staged(caller)
    before = await caller.state(table, game)
    await advance(caller, table, 44.999)
    s = await caller.state(table, game)
    assert s.now_ms == before.now_ms + 44_999
    assert s.phase is Phase.THROW
    answer = await advance(caller, table, 0.001, (1, 2), command_id="second")
    s = await caller.state(table, game)
    assert s.now_ms == before.now_ms + 45_000
    assert s.phase is Phase.LANDED
    assert s.away[0]
    again = await advance(caller, table, 0.001, (1, 2), command_id="second")
    assert again.duplicate
    assert list(again.commits) == list(answer.commits)
    # no time at all passes by itself
    assert (await caller.state(table, game)).now_ms == s.now_ms
    async with unchanged(caller, table):
        await malformed(advance(caller, table, 2, (1, 2)))  # the lot is declined, and nothing is thrown in an auction
        await malformed(advance(caller, table, 300, script=script()))  # somebody throws, and nothing scripts it
    await advance(caller, table, 2)
    assert (await caller.state(table, game)).phase is Phase.AUCTION
    replay(await caller.log(table), game)


@pytest.mark.parametrize("seconds", [-1, 0, 0.0001, 30 * 86_400 + 0.001, 2**40])
async def test_how_far_a_clock_may_be_moved(caller: Caller, seconds: float) -> None:
    table = await staged(caller)
    async with unchanged(caller, table):
        await malformed(advance(caller, table, seconds))


async def test_positions_that_cannot_be(caller: Caller) -> None:
    table = await staged(caller)
    async with unchanged(caller, table):
        for change in (
            lambda view: view.seats[0].ClearField("holder"),
            lambda view: setattr(view.seats[0], "cash", -5),
            lambda view: setattr(view.seats[0], "cash", 2**62),
            lambda view: setattr(view.fields[0], "owner", 0),
            lambda view: setattr(view.fields[1], "owner", 99),
            lambda view: setattr(view, "turn", 77),
            lambda view: view.ClearField("phases"),
            lambda view: view.seats.add(),
            lambda view: setattr(view, "board", "ring1000"),
            lambda view: setattr(view, "digest", "0" * 64),
            lambda view: setattr(view, "bank", 1),
        ):
            view = views.to_view(state(), 0, 0)
            change(view)
            if view.seats[0].holder:
                request = pb.SetUpRequest(table=table, identity=identity("op"), command_id=unique_id(), view=view)
                await malformed(caller.call("SetUp", request))
        empty = pb.SetUpRequest(table=table, identity=identity("op"), command_id=unique_id(), view=view_pb2.TableView())
        await malformed(caller.call("SetUp", empty))


async def test_at_tables_that_were_not_opened_for_it(caller: Caller, game: Game) -> None:
    table = await caller.started(game, bots=1)
    async with unchanged(caller, table):
        await malformed(set_up(caller, table, state()))
        await malformed(advance(caller, table, 1))
        await malformed(caller.act(table, ANN, act.Roll(), script=script((1, 2))))
        await malformed(caller.act(table, ANN, act.Roll(), script=script_pb2.Script()))


async def test_without_dev(serve: Serve, game: Game) -> None:
    """Nothing of it is answered, also for tables that were opened for it under --dev before."""
    table = await staged((await serve(dev=True)).caller)
    caller = (await serve(dev=False)).caller
    async with unchanged(caller, table):
        await malformed(set_up(caller, table, state()))
        await malformed(advance(caller, table, 1))
        await malformed(caller.act(table, "A", act.Roll(), script=script((1, 2))))
        await malformed(caller.open(ANN, dev=True))
    # played on as it stands, with dice of chance
    await caller.act(table, "A", act.Roll())


async def test_it_says_so_in_its_first_event_and_promises_nothing(caller: Caller, game: Game) -> None:
    table = await staged(caller)
    first = commits.decode((await caller.log(table))[0], game).events[0]
    assert (first.dev, first.commitment) == (True, "")  # type: ignore[attr-defined]
    await close(caller, table)
    events = [event for body in await caller.log(table) for event in commits.decode(body, game).events]
    assert not any(isinstance(event, SeedRevealed) for event in events)
