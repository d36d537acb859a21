"""Operators at the table service: who may call what, what it does, and the log of all of it."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.ring import Game
from omnipoly.rules.state import Out
from omnipoly.runtime import roles
from omnipoly.runtime.failures import Failure
from omnipoly.wire import actions, views
from omnipoly.wire.gen.game.v1 import table_pb2
from omnipoly.wire.gen.table.v1 import accounts_pb2, admin_pb2
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from tests.services.table.calling import Caller, identity, replay, unique_id
from tests.services.table.conftest import Serve
from tests.services.table.operators import admin, balance, close, freeze, grant, paid_table
from tests.services.table.playing import Picture, play
from tests.services.table.replicas import Replica
from tests.services.table.staging import advance, script, staged

ANN, BOB = "guest:ann", "guest:bob"


async def refused(asked: Any) -> Failure:
    with pytest.raises(Failure) as caught:
        await asked
    return caught.value


async def person(caller: Caller, subject: str) -> str:
    """Somebody whom an issuer has vouched for."""
    request = accounts_pb2.UpsertPersonRequest(issuer="https://issuer.example", subject=subject, name="Somebody")
    body = await caller.link.call(
        "/omnipoly.table.v1.AccountService/UpsertPerson", request.SerializeToString(), timeout_s=20
    )
    return str(accounts_pb2.UpsertPersonResponse.FromString(body).person.person)


async def audit(caller: Caller, **asked: Any) -> list[Any]:
    """Lines of the audit log but those of looking into it, the latest first."""
    found: list[Any] = []
    token = ""
    while True:
        page = await admin(caller, "ListAudit", page_token=token, **asked)
        found += page.entries
        token = page.next_page_token
        if not token:
            return [row for row in found if row.what != "ListAudit"]


# --- who may call what ------------------------------------------------------------------------------------------------

ADMIN, MODERATOR, READ_ONLY = "admin", "moderator", "read_only"
MAY: dict[str, tuple[str, ...]] = {
    "InspectTable": (ADMIN, MODERATOR, READ_ONLY),
    "ExportTable": (ADMIN, MODERATOR, READ_ONLY),
    "GetPerson": (ADMIN, MODERATOR, READ_ONLY),
    "ListAudit": (ADMIN, MODERATOR, READ_ONLY),
    "FreezeTable": (ADMIN, MODERATOR),
    "Ban": (ADMIN, MODERATOR),
    "CloseTable": (ADMIN,),
    "ReloadTable": (ADMIN,),
    "RemovePlayer": (ADMIN,),
    "Grant": (ADMIN,),
    "SetRoles": (ADMIN,),
}
METHODS = {
    "InspectTable": "Inspect",
    "ExportTable": "ExportTable",
    "GetPerson": "InspectPerson",
    "ListAudit": "ListAudit",
    "FreezeTable": "Freeze",
    "Ban": "BanPerson",
    "CloseTable": "Close",
    "ReloadTable": "Reload",
    "RemovePlayer": "RemovePlayer",
    "Grant": "Grant",
    "SetRoles": "GiveRoles",
}
"""The table service's methods, by those of the public face."""


def test_the_table_of_roles_is_the_one_here() -> None:
    assert {what: set(may) for what, may in MAY.items()} == roles.MAY
    methods = admin_pb2.DESCRIPTOR.services_by_name["AdminService"].methods
    assert {method.name for method in methods} == set(METHODS.values())


