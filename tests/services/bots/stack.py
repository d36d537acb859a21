"""A small platform in this process: table, clock, presence, gateway, and bots where they are asked for."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from pydantic import SecretStr

from omnipoly.runtime.app import App, running
from omnipolyd.bots import BotsService, BotsSettings
from omnipolyd.clock.config import ClockSettings
from omnipolyd.clock.service import ClockService
from omnipolyd.gateway.config import GatewaySettings
from omnipolyd.gateway.service import GatewayService
from omnipolyd.presence.config import PresenceSettings
from omnipolyd.presence.service import PresenceService
from omnipolyd.table.config import TableSettings
from omnipolyd.table.service import TableService

KEY = SecretStr("k" * 43)


class Stack(NamedTuple):
    """What runs."""

    table: App
    gateway: App
    settings: dict[str, Any]
    """What every service is told."""


@asynccontextmanager
async def stack(database_url: str, nats_url: str, **gateway: Any) -> AsyncIterator[Stack]:
    """Table, clock, presence and gateway up; ``gateway``: further settings of the gateway."""
    shared: dict[str, Any] = {"database_url": database_url, "nats_url": nats_url, "port": 0, "drain_s": 2}
    async with AsyncExitStack() as up:
        table = await up.enter_async_context(running(TableService(TableSettings(dev=True, open_tables=1000, **shared))))
        clock = ClockService(ClockSettings(table_addr=table.address, **shared))
        await up.enter_async_context(running(clock))
        presence = PresenceService(PresenceSettings(table_addr=table.address, presence_bucket=_bucket(), **shared))
        told = await up.enter_async_context(running(presence))
        roomy = {"open_tables": 1000, "commands_per_second": 10_000, "commands_burst": 10_000}
        public = await up.enter_async_context(
            running(gateway_of(table, **{**shared, **roomy, "presence_addr": told.address, **gateway}))
        )
        yield Stack(table, public, shared)


def _bucket() -> str:
    """Leases of this stack alone: the tests share one NATS."""
    return f"presence_{secrets.token_hex(6)}"


def gateway_of(table: App, **settings: Any) -> GatewayService:
    """A gateway for a table service, not started."""
    return GatewayService(GatewaySettings(**{"table_addr": table.address, "session_key": KEY, "dev": True, **settings}))


def bots(of: Stack, **further: Any) -> BotsService:
    """A bots service for a stack, not started."""
    settings = {"gateway_addr": of.gateway.address, "session_key": KEY, "bots_thinking_s": 0, **of.settings, **further}
    return BotsService(BotsSettings(**settings))
