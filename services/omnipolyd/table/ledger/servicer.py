"""``WalletService``: what somebody has, and where it came from and went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnipoly.runtime import page_tokens
from omnipoly.runtime.unary import Asked, Unary
from omnipoly.wire.gen.game.v1 import platform_pb2
from omnipoly.wire.gen.table.v1 import wallet_pb2 as pb

from .. import requests
from ..asking import asked as answered
from .store import LAST, Line

if TYPE_CHECKING:
    from .store import LedgerStore

SERVICE = pb.DESCRIPTOR.services_by_name["WalletService"].full_name
MOST_LINES = 200
USUAL_LINES = 50


class WalletServicer:
    """Requests to rows."""

    def __init__(self, store: LedgerStore) -> None:
        self._store = store

    def methods(self) -> Mapping[str, Unary]:
        """The methods."""
        return {
            "Balance": Unary(pb.BalanceRequest, self._balance),
            "Ledger": Unary(pb.LedgerRequest, self._ledger),
        }

    async def _balance(self, request: pb.BalanceRequest, asked: Asked) -> pb.BalanceResponse:
        person = requests.person_id(request.person)
        balance = await answered(lambda: self._store.balance(person), asked.remaining_s())
        return pb.BalanceResponse(balance=balance)

    async def _ledger(self, request: pb.LedgerRequest, asked: Asked) -> pb.LedgerResponse:
        person = requests.person_id(request.person)
        limit = requests.page_size(request.page_size, MOST_LINES, USUAL_LINES)
        before = LAST
        if request.page_token:
            before = page_tokens.decode_number(page_tokens.decode(request.page_token, 1)[0])
        lines = await answered(lambda: self._store.lines(person, before, limit), asked.remaining_s())
        response = pb.LedgerResponse(entries=map(message, lines))
        if len(lines) == limit:
            response.next_page_token = page_tokens.encode(lines[-1].number)
        return response


def message(line: Line) -> platform_pb2.LedgerEntry:
    """A line as it is shown."""
    entry = platform_pb2.LedgerEntry(
        transaction=str(line.transaction),
        amount=line.amount,
        balance=line.balance,
        reason=platform_pb2.CreditReason.ValueType(line.reason),
        table=line.table_id,
        note=line.note,
    )
    entry.at.FromDatetime(line.at)
    return entry
