"""A stack of a table service and a gateway, one for each module of tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import Client, Stack, game, stack
from tests.services.gateway.refusing import Game


@pytest.fixture(scope="module")
async def running(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Stack]:
    """The module's stack, under --dev; its limits on commands and lines of the chat are high."""
    url = await make_module_database("omnipolyd.table.migrations")
    async with stack(url, nats_url, table={"chat_lines_per_second": 1000}) as running:
        yield running


@pytest.fixture
async def ann(running: Stack, unique: str) -> AsyncIterator[Client]:
    """A guest whom no other test knows."""
    async with running.client(f"guest:ann-{unique}") as client:
        yield client


@pytest.fixture
async def bob(running: Stack, unique: str) -> AsyncIterator[Client]:
    """Another."""
    async with running.client(f"guest:bob-{unique}") as client:
        yield client


@pytest.fixture
async def viewer(running: Stack, unique: str) -> AsyncIterator[Client]:
    """Somebody signed in, without a seat."""
    async with running.client(f"oidc:vic-{unique}", guest=False) as client:
        yield client


@pytest.fixture
async def begun(running: Stack, ann: Client, bob: Client) -> Game:
    """A game whose stream has heard everything."""
    table = await game(ann, bob, edition="rugpull")
    stream = ann.play()
    await stream.follow(table)
    await stream.next("prompt")
    return Game(table, ann, bob, stream)
