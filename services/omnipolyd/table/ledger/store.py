"""The ledger in Postgres: what moves credits, and what is read of them.

``hold``, ``pay`` and ``refund`` run in the transaction of the commit that they belong to, behind its append: the head
is locked first, then the accounts in the order of their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from omnipoly.rules.codes import Code
from omnipoly.runtime.refusals import failure
from omnipoly.wire.gen.game.v1 import platform_pb2

from ..statements import Statements
from . import sql

if TYPE_CHECKING:
    from omnipoly.runtime.database import Connection

HOUSE = "house"
"""Where credits come from: the only account that may owe."""
GRANT = platform_pb2.CREDIT_REASON_GRANT
ENTRY_FEE = platform_pb2.CREDIT_REASON_ENTRY_FEE
PRIZE = platform_pb2.CREDIT_REASON_PRIZE
REFUND = platform_pb2.CREDIT_REASON_REFUND
LAST = 2**63 - 1


def wallet(person: str) -> str:
    """The account of a person's wallet."""
    return f"wallet:{person}"


def held(table_id: str) -> str:
    """The account of the fees of a game that is played."""
    return f"held:{table_id}"


class Line(NamedTuple):
    """A line of an account, with what it belongs to."""

    number: int
    transaction: int
    at: datetime
    amount: int
    balance: int
    reason: int
    table_id: str
    note: str


class Short(Exception):
    """Accounts that would fall below zero; nothing was moved."""

    def __init__(self, accounts: Sequence[str]) -> None:
        super().__init__(*accounts)
        self.accounts = accounts


async def post(
    connection: Connection,
    reason: int,
    amounts: Mapping[str, int],
    *,
    table_id: str = "",
    actor: str = "",
    request_id: str = "",
    digest: bytes = b"",
    note: str = "",
) -> tuple[int, datetime, dict[str, int]]:
    """Move credits between accounts: what each gets (negative: gives), together 0.

    To be called in a transaction. Returns the ledger transaction's number, its time, and the balances after it. Raises
    ``Short``, and one of ``database.FAULTS``.
    """
    accounts = sorted(amounts)
    await connection.execute(sql.KNOW, accounts)
    balances = {account: balance + amounts[account] for account, balance in await connection.fetch(sql.LOCK, accounts)}
    short = [account for account in accounts if balances[account] < 0 and account != HOUSE]
    if short:
        raise Short(short)
    number, at = await connection.fetchrow(sql.TRANSACTION, reason, table_id, actor, request_id, digest, note)
    moved = await connection.fetch(
        sql.ENTRIES,
        number,
        reason,
        table_id,
        accounts,
        [amounts[account] for account in accounts],
        [balances[account] for account in accounts],
    )
    if len(moved) != len(accounts):
        raise RuntimeError(f"accounts changed while they were locked: {accounts}")
    return number, at, balances


async def hold(connection: Connection, *, table_id: str, fee: int, persons: Mapping[str, str]) -> None:
    """Take the entry fee of each player, by id with their name, as a game starts (RUG-WIN).

    Raises ``Failure``: ``insufficient_credits`` with the names of those who lack them.
    """
    amounts = {wallet(person): -fee for person in persons}
    amounts[held(table_id)] = fee * len(persons)
    try:
        await post(connection, ENTRY_FEE, amounts, table_id=table_id)
    except Short as short:
        names = ", ".join(name for person, name in persons.items() if wallet(person) in short.accounts)
        raise failure(
            Code.INSUFFICIENT_CREDITS, f"The entry fee is {fee} credits, and these have too few: {names}."
        ) from None


async def pay(connection: Connection, *, table_id: str, winners: Sequence[str]) -> None:
    """Pay the prize pool, all that is held, to the winner (RUG-WIN); winners who are equal share it."""
    account = held(table_id)
    pool = await connection.fetchval(sql.BALANCE, account) or 0
    amounts = {
        wallet(person): share for person, share in zip(winners, shares(pool, len(winners)), strict=True) if share
    }
    if amounts:
        await post(connection, PRIZE, {account: -pool, **amounts}, table_id=table_id)