@pytest.mark.parametrize("has", [(ADMIN,), (MODERATOR,), (READ_ONLY,), (), ("bots",), (MODERATOR, READ_ONLY)])
@pytest.mark.parametrize("what", MAY)
async def test_each_call_by_each_role(caller: Caller, unique: str, what: str, has: tuple[str, ...]) -> None:
    """Cell by cell; and each stands in the audit log with its outcome, the refused ones, too."""
    by, who = f"oidc:op-{unique}", await person(caller, unique)
    table = await caller.open(f"guest:{unique}")
    await caller.act(table, f"guest:{unique}", act.AddBot())
    command_id = unique_id()
    given: dict[str, dict[str, Any]] = {
        "InspectTable": {"table": table},
        "ExportTable": {"table": table},
        "GetPerson": {"person": who},
        "ListAudit": {"table": table},
        "FreezeTable": {"table": table, "command_id": command_id, "reason": "a look"},
        "Ban": {"ban": {"person": who, "request_id": command_id, "reason": "a quarrel"}},
        "CloseTable": {"table": table, "command_id": command_id, "reason": "late"},
        "ReloadTable": {"table": table, "command_id": command_id, "reason": "odd"},
        "RemovePlayer": {"table": table, "command_id": command_id, "seat": 1, "reason": "asleep"},
        "Grant": {"person": who, "request_id": command_id, "amount": 5, "note": "a present"},
        "SetRoles": {"roles": {"person": who, "request_id": command_id, "roles": ["read_only"]}, "reason": "new here"},
    }
    asked = admin(caller, METHODS[what], as_roles=has, as_who=by, **given[what])
    before = (await caller.view(table)).SerializeToString()
    if set(has) & set(MAY[what]):
        await asked
        outcome = "ok"
    else:
        said = await refused(asked)
        assert (said.status.name, said.reason) == ("PERMISSION_DENIED", "not_admin")
        assert (await caller.view(table)).SerializeToString() == before
        outcome = "not_admin"
    (row,) = (await admin(caller, "ListAudit", by=by)).entries  # by somebody else, and so not of itself
    assert (row.by, row.what, list(row.roles), row.outcome) == (by, what, sorted(has), outcome)
    about_person = what in ("GetPerson", "Ban", "Grant", "SetRoles")
    assert (row.table, row.person) == (("", who) if about_person else (table, ""))
    assert row.request_id == ("" if what in ("InspectTable", "ExportTable", "GetPerson", "ListAudit") else command_id)
    why = {"FreezeTable": "a look", "Ban": "ban: a quarrel", "CloseTable": "late", "ReloadTable": "odd"}
    why |= {"RemovePlayer": "seat 1: asleep", "Grant": "+5: a present", "SetRoles": "read_only: new here"}
    assert row.note == why.get(what, "")
    assert row.number > 0
    assert row.HasField("at")


async def test_a_moderator_bans_nobody_who_runs_the_site(caller: Caller, unique: str) -> None:
    who = await person(caller, unique)
    await admin(caller, "GiveRoles", roles={"person": who, "request_id": "r", "roles": ["read_only"]})
    ban = {"person": who, "request_id": unique_id()}
    said = await refused(admin(caller, "BanPerson", as_roles=("moderator",), ban=ban))
    assert said.reason == "not_admin"
    assert not (await admin(caller, "InspectPerson", person=who)).person.HasField("banned_until")
    await admin(caller, "BanPerson", ban=ban)
    assert (await admin(caller, "InspectPerson", person=who)).person.HasField("banned_until")
    await admin(caller, "BanPerson", ban={**ban, "request_id": unique_id(), "lift": True})
    assert not (await admin(caller, "InspectPerson", person=who)).person.HasField("banned_until")


# --- the audit log ----------------------------------------------------------------------------------------------------


async def test_a_call_that_cannot_be_written_down_is_not_carried_out(serve: Serve, game: Game) -> None:
    replica = await serve()
    caller = replica.caller
    table = await caller.started(game)
    await replica.sql("ALTER TABLE audit ADD CONSTRAINT no_closing CHECK (what <> 'CloseTable')")
    assert (await refused(close(caller, table))).reason == "internal"
    assert not (await caller.view(table)).ended
    assert await audit(caller) == []


async def test_what_is_written_stays(replica: Replica, caller: Caller) -> None:
    table = await caller.open(ANN)
    await admin(caller, "Inspect", table=table)
    async with replica.app.database.acquire() as connection:
        for text in (
            "UPDATE audit SET outcome = 'other' WHERE table_id = $1",
            "UPDATE audit SET by = 'somebody else' WHERE table_id = $1",
            "DELETE FROM audit WHERE table_id = $1",
        ):
            with pytest.raises(asyncpg.RestrictViolationError):
                await connection.execute(text, table)


