"""The books, looked through again and again: each balance is the sum of its entries, each transaction adds up to 0."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from prometheus_client import Counter, Gauge

from omnipoly.runtime import logging
from omnipoly.runtime.database import FAULTS

if TYPE_CHECKING:
    from .store import LedgerStore

log = logging.get(__name__)

PAGE = 1000

WRONG = Gauge("omnipoly_ledger_wrong", "Accounts and transactions that did not add up at the last look.")
CHECKED = Counter("omnipoly_ledger_checks_total", "Looks through all of the ledger, by outcome.", ("outcome",))


class Books:
    """The job. Each replica looks; a look reads, and holds nobody up."""

    def __init__(self, store: LedgerStore, *, every_s: float) -> None:
        self._store = store
        self._every_s = every_s

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                await self.check()
            except FAULTS as error:
                CHECKED.labels("failed").inc()
                log.warning("ledger_not_checked", error=repr(error))
            await asyncio.sleep(self._every_s)

    async def check(self) -> list[str]:
        """Look through all of it, page by page: what is wrong, a sentence each. Raises one of ``database.FAULTS``."""
        wrong: list[str] = []
        account = ""
        while True:
            account, found = await self._store.wrong_accounts(account, PAGE)
            wrong += found
            if not account:
                break
        transaction = 0
        while True:
            transaction, found = await self._store.wrong_transactions(transaction, PAGE)
            wrong += found
            if not transaction:
                break
        WRONG.set(len(wrong))
        CHECKED.labels("wrong" if wrong else "right").inc()
        for sentence in wrong:
            log.error("ledger_wrong", cause=sentence)
        return wrong
