"""Who is there, as presence reports it: in the order of its revisions, whichever replica it reaches first."""

from __future__ import annotations

import asyncio

from omnipoly.rules import actions as act
from omnipoly.rules.events import Connected, Disconnected, Event, Paused, Resumed, Shortened, WentAway
from omnipoly.rules.ring import Game
from omnipoly.wire import commits, legal
from omnipoly.wire.gen.game.v1 import legal_pb2
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from tests.services.table.calling import Caller, replay
from tests.services.table.conftest import Serve
from tests.services.table.hearing import Ear
from tests.services.table.staging import script, staged
from tests.services.waiting import eventually

ANN, BOB = "guest:ann", "guest:bob"
CONNECTED, CLOSED, BROKEN = 1, 2, 3


async def report(caller: Caller, table: str, revision: int, **persons: int) -> pb.ReportResponse:
    rows = [pb.PersonPresence(person=f"guest:{name}", status=status) for name, status in persons.items()]  # type: ignore[arg-type]
    answer: pb.ReportResponse = await caller.call(
        "Report", pb.ReportRequest(table=table, revision=revision, persons=rows)
    )
    return answer


async def there(caller: Caller, table: str) -> list[bool]:
    return [seat.connected for seat in (await caller.view(table)).seats if not seat.bot]


def kinds(answer: pb.ReportResponse, game: Game) -> list[type[Event]]:
    return [type(event) for body in answer.commits for event in commits.decode(body, game).events]


async def two_persons(caller: Caller) -> str:
    table = await caller.open(ANN)
    await caller.act(table, BOB, act.Join("Bob"))
    await caller.act(table, ANN, act.Start())
    return table


async def test_coming_and_going(caller: Caller, game: Game) -> None:
    table = await two_persons(caller)
    assert kinds(await report(caller, table, 1, ann=CLOSED), game) == [Disconnected, WentAway, Shortened]
    assert await there(caller, table) == [False, True]
    assert kinds(await report(caller, table, 2, ann=CONNECTED), game) == [Connected]
    assert await there(caller, table) == [True, True]
    both = await report(caller, table, 3, ann=BROKEN, bob=CLOSED)
    assert len(both.commits) == 1
    assert kinds(both, game).count(Disconnected) == 2
    commit = commits.decode(both.commits[0], game)
    assert (commit.actor, commit.command_id) == ("", "")


async def test_a_report_shortens_and_gives_nothing_back(caller: Caller, game: Game) -> None:
    """Row 48: whoever comes back has what was left, of two seconds at most."""
    table = await two_persons(caller)
    await report(caller, table, 1, ann=BROKEN)
    short = replay(await caller.log(table), game)
    assert short.deadline_ms[0] == short.now_ms + 2000
    await report(caller, table, 2, ann=CONNECTED)
    back = replay(await caller.log(table), game)
    assert back.deadline_ms == short.deadline_ms
    assert back.prompt == short.prompt


async def test_revisions_out_of_order_and_repeated(caller: Caller, game: Game) -> None:
    table = await two_persons(caller)
    await report(caller, table, 10, bob=CLOSED)
    version = (await caller.view(table)).version
    for revision in (10, 9, 1):
        answer = await report(caller, table, revision, bob=CONNECTED, ann=CLOSED)
        assert not answer.commits
        assert (answer.version, answer.revision) == (version, 10)
    assert await there(caller, table) == [True, False]
    assert (await report(caller, table, 11, bob=CONNECTED)).revision == 11
    assert (await report(caller, table, 12, bob=CONNECTED)).revision == 12  # nothing changed
    assert await there(caller, table) == [True, True]


async def test_a_report_that_changes_nothing_is_newer_all_the_same(serve: Serve, game: Game) -> None:
    """What comes after it with an older revision is old, also at another replica, or after a restart."""
    one, two = await serve(), await serve()
    table = await two_persons(one.caller)
    assert not (await report(two.caller, table, 4, ann=CONNECTED, bob=CONNECTED)).commits
    late = await report(one.caller, table, 3, ann=CLOSED)
    assert not late.commits
    assert await there(one.caller, table) == [True, True]
    assert not (await report((await serve()).caller, table, 4, ann=CLOSED)).commits
    assert len((await report(one.caller, table, 5, ann=CLOSED)).commits) == 1


async def test_many_reports_at_once_at_both(serve: Serve, game: Game) -> None:
    """In whatever order they arrive, the newest says how it stands in the end."""
    one, two = await serve(), await serve()
    for last in (CONNECTED, CLOSED):
        table = await two_persons(one.caller)
        await asyncio.gather(
            *(
                report((one, two)[revision % 2].caller, table, revision, bob=CLOSED if revision % 3 else CONNECTED)
                for revision in reversed(range(1, 20))
            ),
            report(two.caller, table, 20, bob=last),
        )
        assert await there(one.caller, table) == [True, last == CONNECTED]
        log = await two.caller.log(table)
        replay(log, game)


