"""TUB-PRIVATE: a PIN to sit or to watch; TUB-VIEWERS: the host sends viewers away. Rows: every replica knows."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.ring import Game
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.game.v1 import table_pb2
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from omnipolyd.table.doors.pins import PLACES, PLACES_OF_A_PERSON, Hasher
from omnipolyd.table.doors.store import TRIES
from tests.services.table.calling import Caller, identity, replay, unique_id
from tests.services.table.conftest import Serve
from tests.services.table.hearing import Ear
from tests.services.table.operators import close
from tests.services.table.replicas import Replica
from tests.services.waiting import eventually

ANN, BOB, EVE, VIC = "guest:ann", "guest:bob", "guest:eve", "oidc:vic"
PIN, OTHER = "48151623", "4815"


@pytest.fixture
async def private(caller: Caller) -> str:
    """Ann's table, with a PIN."""
    return await caller.open(ANN, pin=PIN)


async def admit(caller: Caller, table: str, person: str, pin: str = "", *, admin: bool = False) -> Any:
    request = pb.AdmitRequest(
        table=table,
        identity=identity(person, admin=admin),
        purpose=pb.AdmitRequest.PURPOSE_FOLLOW,
        pin=pin,
    )
    return await caller.call("Admit", request)


async def refusal(answer: Any) -> Failure:
    with pytest.raises(Failure) as caught:
        await answer
    return caught.value


async def set_pin(caller: Caller, table: str, pin: str, person: str = ANN, command_id: str = "") -> Any:
    request = pb.SetPinRequest(table=table, identity=identity(person), command_id=command_id or unique_id(), pin=pin)
    return await caller.call("SetPin", request)


async def bar(caller: Caller, table: str, person: str, by: str = ANN, *, command_id: str = "", **more: Any) -> Any:
    admin = more.pop("admin", False)
    request = pb.BarViewerRequest(
        table=table, identity=identity(by, admin=admin), command_id=command_id or unique_id(), person=person, **more
    )
    return await caller.call("BarViewer", request)


async def recheck(caller: Caller, table: str, *persons: str) -> dict[str, str]:
    answer = await caller.call("Recheck", pb.RecheckRequest(table=table, persons=persons))
    found = {one.person: pb.TurnedAway.Reason.Name(one.reason).removeprefix("REASON_") for one in answer.turned_away}
    return found | dict.fromkeys(answer.viewers, "")


async def door(caller: Caller, table: str) -> int:
    (head,) = (await caller.call("Heads", pb.HeadsRequest(tables=[table]))).heads
    return int(head.door)


# --- the PIN ----------------------------------------------------------------------------------------------------------


async def test_a_private_table_asks_for_its_pin(caller: Caller, private: str, game: Game) -> None:
    assert (await caller.state(private, game)).options.private
    for pin, sentence in (("", "This table has a PIN."), ("4815", "That is not the PIN of this table.")):
        failure = await refusal(admit(caller, private, VIC, pin))
        assert (failure.status.name, failure.reason, failure.sentence) == ("PERMISSION_DENIED", "wrong_pin", sentence)
        assert (await caller.refused(private, BOB, act.Join("Bob"), pin=pin)).reason == "wrong_pin"
    assert (await admit(caller, private, VIC, PIN)).seat == -1
    await caller.act(private, BOB, act.Join("Bob"), pin=PIN)
    # who has a seat, the host, who was let in before, and an admin are asked for nothing
    for person in (ANN, BOB, VIC):
        await admit(caller, private, person)
    await admit(caller, private, "op", admin=True)


async def test_seats_of_bots_are_behind_the_door_too(caller: Caller, game: Game) -> None:
    table = await caller.open(ANN, pin=PIN, options={"viewers_take_bots": True})
    await caller.act(table, ANN, act.AddBot())
    await caller.act(table, ANN, act.Start())
    assert (await caller.refused(table, VIC, act.TakeSeat(1, "Vic"))).reason == "wrong_pin"
    await caller.act(table, VIC, act.TakeSeat(1, "Vic"), pin=PIN)
    assert (await caller.state(table, game)).holder == [ANN, VIC]