async def test_it_is_read_by_table_person_and_operator_in_pages(caller: Caller, unique: str) -> None:
    tables = [await caller.open(f"guest:{unique}") for _ in range(2)]
    operators = [f"oidc:op{number}-{unique}" for number in range(2)]
    for number in range(7):
        await admin(caller, "Inspect", table=tables[number % 2], as_who=operators[number % 3 == 0])
    await refused(admin(caller, "Inspect", table="nowhere", as_who=operators[0]))
    assert [(row.table, row.by) for row in await audit(caller, table=tables[0])] == [
        (tables[0], operators[number % 3 == 0]) for number in (6, 4, 2, 0)
    ]
    both = await audit(caller, table=tables[0])
    for size in (1, 2, 3):
        token, found = "", []
        while True:
            page = await admin(caller, "ListAudit", table=tables[0], page_size=size, page_token=token)
            found += [row for row in page.entries if row.what != "ListAudit"]
            token = page.next_page_token
            if not token:
                break
        assert found == both
    rows = await audit(caller, by=operators[0])
    assert [(row.table, row.outcome) for row in rows] == [
        ("nowhere", "unknown_table"),
        *((tables[number % 2], "ok") for number in (5, 4, 2, 1)),
    ]


# --- looking ----------------------------------------------------------------------------------------------------------


async def test_a_table_is_inspected(serve: Serve, game: Game) -> None:
    replica = await serve(snapshot_every=5)
    caller = replica.caller
    table = await caller.started(game)
    picture = await Picture.take(caller, table, game)
    await play([caller], picture, most=9)
    await replica.tables.drained()
    replica.forget(table)
    cold = await admin(caller, "Inspect", table=table)
    assert (cold.in_memory, cold.queue, cold.broken, list(cold.violations)) == (False, 0, "", [])
    warm = await admin(caller, "Inspect", table=table)
    assert (warm.in_memory, warm.replica) == (True, replica.app.instance)
    assert (warm.head.version, warm.commits) == (picture.version, picture.version)
    assert 0 < warm.snapshot_version <= picture.version
    assert warm.head.status == table_pb2.TABLE_STATUS_PLAYING
    assert views.from_view(warm.view, game) == picture.state
    s = replica.memory(table).state
    assert s is not None
    s.cash[0] += 1
    violations = (await admin(caller, "Inspect", table=table)).violations
    assert len(violations) == 1
    assert violations[0].startswith("money")
    s.cash[0] -= 1
    assert (await refused(admin(caller, "Inspect", table="nowhere"))).reason == "unknown_table"


async def test_a_game_is_exported_while_it_runs(caller: Caller, game: Game) -> None:
    table = await caller.started(game)
    await play([caller], await Picture.take(caller, table, game), most=5)
    log, token = [], ""
    while True:
        page = await admin(caller, "ExportTable", table=table, page_size=3, page_token=token)
        assert bool(page.edition_text) == (not token)
        log += page.commits
        token = page.next_page_token
        if not token:
            break
    assert log == await caller.log(table)


# --- frozen -----------------------------------------------------------------------------------------------------------


async def test_a_frozen_table_takes_no_commands_and_its_clocks_stand_still(caller: Caller, game: Game) -> None:
    table = await staged(caller)
    await advance(caller, table, 30)
    answer = await freeze(caller, table)
    assert (answer.status, len(answer.commits)) == (table_pb2.TABLE_STATUS_FROZEN, 1)
    again = await freeze(caller, table)
    assert (again.status, again.version, list(again.commits)) == (answer.status, answer.version, [])
    for action in (act.Roll(), act.Leave(), act.Join("Zoe"), act.SetOptions(viewers_chat=True)):
        assert (await caller.refused(table, "A", action)).reason == "paused"
    (head,) = (await caller.call("Heads", pb.HeadsRequest(tables=[table]))).heads
    assert (head.status, head.HasField("next_deadline")) == (table_pb2.TABLE_STATUS_FROZEN, False)
    listed = (await caller.call("List", pb.ListRequest(status=table_pb2.TABLE_STATUS_FROZEN))).tables
    assert table in {one.table for one in listed}
    legal = await caller.call("Legal", pb.LegalRequest(table=table, person="A"))
    assert list(legal.prompt.actions) == []
    await advance(caller, table, 2 * 3600)
    assert (await caller.call("Wake", pb.WakeRequest(table=table))).HasField("next_deadline") is False
    thawed = await freeze(caller, table, thaw=True)
    assert thawed.status == table_pb2.TABLE_STATUS_PLAYING
    s = await caller.state(table, game)
    assert (s.deadline_ms[0] - s.now_ms, s.away) == (15_000, [0, 0, 0])
    await advance(caller, table, 14)
    await caller.act(table, "A", act.Roll(), script=script((4, 6)))


