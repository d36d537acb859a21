"""No credit comes from nowhere and none is lost: random paid games at two replicas, over a line that is cut."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.failures import Failure
from omnipolyd.table.ledger.checking import Books
from omnipolyd.table.ledger.store import LedgerStore
from tests.services.proxy import Cut, Proxy
from tests.services.table.calling import Caller, unique_id
from tests.services.table.conftest import Serve
from tests.services.table.operators import balance, close, grant, paid_table, play
from tests.services.table.replicas import Replica

PERSONS = tuple(f"oidc:p{number}" for number in range(6))
TABLES = 7
STEPS = 16
"""Of each table's game, at most; all tables play at once."""
BEGIN_WITH = 60


class Bank:
    """What everybody must have, by the rule alone (RUG-WIN)."""

    def __init__(self) -> None:
        self.wallets = dict.fromkeys(PERSONS, BEGIN_WITH)

    def hold(self, persons: list[str], fee: int) -> None:
        for person in persons:
            self.wallets[person] -= fee


class Match:
    """One table's game as it is played, and what it moves."""

    def __init__(self, chance: random.Random, replicas: list[Replica], proxy: Proxy, bank: Bank) -> None:
        self.chance = chance
        self.replicas = replicas
        self.proxy = proxy
        self.bank = bank
        self.table = ""
        self.fee = 0
        self.payers: list[str] = []
        self.seated: list[str] = []
        self.over = False

    @property
    def caller(self) -> Caller:
        return self.chance.choice(self.replicas).caller

    async def run(self) -> None:
        self.seated = self.chance.sample(PERSONS, self.chance.randint(2, 4))
        self.fee = self.chance.choice((1, 7, 20, 45))
        self.table = await paid_table(self.caller, self.seated, self.fee, start=False)
        for _ in range(STEPS):
            if self.over:
                return
            await self.step()

    async def step(self) -> None:
        """One command, perhaps cut, perhaps given twice; the bank moves what it has to."""
        command_id = unique_id()
        if self.chance.random() < 0.5:
            marker = self.chance.choice((command_id, f"held:{self.table}"))
            self.proxy.cut_at(marker.encode(), self.chance.choice(tuple(Cut)))
        what = self.chance.choice(("start", "leave", "leave", "close"))
        if what == "start" and not self.payers:
            await self.start(command_id)
        elif what == "leave" and len(self.seated) > 1:
            await self.leave(command_id)
        elif what == "close" and self.chance.random() < 0.3:
            await self.twice(lambda: close(self.caller, self.table, command_id=command_id))
            self.bank.hold(self.payers, -self.fee)
            self.over = True

    async def start(self, command_id: str) -> None:
        host = self.seated[0]
        if len(self.seated) < 2:
            return
        try:
            await self.twice(lambda: play(self.caller, self.table, host, act.Start(), command_id=command_id))
        except Failure as refused:
            if refused.reason != "insufficient_credits":
                raise
        else:
            self.payers = list(self.seated)
            self.bank.hold(self.payers, self.fee)

    async def leave(self, command_id: str) -> None:
        gone = self.chance.choice(self.seated)
        await self.twice(lambda: play(self.caller, self.table, gone, act.Leave(), command_id=command_id))
        self.seated.remove(gone)
        if self.payers and len(self.seated) == 1:
            self.bank.wallets[self.seated[0]] += self.fee * len(self.payers)
            self.over = True

    async def twice(self, ask: Callable[[], Awaitable[Any]]) -> None:
        """As a gateway does that has lost the answer."""
        await ask()
        if self.chance.random() < 0.3:
            assert (await ask()).duplicate


async def test_random_paid_games(serve: Serve, proxy: Proxy, pytestconfig: pytest.Config) -> None:
    chance = random.Random(int(pytestconfig.getoption("hypothesis_seed")))
    replicas = [await serve(proxy.url), await serve(proxy.url)]
    caller = replicas[0].caller
    for person in PERSONS:
        await grant(caller, person, BEGIN_WITH)
    bank = Bank()
    books = Books(LedgerStore(replicas[1].app.database), every_s=3600)
    matches = [Match(random.Random(chance.random()), replicas, proxy, bank) for _ in range(TABLES)]
    await asyncio.gather(*(match.run() for match in matches))

    assert {person: await balance(caller, person) for person in PERSONS} == bank.wallets
    assert min(bank.wallets.values()) >= 0
    held = await replicas[0].sql("SELECT account, balance FROM ledger_accounts WHERE account LIKE 'held:%'")
    open_ = {f"held:{match.table}": match.fee * len(match.payers) for match in matches if match.payers}
    assert dict(held) == {account: 0 for account, _ in held} | {
        f"held:{match.table}": open_[f"held:{match.table}"] for match in matches if match.payers and not match.over
    }
    (row,) = await replicas[0].sql("SELECT sum(balance) AS total FROM ledger_accounts")
    assert row["total"] == 0
    assert sum(bank.wallets.values()) + sum(value for _, value in held) == BEGIN_WITH * len(PERSONS)
    assert await books.check() == []
    # what the log says of a game and what the ledger says of it are one
    for match in matches:
        started = await replicas[0].sql(
            "SELECT count(*) AS n FROM ledger_transactions WHERE table_id = $1 AND reason = 2", match.table
        )
        view = await caller.view(match.table)
        assert started[0]["n"] == (1 if view.in_play else 0) == bool(match.payers)
        assert bool(view.ended) == match.over