async def test_who_was_replaced_needs_no_pin_to_come_back(caller: Caller, game: Game) -> None:
    table = await caller.open(ANN, pin=PIN)
    await caller.act(table, BOB, act.Join("Bob"), pin=PIN)
    await caller.act(table, ANN, act.Start())
    rows = [pb.PersonPresence(person=BOB, status=pb.PersonPresence.STATUS_CLOSED)]
    await caller.call("Report", pb.ReportRequest(table=table, revision=1, persons=rows))
    await caller.act(table, ANN, act.ReplaceWithBot(1))
    await set_pin(caller, table, OTHER)  # nobody is remembered any more
    assert (await admit(caller, table, BOB)).seat == 1
    await caller.act(table, BOB, act.TakeSeat(1))
    assert (await caller.state(table, game)).holder == [ANN, BOB]


async def test_a_pin_is_set_changed_and_cleared(caller: Caller, game: Game) -> None:
    table = await caller.open(ANN)
    await admit(caller, table, VIC)
    before = await door(caller, table)
    answer = await set_pin(caller, table, PIN)
    assert (answer.version, len(answer.commits)) == (2, 1)
    assert (await caller.state(table, game)).options.private
    assert await door(caller, table) > before
    assert (await refusal(admit(caller, table, VIC))).reason == "wrong_pin"
    await admit(caller, table, VIC, PIN)
    await set_pin(caller, table, OTHER)
    assert (await refusal(admit(caller, table, VIC))).reason == "wrong_pin"
    assert (await refusal(admit(caller, table, VIC, PIN))).reason == "wrong_pin"
    await admit(caller, table, VIC, OTHER)
    # the same PIN anew is another one
    await set_pin(caller, table, OTHER)
    assert (await refusal(admit(caller, table, VIC))).reason == "wrong_pin"
    await set_pin(caller, table, "")
    await admit(caller, table, VIC)
    assert not (await caller.state(table, game)).options.private
    replay(await caller.log(table), game)


async def test_a_pin_is_set_while_the_game_runs(caller: Caller, game: Game) -> None:
    table = await caller.started(game)
    await set_pin(caller, table, PIN)
    assert (await refusal(admit(caller, table, VIC))).reason == "wrong_pin"
    assert (await caller.state(table, game)).options.private
    await close(caller, table)
    assert (await refusal(set_pin(caller, table, ""))).reason == "table_closed"
    assert (await refusal(admit(caller, table, VIC))).reason == "wrong_pin"


@pytest.mark.parametrize("pin", ["1", "123", "123456789", "12345a", "１２３４", " 1234", "1234\n"])
async def test_pins_that_cannot_be(caller: Caller, pin: str) -> None:
    table = await caller.open(ANN)
    assert (await refusal(set_pin(caller, table, pin))).reason == "bad_request"
    assert not await door(caller, table)


async def test_the_host_alone_sets_a_pin(caller: Caller) -> None:
    table = await caller.open(ANN)
    await caller.act(table, BOB, act.Join("Bob"))
    for pin in (PIN, ""):
        assert (await refusal(set_pin(caller, table, pin, BOB))).reason == "not_host"
    assert (await refusal(set_pin(caller, "nowhere", PIN))).reason == "unknown_table"
    assert not await door(caller, table)


async def test_a_pin_is_set_once_for_each_command(caller: Caller) -> None:
    table = await caller.open(ANN)
    first = await set_pin(caller, table, PIN, command_id="set")
    await set_pin(caller, table, OTHER)
    again = await set_pin(caller, table, PIN, command_id="set")
    assert (again.version, again.duplicate, again.commits) == (first.version, True, first.commits)
    await admit(caller, table, VIC, OTHER)
    for other in (OTHER, ""):
        assert (await refusal(set_pin(caller, table, other, command_id="set"))).reason == "key_reused"


async def test_opening_is_repeated_with_the_same_pin_alone(caller: Caller) -> None:
    asked = {"identity": identity(ANN), "command_id": unique_id(), "edition": "tubbypoly", "pin": PIN}
    first = await caller.call("Open", pb.OpenRequest(**asked))
    again = await caller.call("Open", pb.OpenRequest(**asked))
    assert (again.table, again.duplicate) == (first.table, True)
    for pin in (OTHER, ""):
        assert (await refusal(caller.call("Open", pb.OpenRequest(**{**asked, "pin": pin})))).reason == "key_reused"


async def test_a_join_that_was_accepted_is_answered_again(caller: Caller, private: str) -> None:
    first = await caller.act(private, BOB, act.Join("Bob"), pin=PIN, command_id="sit")
    await caller.act(private, BOB, act.Leave())
    await set_pin(caller, private, OTHER)
    again = await caller.act(private, BOB, act.Join("Bob"), pin=PIN, command_id="sit")
    assert (again.version, again.duplicate) == (first.version, True)