async def test_it_is_frozen_for_every_replica_and_after_a_restart(serve: Serve, game: Game) -> None:
    one, two = await serve(), await serve()
    table = await one.caller.started(game)
    await two.caller.view(table)
    await freeze(one.caller, table)
    assert (await two.caller.refused(table, ANN, act.Roll())).reason == "paused"
    three = await serve()
    assert (await three.caller.refused(table, ANN, act.Roll())).reason == "paused"
    await freeze(two.caller, table, thaw=True)
    await three.caller.act(table, ANN, act.Roll())
    assert replay(await one.caller.log(table), game) == await two.caller.state(table, game)


async def test_who_comes_and_goes_is_known_and_its_opener_is_charged_for_it(serve: Serve, game: Game) -> None:
    caller = (await serve(open_tables=1)).caller
    table = await caller.started(game)
    await freeze(caller, table)
    report = pb.ReportRequest(table=table, revision=1, persons=[pb.PersonPresence(person=ANN, status=2)])
    await caller.call("Report", report)
    assert not (await caller.state(table, game)).connected[0]
    assert (await refused(caller.open(ANN))).reason == "too_many_tables"
    assert (await freeze(caller, table, thaw=True)).status == table_pb2.TABLE_STATUS_PAUSED


async def test_a_frozen_table_can_be_closed_and_an_ended_one_not_frozen(caller: Caller, game: Game) -> None:
    table = await caller.started(game)
    await freeze(caller, table)
    await close(caller, table)
    assert (await refused(freeze(caller, table))).reason == "game_over"


# --- closed, removed --------------------------------------------------------------------------------------------------


async def test_closing_is_a_command_like_any_other(caller: Caller, game: Game) -> None:
    """TUB-CLOSE: once by its id, the first answer again, and a reason is no part of what is asked."""
    table = await caller.started(game)
    first = await close(caller, table, command_id="close-it", reason="late")
    again = await close(caller, table, command_id="close-it", reason="later")
    assert (first.duplicate, again.duplicate) == (False, True)
    assert list(first.commits) == list(again.commits) == [(await caller.log(table))[-1]]
    s = await caller.state(table, game)
    assert (s.ended, len(s.places)) == ("closed", 4)
    assert (await refused(close(caller, table))).reason == "table_closed"
    assert [(row.note, row.outcome) for row in await audit(caller, table=table)] == [
        ("", "table_closed"),
        ("later", "ok"),
        ("late", "ok"),
    ]


async def test_an_admin_removes_anybody_whoever_is_there(caller: Caller, game: Game) -> None:
    """TUB-REMOVE: also who is there, the host included; before the start the seat is free again."""
    table = await caller.open(ANN)
    await caller.act(table, BOB, act.Join("Bob"))
    await admin(caller, "RemovePlayer", table=table, command_id=unique_id(), seat=1)
    assert (await caller.state(table, game)).holder == [ANN]
    for _ in range(2):
        await caller.act(table, ANN, act.AddBot())
    await caller.act(table, ANN, act.Start())
    answer = await admin(caller, "RemovePlayer", table=table, command_id=unique_id(), seat=0)
    s = await caller.state(table, game)
    assert (s.out[0], s.host, answer.version) == (Out.REMOVED, "", len(await caller.log(table)))
    wrong = admin(caller, "RemovePlayer", table=table, command_id=unique_id(), seat=9)
    assert (await refused(wrong)).reason == "bad_partner"


async def test_a_paid_seat_that_is_removed_leaves_its_fee(caller: Caller, unique: str) -> None:
    """RUG-WIN, TUB-REMOVE: removed is out like somebody who left."""
    persons = (f"oidc:a-{unique}", f"oidc:b-{unique}")
    for one in persons:
        await grant(caller, one, 10)
    table = await paid_table(caller, persons, 10)
    await admin(caller, "RemovePlayer", table=table, command_id=unique_id(), seat=0)
    assert [await balance(caller, one) for one in persons] == [0, 20]


async def test_an_admins_powers_are_in_no_other_call(caller: Caller, table_of_two: str) -> None:
    """As a player an admin is a player: nothing goes round the audit log."""
    for action, code in ((act.CloseTable(), "not_admin"), (act.Remove(1), "not_host")):
        request = pb.ActRequest(
            table=table_of_two,
            identity=identity("oidc:op", admin=True),
            action=actions.to_proto(action),
            command_id=unique_id(),
        )
        assert (await refused(caller.call("Act", request))).reason == code