async def test_commands_do_not_lower_the_revision(serve: Serve) -> None:
    one, two = await serve(), await serve()
    table = await two_persons(one.caller)
    await two.caller.view(table)
    await report(one.caller, table, 7, bob=CLOSED)
    await two.caller.act(table, ANN, act.Roll())
    assert not (await report(two.caller, table, 6, bob=CONNECTED)).commits
    assert not (await report(one.caller, table, 7, bob=CONNECTED)).commits
    assert await there(one.caller, table) == [True, False]


async def test_people_without_a_seat(caller: Caller) -> None:
    table = await two_persons(caller)
    answer = await report(caller, table, 1, eve=CLOSED, mallory=CONNECTED)
    assert not answer.commits
    answer = await report(caller, table, 2, eve=CLOSED, ann=CLOSED)
    assert len(answer.commits) == 1
    assert await there(caller, table) == [False, True]


async def test_a_table_stands_still_while_nobody_is_there(caller: Caller, game: Game) -> None:
    table = await two_persons(caller)
    assert Paused not in kinds(await report(caller, table, 1, ann=CLOSED), game)
    assert Paused in kinds(await report(caller, table, 2, bob=BROKEN), game)
    assert (await caller.refused(table, ANN, act.Roll())).reason == "paused"
    (head,) = (await caller.call("Heads", pb.HeadsRequest(tables=[table]))).heads
    assert head.status == 3  # paused
    paused = replay(await caller.log(table), game)
    assert head.next_deadline.ToMilliseconds() == paused.last_move_ms + 3_600_000
    assert not (await caller.call("Wake", pb.WakeRequest(table=table))).commits
    answer = await report(caller, table, 3, bob=CONNECTED)
    assert Resumed in kinds(answer, game)
    resumed = replay(await caller.log(table), game)
    gone_ms = resumed.now_ms - paused.paused_ms
    assert resumed.deadline_ms == [at + gone_ms for at in paused.deadline_ms]
    # whoever is there is told their decision anew: what was listed while it stood still was nothing
    (told,) = (one for one in answer.prompts if one.person == BOB)
    prompt, actions = legal.from_prompt(legal_pb2.Prompt.FromString(told.prompt))
    assert (told.person, prompt.prompt, prompt.deadline_ms) == (BOB, resumed.prompt[1], resumed.deadline_ms[1])
    assert [action.do for action in actions] == ["roll"]
    await caller.act(table, ANN, act.Roll())


async def test_decisions_are_told_to_persons_alone(caller: Caller, ear: Ear, game: Game) -> None:
    table = await caller.open(ANN)
    await caller.act(table, BOB, act.Join("Bob"))
    await caller.act(table, ANN, act.AddBot())
    answer = await caller.act(table, ANN, act.Start())
    assert [prompt.person for prompt in answer.prompts] == [ANN, BOB]  # nobody asks a bot
    await eventually(lambda: ear.prompts[table])
    assert ear.prompts[table][0].version == answer.version
    assert list(ear.prompts[table][0].prompts) == list(answer.prompts)
    state = replay(await caller.log(table), game)
    for seat, told in enumerate(answer.prompts):
        prompt, actions = legal.from_prompt(legal_pb2.Prompt.FromString(told.prompt))
        assert (prompt.seat, prompt.prompt, prompt.deadline_ms) == (seat, state.prompt[seat], state.deadline_ms[seat])
        assert [action.do for action in actions] == ["roll"]
    # whoever is not there may have a stream already, before presence says so: they are told, too
    gone = await report(caller, table, 1, bob=CLOSED)
    assert [prompt.person for prompt in gone.prompts] == [BOB]
    # with nobody there it stands still, and there is nothing to answer
    assert not (await report(caller, table, 2, ann=BROKEN)).prompts
    asked = await caller.call("Legal", pb.LegalRequest(table=table, person=BOB))
    assert asked.prompt.prompt_id == state.prompt[1]


async def test_what_is_asked_of_somebody_before_presence_has_them_back_is_told_all_the_same(caller: Caller) -> None:
    table = await staged(caller, ("A", "B"))
    row = pb.PersonPresence(person="B", status=BROKEN)  # type: ignore[arg-type]
    await caller.call("Report", pb.ReportRequest(table=table, revision=1, persons=[row]))
    await caller.act(table, "A", act.Roll(), script=script((4, 6)))
    answer = await caller.act(table, "A", act.EndTurn())
    assert [told.person for told in answer.prompts] == ["B"]
    assert not (await caller.view(table)).seats[1].connected


async def test_only_the_answers_to_a_decision_are_listed_when_asked_so(caller: Caller, game: Game) -> None:
    waiting = await caller.open(ANN)
    asked = await caller.call("Legal", pb.LegalRequest(table=waiting, person=ANN, answers_only=True))
    assert (asked.prompt.prompt_id, list(asked.prompt.actions)) == (0, [])
    table = await two_persons(caller)
    for only, listed in ((True, {"roll"}), (False, {"roll", "leave", "propose_end"})):
        asked = await caller.call("Legal", pb.LegalRequest(table=table, person=BOB, answers_only=only))
        _, actions = legal.from_prompt(asked.prompt)
        assert {action.do for action in actions} == listed