async def test_private_tables_are_in_no_open_list(caller: Caller, private: str) -> None:
    async def listed(**wanted: Any) -> bool:
        page = await caller.call("List", pb.ListRequest(page_size=100, **wanted))
        return private in [row.table for row in page.tables]

    assert not await listed(open_only=True)
    assert await listed(person=ANN)
    await set_pin(caller, private, "")
    assert await listed(open_only=True)
    await set_pin(caller, private, PIN)
    assert not await listed(open_only=True)


# --- tries ------------------------------------------------------------------------------------------------------------


async def test_tries_at_a_table_are_limited(caller: Caller, replica: Replica, private: str) -> None:
    """5 in 10 minutes by everybody together; who is right in time is not counted."""
    await admit(caller, private, VIC, PIN)
    for number in range(TRIES):
        assert (await refusal(admit(caller, private, f"oidc:{private}-{number}", OTHER))).reason == "wrong_pin"
    failure = await refusal(admit(caller, private, BOB, PIN))
    assert (failure.status.name, failure.reason) == ("RESOURCE_EXHAUSTED", "rate_limited")
    assert failure.retry_after_s is not None
    assert 500 < failure.retry_after_s <= 600
    assert (await caller.refused(private, BOB, act.Join("Bob"), pin=PIN)).reason == "rate_limited"
    # who is known is not kept out
    await admit(caller, private, VIC)
    # nor anybody at another table
    other = await caller.open(ANN, pin=PIN)
    await admit(caller, other, BOB, PIN)
    # the host has a way out: tries of an old PIN say nothing about a new one
    await set_pin(caller, private, OTHER)
    await admit(caller, private, BOB, OTHER)


async def test_tries_of_a_person_are_limited(caller: Caller, replica: Replica) -> None:
    """5 in 10 minutes, at whatever tables."""
    eve = f"guest:{unique_id()}"
    tables = [await caller.open(ANN, pin=PIN) for _ in range(TRIES + 1)]
    for table in tables[:TRIES]:
        assert (await refusal(admit(caller, table, eve, OTHER))).reason == "wrong_pin"
    for pin in (OTHER, PIN):
        assert (await refusal(admit(caller, tables[-1], eve, pin))).reason == "rate_limited"
    assert (await refusal(admit(caller, tables[-1], eve))).reason == "wrong_pin"  # no try
    await replica.sql("UPDATE pin_tries SET at = at - interval '601 s' WHERE person = $1", eve)
    await admit(caller, tables[-1], eve, PIN)
    assert not await replica.sql("SELECT FROM pin_tries WHERE person = $1", eve)  # what is old goes


async def test_many_tries_at_once_at_both(serve: Serve) -> None:
    """However they come, no more than five are looked at."""
    one, two = await serve(), await serve()
    table = await one.caller.open(ANN, pin="0007")
    answers = await asyncio.gather(
        *(
            refusal(admit((one, two)[number % 2].caller, table, f"oidc:{number}", f"{1000 + number}"))
            for number in range(20)
        )
    )
    reasons = [answer.reason for answer in answers]
    assert reasons.count("wrong_pin") == TRIES
    assert reasons.count("rate_limited") == 20 - TRIES
    (counted,) = await one.sql("SELECT count(*) AS n FROM pin_tries")
    assert counted["n"] == TRIES


async def test_many_who_know_it_at_once(serve: Serve) -> None:
    """Nobody is kept out because others are being looked at."""
    one, two = await serve(), await serve()
    table = await one.caller.open(ANN, pin=PIN)
    await asyncio.gather(*(admit((one, two)[number % 2].caller, table, f"oidc:{number}", PIN) for number in range(12)))
    assert not await one.sql("SELECT FROM pin_tries")
    (known,) = await one.sql("SELECT count(*) AS n FROM admissions")
    assert known["n"] == 12


async def test_doors_are_the_same_at_every_replica_and_after_a_restart(serve: Serve) -> None:
    one = await serve()
    table = await one.caller.open(ANN, pin=PIN)
    await admit(one.caller, table, VIC, PIN)
    await bar(one.caller, table, EVE)
    two = await serve()
    await admit(two.caller, table, VIC)
    assert (await refusal(admit(two.caller, table, BOB))).reason == "wrong_pin"
    assert (await refusal(admit(two.caller, table, EVE, PIN))).reason == "viewers_closed"


# --- what is kept of a PIN --------------------------------------------------------------------------------------------