@pytest.fixture
async def table_of_two(caller: Caller) -> str:
    table = await caller.open(ANN)
    await caller.act(table, BOB, act.Join("Bob"))
    return table


# --- out of order -----------------------------------------------------------------------------------------------------


async def test_a_table_is_taken_back_into_play_when_its_log_can_be_read(serve: Serve, game: Game) -> None:
    replica = await serve()
    caller = replica.caller
    table = await caller.started(game)
    good = (await replica.sql("SELECT body FROM commits WHERE table_id = $1 AND version = 2", table))[0]["body"]
    spoil = "UPDATE commits SET body = $2 WHERE table_id = $1 AND version = 2"
    await replica.sql(spoil, table, b"\xff")
    # in memory it is whole: only a load finds it
    answer = await admin(caller, "Reload", table=table, command_id=unique_id())
    assert (answer.status, answer.version) == (table_pb2.TABLE_STATUS_BROKEN, len(await caller.log(table)))
    assert "no commit" in answer.broken
    assert (await caller.refused(table, ANN, act.Roll())).reason == "table_broken"
    (listed,) = (await caller.call("List", pb.ListRequest(status=table_pb2.TABLE_STATUS_BROKEN))).tables
    assert (listed.table, listed.status) == (table, table_pb2.TABLE_STATUS_BROKEN)
    inspected = await admin(caller, "Inspect", table=table)
    assert (inspected.head.status, inspected.HasField("view")) == (table_pb2.TABLE_STATUS_BROKEN, False)
    assert inspected.broken == answer.broken
    await replica.sql(spoil, table, good)
    assert (await caller.refused(table, ANN, act.Roll())).reason == "table_broken"
    answer = await admin(caller, "Reload", table=table, command_id=unique_id())
    assert (answer.status, answer.broken) == (table_pb2.TABLE_STATUS_PLAYING, "")
    assert not (await caller.call("List", pb.ListRequest(status=table_pb2.TABLE_STATUS_BROKEN))).tables
    (head,) = (await caller.call("Heads", pb.HeadsRequest(tables=[table]))).heads
    assert head.status == table_pb2.TABLE_STATUS_PLAYING
    await caller.act(table, ANN, act.Roll())


@pytest.mark.parametrize(
    ("method", "given"),
    [
        ("Inspect", {"table": "A"}),
        ("Close", {"table": "t", "command_id": ""}),
        ("Close", {"table": "t", "command_id": "c", "reason": 301 * "x"}),
        ("Close", {"table": "t", "command_id": "c", "reason": "two\nlines"}),
        ("Freeze", {"table": "t", "command_id": "a b"}),
        ("RemovePlayer", {"table": "", "command_id": "c"}),
        ("Grant", {"person": "", "request_id": "r", "amount": 1}),
        ("Grant", {"person": "p", "request_id": "r", "amount": 1, "note": 201 * "x"}),
        ("BanPerson", {"ban": {"person": "p", "request_id": "r", "until": {"seconds": 2**62}}}),
        ("BanPerson", {"ban": {"person": "p", "request_id": "r", "until": {"seconds": 4 * 10**9, "nanos": -1}}}),
        ("GiveRoles", {"roles": {"person": "p", "request_id": "r", "roles": ["read\0only"]}}),
        ("GiveRoles", {"roles": {"person": "p", "request_id": "r", "roles": ["a b"]}}),
        ("ListAudit", {"page_size": 201}),
        ("ListAudit", {"page_token": "nonsense"}),
        ("InspectPerson", {"person": "a b"}),
    ],
)
async def test_what_is_malformed(caller: Caller, method: str, given: dict[str, Any]) -> None:
    said = await refused(admin(caller, method, **given))
    assert (said.status.name, said.reason) == ("INVALID_ARGUMENT", "bad_request")


@pytest.mark.parametrize("who", ["", "bot:1", "admin:x", 59 * "x"])
async def test_who_can_be_no_operator(caller: Caller, who: str) -> None:
    said = await refused(admin(caller, "Inspect", table="t", as_who=who))
    assert (said.status.name, said.reason) == ("INVALID_ARGUMENT", "bad_request")