async def refund(connection: Connection, *, table_id: str) -> bool:
    """Give back every fee that is held, also of those who have left (RUG-WIN); whether there was any."""
    account = held(table_id)
    pool = await connection.fetchval(sql.BALANCE, account) or 0
    if not pool:
        return False
    fees = {row["account"]: row["fee"] for row in await connection.fetch(sql.FEES, table_id, ENTRY_FEE)}
    await post(connection, REFUND, {account: -pool, **fees}, table_id=table_id)
    return True


def shares(pool: int, winners: int) -> list[int]:
    """A pool in equal parts; what is left over goes to the first, one each."""
    each, over = divmod(pool, winners) if winners else (0, 0)
    return [each + (number < over) for number in range(winners)]


class LedgerStore(Statements):
    """Wallets, as operators and their owners see them."""

    async def grant(
        self, person: str, amount: int, *, actor: str, request_id: str, digest: bytes, note: str
    ) -> tuple[Line, bool]:
        """Give a person credits, or take some (negative), once for each call of an actor: (the line, known already).

        Raises ``Failure``: ``insufficient_credits``, ``key_reused``.
        """
        account = wallet(person)
        async with self._connection() as connection, connection.transaction():
            # the house is locked by every grant: a call that runs twice at once waits here for itself
            await connection.execute(sql.KNOW, [HOUSE])
            await connection.fetch(sql.LOCK, [HOUSE])
            known = await connection.fetchval(sql.KNOWN_REQUEST, actor, request_id)
            if known is not None:
                if known != digest:
                    raise failure(Code.KEY_REUSED)
                row = await connection.fetchrow(sql.REQUEST, actor, request_id, account)
                return Line(0, row["number"], row["at"], row["amount"], row["balance"], GRANT, "", row["note"]), True
            try:
                number, at, balances = await post(
                    connection,
                    GRANT,
                    {HOUSE: -amount, account: amount},
                    actor=actor,
                    request_id=request_id,
                    digest=digest,
                    note=note,
                )
            except Short:
                raise failure(Code.INSUFFICIENT_CREDITS, "There are not so many credits in that wallet.") from None
        return Line(0, number, at, amount, balances[account], GRANT, "", note), False

    async def refund(self, table_id: str) -> bool:
        """Give back the fees of a game whose log cannot be played on; whether there was any."""
        async with self._connection() as connection, connection.transaction():
            await connection.execute(sql.LOCK_TABLE, table_id)  # as a commit of its would
            return await refund(connection, table_id=table_id)

    async def balance(self, person: str) -> int:
        """Credits in a person's wallet."""
        return await self._value(sql.BALANCE, wallet(person)) or 0

    async def lines(self, person: str, before: int, limit: int) -> list[Line]:
        """Lines of a person's wallet, the latest first, before a line's number."""
        return [Line(*row) for row in await self._rows(sql.PAGE, wallet(person), before, limit)]

    async def wrong_accounts(self, after: str, limit: int) -> tuple[str, list[str]]:
        """A page of the books behind an account: (the last account looked at, sentences about wrong ones)."""
        rows = await self._rows(sql.WRONG_ACCOUNTS, after, limit)
        wrong = [
            f"{row['account']} has {row['balance']}; its entries add up to {row['total']}, the last says {row['last']}"
            for row in rows
            if row["wrong"]
        ]
        return rows[-1]["account"] if rows else "", wrong

    async def wrong_transactions(self, after: int, limit: int) -> tuple[int, list[str]]:
        """Likewise of transactions, by number."""
        rows = await self._rows(sql.WRONG_TRANSACTIONS, after, limit)
        wrong = [f"transaction {row['number']} adds up to {row['total']}" for row in rows if row["wrong"]]
        return rows[-1]["number"] if rows else 0, wrong