async def test_a_pin_is_in_nothing_that_is_kept_told_or_logged(
    serve: Serve, ear: Ear, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither as it is nor as a hash that is quickly made."""
    with caplog.at_level(logging.DEBUG):
        one = await serve()
        table = await one.caller.open(ANN, pin=PIN)
        await set_pin(one.caller, table, "90210777")
        await one.caller.act(table, BOB, act.Join("Bob"), pin="90210777")
        said = [str(await refusal(admit(one.caller, table, VIC, "31337042"))), str(await one.caller.view(table))]
        said += [repr(await one.caller.log(table))]
    pins = (PIN, "90210777", "31337042")
    tables = await one.sql("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
    for row in tables:
        rows = await one.sql(f'SELECT t::text AS row FROM "{row["table_name"]}" t')  # noqa: S608 - our own names
        said += [kept["row"] for kept in rows]
    await eventually(lambda: ear.commits[table])
    said += [repr(payload) for payload in ear.all]
    said += [caplog.text, *capfd.readouterr()]
    for pin in pins:
        assert not any(pin in text or pin.encode().hex() in text for text in said)
    (kept,) = await one.sql("SELECT pin_salt, pin_hash FROM doors WHERE table_id = $1", table)
    assert (len(kept["pin_salt"]), len(kept["pin_hash"])) == (16, 32)


async def test_the_same_pin_twice_leaves_nothing_alike() -> None:
    hasher, until = Hasher(), asyncio.get_running_loop().time() + 60
    (one, kept), (two, again) = [await hasher.new(PIN, "a", ANN, until) for _ in range(2)]
    assert one.salt != two.salt
    assert one.hash != two.hash
    assert await hasher.fits(PIN, one)
    assert not await hasher.fits(OTHER, one)
    assert kept == again
    assert kept != (await hasher.new(PIN, "b", ANN, until))[1]
    assert kept != (await hasher.new(OTHER, "a", ANN, until))[1]


async def test_a_flood_of_new_pins_is_refused_and_keeps_nobody_waiting(caller: Caller, private: str) -> None:
    """Nobody's deadline passes for it: who comes beyond the places is refused at once, and nothing is done for them."""
    hosts = [f"oidc:{private}-{number}" for number in range(PLACES + 4)]
    tables = [await caller.open(host) for host in hosts]
    hosted = list(zip(tables, hosts, strict=True))
    flood = asyncio.gather(*(set_pin(caller, table, PIN, host) for table, host in 2 * hosted), return_exceptions=True)
    await admit(caller, private, VIC, PIN)  # waits for none of them
    assert not flood.done()
    answers = await flood
    refused = [answer for answer in answers if isinstance(answer, Failure)]
    assert {(one.status.name, one.reason) for one in refused} == {("RESOURCE_EXHAUSTED", "unavailable")}
    assert all(one.retry_after_s for one in refused)
    assert PLACES <= len(answers) - len(refused) < len(answers)
    await set_pin(caller, tables[-1], PIN, hosts[-1])
    assert (await refusal(admit(caller, tables[-1], VIC))).reason == "wrong_pin"


async def test_one_person_has_few_new_pins_waiting(caller: Caller) -> None:
    table = await caller.open(ANN)
    answers = await asyncio.gather(*(set_pin(caller, table, PIN) for _ in range(10)), return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, Failure)]
    assert {(one.status.name, one.reason) for one in refused} == {("RESOURCE_EXHAUSTED", "rate_limited")}
    assert len(answers) - len(refused) >= PLACES_OF_A_PERSON
    await set_pin(caller, table, PIN)


async def test_nothing_is_hashed_for_who_has_given_up() -> None:
    hasher = Hasher()
    with pytest.raises(Failure) as caught:
        await hasher.new(PIN, "a", ANN, asyncio.get_running_loop().time())
    assert caught.value.status.name == "DEADLINE_EXCEEDED"
    for _ in range(PLACES):  # nor is their place kept
        with hasher.trying(ANN), hasher.trying(ANN), pytest.raises(Failure) as caught, hasher.trying(ANN):
            pass
        assert caught.value.reason == "rate_limited"


# --- viewers who are sent away ----------------------------------------------------------------------------------------


