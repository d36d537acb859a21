"""Operators and wallets at a table service, over the same link as everything else; and paid games at it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf.message import Message

from omnipoly.rules import actions as act
from omnipoly.wire import actions
from omnipoly.wire.gen.table.v1 import admin_pb2, identity_pb2, table_pb2, wallet_pb2
from tests.services.table.calling import Caller, unique_id

PREFIX = "/omnipoly.table.v1."
ROOT = "oidc:root"


def somebody(person: str, *roles: str) -> identity_pb2.Identity:
    """Somebody with an account."""
    return identity_pb2.Identity(
        person=person, name=person.partition(":")[2].title()[:40] or person, admin="admin" in roles, roles=roles
    )


async def ask(caller: Caller, service: str, method: str, request: Message, timeout_s: float = 20) -> Any:
    """A call of another service of the process."""
    body = await caller.link.call(f"{PREFIX}{service}/{method}", request.SerializeToString(), timeout_s)
    messages: Any = {"AdminService": admin_pb2, "WalletService": wallet_pb2, "TableService": table_pb2}[service]
    return getattr(messages, f"{method}Response").FromString(body)


async def admin(
    caller: Caller, method: str, *, as_roles: Iterable[str] = ("admin",), as_who: str = ROOT, **given: Any
) -> Any:
    """A call of the ``AdminService``."""
    request = getattr(admin_pb2, f"{method}Request")(identity=somebody(as_who, *as_roles), **given)
    return await ask(caller, "AdminService", method, request)


async def close(caller: Caller, table: str, *, command_id: str = "", by: str = ROOT, reason: str = "") -> Any:
    """An admin closes a table."""
    return await admin(caller, "Close", table=table, command_id=command_id or unique_id(), as_who=by, reason=reason)


async def freeze(caller: Caller, table: str, *, thaw: bool = False) -> Any:
    """An admin freezes a table, or lets it go on."""
    return await admin(caller, "Freeze", table=table, command_id=unique_id(), thaw=thaw)


async def grant(caller: Caller, person: str, amount: int, *, request_id: str = "", note: str = "") -> Any:
    """An admin gives somebody credits."""
    return await admin(caller, "Grant", person=person, amount=amount, request_id=request_id or unique_id(), note=note)


async def balance(caller: Caller, person: str) -> int:
    """What somebody has."""
    return int((await ask(caller, "WalletService", "Balance", wallet_pb2.BalanceRequest(person=person))).balance)


async def ledger(caller: Caller, person: str, *, page_size: int = 0) -> list[Any]:
    """All lines of somebody's wallet, the latest first."""
    found: list[Any] = []
    token = ""
    while True:
        request = wallet_pb2.LedgerRequest(person=person, page_size=page_size, page_token=token)
        page = await ask(caller, "WalletService", "Ledger", request)
        found += page.entries
        token = page.next_page_token
        if not token:
            return found


async def play(
    caller: Caller, table: str, person: str, action: act.Action, *, command_id: str = "", **more: Any
) -> Any:
    """Somebody with an account acts."""
    request = table_pb2.ActRequest(
        table=table,
        identity=somebody(person),
        action=actions.to_proto(action),
        command_id=command_id or unique_id(),
        **more,
    )
    return await ask(caller, "TableService", "Act", request)


async def paid_table(caller: Caller, persons: Iterable[str], fee: int, *, start: bool = True, **more: Any) -> str:
    """A table of Rug Pull with an entry fee, on which these have sat down; the first is the host."""
    host, *others = persons
    request = table_pb2.OpenRequest(
        identity=somebody(host),
        command_id=unique_id(),
        edition="rugpull",
        options=actions.to_proto(act.SetOptions(entry_fee=fee)).set_options,
        **more,
    )
    table = str((await ask(caller, "TableService", "Open", request)).table)
    for person in others:
        await play(caller, table, person, act.Join(person.partition(":")[2].title()))
    if start:
        await play(caller, table, host, act.Start())
    return table
