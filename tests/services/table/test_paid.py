"""RUG-WIN: fees held at the start, the pool to the last one standing, refunds; all of it once, whatever breaks."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.ring import Game
from omnipoly.runtime.failures import Failure
from omnipoly.wire import actions
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from omnipolyd.table.ledger import store
from omnipolyd.table.ledger.checking import WRONG, Books
from omnipolyd.table.ledger.store import LedgerStore, shares
from tests.services.proxy import Cut, Proxy
from tests.services.table.calling import Caller, unique_id
from tests.services.table.conftest import Serve
from tests.services.table.operators import (
    admin,
    ask,
    balance,
    close,
    grant,
    ledger,
    paid_table,
    play,
    somebody,
)
from tests.services.table.replicas import Replica
from tests.services.table.staging import advance
from tests.services.waiting import eventually

Persons = tuple[str, ...]


@pytest.fixture
async def persons(caller: Caller, unique: str) -> Persons:
    """Three with 100 credits each."""
    found = tuple(f"oidc:{name}-{unique}" for name in ("ann", "bob", "cid"))
    for person in found:
        await grant(caller, person, 100)
    return found


async def balances(caller: Caller, persons: Persons) -> list[int]:
    return [await balance(caller, person) for person in persons]


async def refused(asked: object) -> Failure:
    with pytest.raises(Failure) as caught:
        await asked  # type: ignore[misc]
    return caught.value


# --- the way of a game ------------------------------------------------------------------------------------------------


async def test_the_last_one_standing_gets_the_pool(caller: Caller, persons: Persons) -> None:
    """RUG-WIN: who leaves leaves their fee."""
    ann, bob, cid = persons
    table = await paid_table(caller, persons, 30, start=False)
    assert await balances(caller, persons) == [100, 100, 100]
    await play(caller, table, ann, act.Start())
    assert await balances(caller, persons) == [70, 70, 70]
    await play(caller, table, bob, act.Leave())
    assert await balances(caller, persons) == [70, 70, 70]
    await play(caller, table, ann, act.Leave())
    assert await balances(caller, persons) == [70, 70, 160]
    lines = await ledger(caller, cid)
    assert [(line.reason, line.amount, line.balance, line.table) for line in lines] == [
        (store.PRIZE, 90, 160, table),
        (store.ENTRY_FEE, -30, 70, table),
        (store.GRANT, 100, 100, ""),
    ]


async def test_what_was_taken_is_given_back_when_an_admin_closes_it(caller: Caller, persons: Persons) -> None:
    """RUG-WIN, TUB-CLOSE: every fee, also that of somebody who had left: nobody has won."""
    table = await paid_table(caller, persons, 30)
    await play(caller, table, persons[1], act.Leave())
    await close(caller, table)
    assert await balances(caller, persons) == [100, 100, 100]
    assert [line.reason for line in await ledger(caller, persons[1])] == [store.REFUND, store.ENTRY_FEE, store.GRANT]


async def test_and_by_the_hour(caller: Caller, persons: Persons) -> None:
    """RUG-WIN, TUB-PAUSE: nobody is there, the table stands still, an hour passes."""
    table = await paid_table(caller, persons, 30, dev=True)
    report = pb.ReportRequest(table=table, revision=1, persons=[pb.PersonPresence(person=p, status=2) for p in persons])
    await caller.call("Report", report)
    assert await balances(caller, persons) == [70, 70, 70]
    await advance(caller, table, 3600)
    assert (await caller.view(table)).ended
    assert await balances(caller, persons) == [100, 100, 100]


@pytest.mark.parametrize("how", ["closed", "abandoned"])
async def test_of_a_match_that_never_starts_nothing_was_taken(caller: Caller, persons: Persons, how: str) -> None:
    table = await paid_table(caller, persons, 30, start=False, dev=True)
    await (close(caller, table) if how == "closed" else advance(caller, table, 3600))
    assert (await caller.view(table)).ended
    assert await balances(caller, persons) == [100, 100, 100]
    assert [len(await ledger(caller, person)) for person in persons] == [1, 1, 1]


async def test_who_lacks_credits_is_named_and_nobody_pays(caller: Caller, persons: Persons) -> None:
    """Start is refused; the same command goes through once everybody has them."""
    ann, bob, cid = persons
    for person in (bob, cid):
        await grant(caller, person, -80)
    table = await paid_table(caller, persons, 30, start=False)
    said = await refused(play(caller, table, ann, act.Start(), command_id="start-when-all-can"))
    assert (said.status.name, said.reason) == ("FAILED_PRECONDITION", "insufficient_credits")
    assert "Bob" in said.sentence
    assert "Cid" in said.sentence
    assert "Ann" not in said.sentence
    assert await balances(caller, persons) == [100, 20, 20]
    assert not (await caller.view(table)).in_play
    await grant(caller, bob, 10)
    await play(caller, table, cid, act.Leave())
    await play(caller, table, ann, act.Start(), command_id="start-when-all-can")
    assert await balances(caller, persons) == [70, 0, 20]


async def test_two_games_want_the_same_credits(caller: Caller, persons: Persons) -> None:
    """No way below zero: of two that start at once one is refused."""
    tables = [await paid_table(caller, persons, 60, start=False) for _ in range(4)]
    asked = (play(caller, table, persons[0], act.Start()) for table in tables)
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert sorted(one.reason for one in found if isinstance(one, Failure)) == 3 * ["insufficient_credits"]
    assert await balances(caller, persons) == [40, 40, 40]


async def test_guests_do_not_play_for_credits(caller: Caller, persons: Persons, unique: str) -> None:
    """They have no wallet: neither opened by one, nor sat down at, nor started with one."""
    guest = f"guest:{unique}"
    options = actions.to_proto(act.SetOptions(entry_fee=5)).set_options
    request = pb.OpenRequest(identity=somebody(guest), command_id=unique_id(), edition="rugpull", options=options)
    assert (await refused(ask(caller, "TableService", "Open", request))).reason == "sign_in_required"
    table = await paid_table(caller, persons, 5, start=False)
    assert (await refused(play(caller, table, guest, act.Join("Guest")))).reason == "sign_in_required"
    await play(caller, table, persons[0], act.SetOptions(entry_fee=0))
    await play(caller, table, guest, act.Join("Guest"))
    await play(caller, table, persons[0], act.SetOptions(entry_fee=5))
    said = await refused(play(caller, table, persons[0], act.Start()))
    assert said.reason == "sign_in_required"
    assert said.sentence.endswith("Guest.")
    await play(caller, table, persons[0], act.Remove(3))
    await play(caller, table, persons[0], act.Start())
    assert await balances(caller, persons) == [95, 95, 95]


def test_winners_who_are_equal_share() -> None:
    assert shares(100, 1) == [100]
    assert shares(100, 3) == [34, 33, 33]
    assert shares(0, 2) == [0, 0]
    assert shares(100, 0) == []


# --- grants and wallets -----------------------------------------------------------------------------------------------


async def test_a_grant_is_given_once(caller: Caller, persons: Persons) -> None:
    ann = persons[0]
    request_id = unique_id()
    first, *again = await asyncio.gather(
        *(grant(caller, ann, 7, request_id=request_id, note="a present") for _ in range(4))
    )
    assert await balance(caller, ann) == 107
    assert sorted([first.duplicate, *(one.duplicate for one in again)]) == [False, True, True, True]
    assert {one.entry.SerializeToString() for one in (first, *again)} == {first.entry.SerializeToString()}
    assert (first.entry.amount, first.entry.balance, first.entry.note) == (7, 107, "a present")
    assert (await refused(grant(caller, ann, 8, request_id=request_id, note="a present"))).reason == "key_reused"
    assert (await refused(grant(caller, ann, -108))).reason == "insufficient_credits"
    assert (await grant(caller, ann, -107)).entry.balance == 0


@pytest.mark.parametrize("amount", [0, 10**9 + 1, -(10**9) - 1, 2**63 - 1])
async def test_no_such_grants(caller: Caller, persons: Persons, amount: int) -> None:
    assert (await refused(grant(caller, persons[0], amount))).reason == "bad_request"


async def test_a_ledger_is_read_in_pages(caller: Caller, persons: Persons) -> None:
    ann = persons[0]
    for amount in range(1, 8):
        await grant(caller, ann, amount)
    whole = await ledger(caller, ann)
    assert [line.amount for line in whole] == [7, 6, 5, 4, 3, 2, 1, 100]
    for size in (1, 3, 8):
        assert await ledger(caller, ann, page_size=size) == whole
    assert await ledger(caller, "oidc:nobody") == []
    assert await balance(caller, "oidc:nobody") == 0


# --- the books --------------------------------------------------------------------------------------------------------


async def test_the_database_itself_keeps_the_books(replica: Replica, caller: Caller, persons: Persons) -> None:
    """Neither below zero, nor one side without the other, nor anything rewritten."""
    account = f"wallet:{persons[0]}"
    async with replica.app.database.acquire() as connection:
        for text in (
            "UPDATE ledger_accounts SET balance = -1 WHERE account = $1",
            "UPDATE ledger_entries SET amount = 1 WHERE account = $1",
            "DELETE FROM ledger_entries WHERE account = $1",
            "UPDATE ledger_transactions SET note = $1",
        ):
            with pytest.raises((asyncpg.CheckViolationError, asyncpg.RestrictViolationError)):
                await connection.execute(text, account)
        with pytest.raises(asyncpg.CheckViolationError, match="does not add up"):
            async with connection.transaction():
                await connection.execute(
                    "INSERT INTO ledger_entries (account, transaction, reason, amount, balance)"
                    " SELECT $1, max(number), 1, 5, 105 FROM ledger_transactions",
                    account,
                )
    assert await balance(caller, persons[0]) == 100


async def test_a_balance_that_is_not_the_sum_of_its_entries_is_found(serve: Serve) -> None:
    replica = await serve(ledger_check_s=1)
    caller = replica.caller
    books = Books(LedgerStore(replica.app.database), every_s=3600)
    for number in range(5):
        await grant(caller, f"oidc:{number}", 10)
    assert await books.check() == []
    await replica.sql("UPDATE ledger_accounts SET balance = 11 WHERE account = 'wallet:oidc:3'")
    (wrong,) = await books.check()
    assert wrong.startswith("wallet:oidc:3 has 11; its entries add up to 10")
    assert WRONG._value.get() == 1
    await replica.sql("UPDATE ledger_accounts SET balance = 10 WHERE account = 'wallet:oidc:3'")
    # by the service's own job, which looks every second here
    await eventually(lambda: WRONG._value.get() == 0)


# --- what breaks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", Cut)
async def test_a_start_and_an_end_that_are_cut(serve: Serve, proxy: Proxy, cut: Cut) -> None:
    """Wherever it is cut: the fees are held once, the pool is paid once, and the commit says the same as the ledger."""
    replica = await serve(proxy.url)
    caller = replica.caller
    persons = ("oidc:ann", "oidc:bob")
    for person in persons:
        await grant(caller, person, 100)
    table = await paid_table(caller, persons, 40, start=False)
    for command_id, who, action in (("cut-start", persons[0], act.Start()), ("cut-end", persons[1], act.Leave())):
        trap = proxy.cut_at(command_id.encode(), cut)
        answer = await play(caller, table, who, action, command_id=command_id)
        assert trap.done.is_set()
        again = await play(caller, table, who, action, command_id=command_id)
        assert again.duplicate
        assert list(again.commits) == list(answer.commits)
    assert await balances(caller, persons) == [140, 60]
    assert await Books(LedgerStore(replica.app.database), every_s=3600).check() == []


@pytest.mark.parametrize("statement", ["accounts", "lock", "entries", "commit"])
@pytest.mark.parametrize("cut", Cut)
async def test_a_transaction_that_is_cut_anywhere(serve: Serve, proxy: Proxy, statement: str, cut: Cut) -> None:
    """Between its statements, too: then nothing of it is there, and the command is decided anew."""
    replica = await serve(proxy.url)
    caller = replica.caller
    persons = ("oidc:ann", "oidc:bob")
    for person in persons:
        await grant(caller, person, 100)
    table = await paid_table(caller, persons, 40, start=False)
    markers = {"accounts": 1, "lock": 2, "entries": 3, "commit": 4}[statement] * [f"held:{table}".encode()]
    if statement == "commit":
        markers[-1] = b"COMMIT"
    held = proxy.hold(b"start-it")
    starting = asyncio.create_task(play(caller, table, persons[0], act.Start(), command_id="start-it"))
    for marker in markers[:-1]:
        await held.sprung.wait()
        following = proxy.hold(marker)
        held.released.set()
        held = following
    await held.sprung.wait()
    trap = proxy.cut_at(markers[-1], cut)
    held.released.set()
    await starting
    assert trap.done.is_set()
    assert await balances(caller, persons) == [60, 60]
    assert len(await caller.log(table)) == (await caller.view(table)).version
    assert await Books(LedgerStore(replica.app.database), every_s=3600).check() == []


async def test_two_replicas_start_it_at_once(serve: Serve) -> None:
    one, two = await serve(), await serve()
    persons = ("oidc:ann", "oidc:bob", "oidc:cid")
    for person in persons:
        await grant(one.caller, person, 100)
    for _ in range(3):
        table = await paid_table(one.caller, persons, 20, start=False)
        await two.caller.view(table)
        before = await balances(one.caller, persons)
        found = await asyncio.gather(
            *(play(replica.caller, table, persons[0], act.Start()) for replica in (one, two, one, two)),
            return_exceptions=True,
        )
        assert sorted(one.reason for one in found if isinstance(one, Failure)) == 3 * ["table_started"]
        assert await balances(one.caller, persons) == [had - 20 for had in before]
        ended = await asyncio.gather(*(close(replica.caller, table) for replica in (one, two)), return_exceptions=True)
        assert [one.reason for one in ended if isinstance(one, Failure)] == ["table_closed"]
        assert await balances(two.caller, persons) == before


async def test_wallets_that_are_held_up_hold_nobody_else_up(serve: Serve, log_url: str) -> None:
    """A commit that moves credits waits beside the group: other tables of the replica go on."""
    replica = await serve()
    caller = replica.caller
    persons = ("oidc:ann", "oidc:bob")
    for person in persons:
        await grant(caller, person, 100)
    table, other = await paid_table(caller, persons, 40, start=False), await caller.open("guest:zoe")
    blocker = await asyncpg.connect(log_url)
    try:
        async with blocker.transaction():
            await blocker.execute("SELECT FROM ledger_accounts WHERE account = 'wallet:oidc:ann' FOR UPDATE")
            starting = asyncio.create_task(play(caller, table, persons[0], act.Start()))
            await eventually(lambda: replica.memory(table).busy)
            for number in range(5):
                answer = await caller.act(other, "guest:zoe", act.Contribute(str(number)))
                assert answer.version == number + 2
            assert not starting.done()
        await starting
    finally:
        await blocker.close()
    assert await balances(caller, persons) == [60, 60]


async def test_a_table_that_cannot_be_loaded_gives_its_fees_back(serve: Serve, game: Game) -> None:
    """Closed by an admin none the less: what is held belongs to those who paid it."""
    replica = await serve()
    caller = replica.caller
    persons = ("oidc:ann", "oidc:bob")
    for person in persons:
        await grant(caller, person, 100)
    table = await paid_table(caller, persons, 40)
    await replica.sql("UPDATE commits SET body = '\\xff'::bytea WHERE table_id = $1 AND version = 2", table)
    replica.forget(table)
    said = await refused(close(caller, table))
    assert said.reason == "table_broken"
    assert "given back" in said.sentence
    assert await balances(caller, persons) == [100, 100]
    assert "given back" not in (await refused(close(caller, table))).sentence
    assert await balances(caller, persons) == [100, 100]
    rows = (await admin(caller, "ListAudit", table=table)).entries
    assert [(row.what, row.outcome) for row in rows[1:]] == 2 * [("CloseTable", "table_broken")]
