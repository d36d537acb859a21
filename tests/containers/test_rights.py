"""Least rights in compose.yaml: who each service is at NATS and at Postgres, after what other tests have done."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from typing import Any

import asyncpg
import pytest

from tests.services.waiting import eventually

from .stack import UP_S, Stack

SERVICES = ("gateway", "table", "auction", "trade", "clock", "presence", "bots")
NODES = ("nats-1", "nats-2", "nats-3")


async def connections(stack: Stack, node: str) -> list[dict[str, Any]]:
    """Who is connected to a node, as it tells it."""
    url = f"http://{stack.boxes[node].address_in('bus')}:8222/connz?auth=true"

    def read() -> list[dict[str, Any]]:
        with urllib.request.urlopen(url, timeout=5) as answer:
            found: list[dict[str, Any]] = json.loads(answer.read())["connections"]
            return found

    return await asyncio.to_thread(read)


async def test_each_service_is_a_user_of_its_own_at_nats(stack: Stack) -> None:
    expected = {(stack.boxes[name].address_in("bus"), service) for service in SERVICES for name in stack.of(service)}

    async def all_are() -> bool:
        found = await asyncio.gather(*(connections(stack, node) for node in NODES))
        return {(one["ip"], one["authorized_user"]) for some in found for one in some} == expected

    await eventually(all_are, UP_S)
    # Who has tried more than it may stands there.
    assert [line for node in NODES for line in stack.boxes[node].log().splitlines() if "Violation" in line] == []


async def test_the_table_service_cannot_change_the_schema(stack: Stack) -> None:
    connection = await asyncpg.connect(stack.database_url("table"))
    try:
        await connection.fetch("SELECT body FROM commits LIMIT 1")
        for text in (
            "CREATE TABLE own (x int)",
            "ALTER TABLE heads ADD COLUMN x int",
            "DROP TABLE snapshots",
            "DELETE FROM commits",
            "UPDATE omnipolyd_table_migrations SET version_num = '0001'",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(text)
    finally:
        await connection.close()