async def test_a_viewer_is_sent_away_and_let_back(caller: Caller, ear: Ear) -> None:
    table = await caller.open(ANN)
    assert (await bar(caller, table, VIC)).barred == 1
    failure = await refusal(admit(caller, table, VIC))
    assert (failure.status.name, failure.reason) == ("PERMISSION_DENIED", "viewers_closed")
    assert failure.sentence == "The host has sent you away from this table."
    assert (await caller.refused(table, VIC, act.Join("Vic"))).reason == "viewers_closed"
    assert (await bar(caller, table, EVE)).barred == 2
    assert (await bar(caller, table, EVE)).barred == 2
    assert (await bar(caller, table, VIC, lift=True)).barred == 1
    await admit(caller, table, VIC)
    await caller.act(table, VIC, act.Join("Vic"))
    # no part of the game
    assert (await caller.view(table)).version == 2


async def test_who_sends_whom_away(caller: Caller) -> None:
    table = await caller.open(ANN)
    await caller.act(table, BOB, act.Join("Bob"))
    assert (await refusal(bar(caller, table, VIC, BOB))).reason == "not_host"
    assert (await refusal(bar(caller, table, VIC, VIC, lift=True))).reason == "not_host"
    for player in (ANN, BOB):
        assert (await refusal(bar(caller, table, player))).reason == "bad_partner"
    assert (await bar(caller, table, VIC, "op", admin=True)).barred == 1
    assert (await refusal(bar(caller, "nowhere", VIC))).reason == "unknown_table"
    assert (await refusal(bar(caller, table, "a b"))).reason == "bad_request"


async def test_a_viewer_is_sent_away_once_for_each_command(caller: Caller) -> None:
    table = await caller.open(ANN)
    await bar(caller, table, VIC, command_id="away")
    await bar(caller, table, VIC, lift=True)
    assert (await bar(caller, table, VIC, command_id="away")).barred == 1  # the first answer again
    await admit(caller, table, VIC)
    assert (await refusal(bar(caller, table, EVE, command_id="away"))).reason == "key_reused"


async def test_who_has_to_go(caller: Caller) -> None:
    table = await caller.open(ANN)
    await caller.act(table, BOB, act.Join("Bob"))
    assert await recheck(caller, table, ANN, BOB, VIC, EVE) == {VIC: "", EVE: ""}
    await bar(caller, table, EVE)
    assert await recheck(caller, table, ANN, BOB, VIC, EVE) == {VIC: "", EVE: "BARRED"}
    await set_pin(caller, table, PIN)
    assert await recheck(caller, table, ANN, BOB, VIC, EVE) == {VIC: "PRIVATE", EVE: "BARRED"}
    await admit(caller, table, VIC, PIN)
    assert await recheck(caller, table, VIC, EVE) == {VIC: "", EVE: "BARRED"}
    for persons in ((), ("a b",), tuple(f"oidc:{number}" for number in range(2001))):
        assert (await refusal(recheck(caller, table, *persons))).reason == "bad_request"


async def test_every_move_of_a_door_is_told(caller: Caller, ear: Ear) -> None:
    told: list[int] = []

    async def hear(message: Any) -> None:
        told.append(pb.DoorMoved.FromString(message.data).door)

    table = await caller.open(ANN)
    await ear.bus.subscribe(f"omnipoly.doors.{table}", hear)
    await ear.bus.flush()
    await set_pin(caller, table, PIN)
    await bar(caller, table, VIC)
    await eventually(lambda: told == [1, 2])
    assert await door(caller, table) == 2
    # who gets up is no player any more
    await caller.act(table, BOB, act.Join("Bob"), pin=PIN)
    await caller.act(table, BOB, act.Leave())
    assert await door(caller, table) == 3
    assert await recheck(caller, table, BOB) == {BOB: ""}


# --- tables that never start ------------------------------------------------------------------------------------------


async def test_a_table_that_never_starts_is_shown_and_listed_no_more(caller: Caller, replica: Replica) -> None:
    host = f"guest:{unique_id()}"
    tables = [await caller.open(host, dev=True) for _ in range(2)]
    await caller.act(tables[1], BOB, act.Join("Bob"))
    await caller.act(tables[1], host, act.Start())
    for table in tables:
        request = pb.AdvanceRequest(table=table, identity=identity("op"), command_id=unique_id())
        request.by.FromSeconds(3600)
        await caller.call("Advance", request)
    shown = await caller.view(tables[0])
    assert shown.ended
    for wanted in ({"person": host}, {"host": host}, {"host": host, "status": table_pb2.TABLE_STATUS_OVER}):
        page = await caller.call("List", pb.ListRequest(**wanted))
        assert tables[0] not in [row.table for row in page.tables]
    (row,) = await replica.sql("SELECT status FROM heads WHERE table_id = $1", tables[0])
    assert row["status"] == table_pb2.TABLE_STATUS_OVER
