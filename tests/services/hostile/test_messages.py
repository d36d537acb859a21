"""Odd messages at every public RPC: each is answered properly, and everything goes on.

The whole corpus and some messages more by chance; ``storm`` throws very many more.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import pytest

from tests.services.conftest import MakeDatabase
from tests.services.hostile import corpus, mutating
from tests.services.hostile.methods import RPCS
from tests.services.hostile.stage import Thrower, platform

FEW = 10
"""New messages for each RPC; of a stream, where they cost less, more."""
FEW_ON_A_STREAM = 600


@pytest.fixture(scope="module")
async def thrower(
    make_module_database: MakeDatabase, nats_url: str, request: pytest.FixtureRequest
) -> AsyncIterator[Thrower]:
    """At a platform of these tests."""
    rng = random.Random(int(request.config.getoption("hypothesis_seed")))
    async with platform(await make_module_database("omnipolyd.table.migrations"), nats_url) as running:
        thrower = Thrower(running, rng)
        yield thrower
        await thrower.close()


def test_the_corpus_knows_every_rpc() -> None:
    assert {file.stem for file in corpus.FOLDER.glob("*.txt")} == set(RPCS)


@pytest.mark.parametrize("message", [b"", b"\0" * 9, b"{}\n \\ab\xff", b"x" * 70_000, bytes(range(256)), b"a b" * 40])
def test_the_corpus_is_read_as_it_was_written(message: bytes) -> None:
    line = corpus.encode(message)
    assert corpus.decode(line) == message
    assert line.isascii()
    assert line.isprintable()


@pytest.mark.parametrize("name", RPCS)
async def test_whatever_comes_is_answered_properly(thrower: Thrower, name: str) -> None:
    rpc, known = RPCS[name], corpus.read(name)
    number = FEW_ON_A_STREAM if rpc.streams_in else FEW
    rng = thrower.rng
    thrower.faults.clear()
    await thrower.all_of(rpc, known)
    await thrower.all_of(rpc, (mutating.odd(rpc.request, rng, known) for _ in range(number)))
    told = [f"{fault.what}\n{corpus.encode(fault.message)[:2000]}" for fault in thrower.faults]
    assert not told, "\n".join(told)


async def test_everything_goes_on(thrower: Thrower) -> None:
    """After all of that."""
    await thrower.still_well()
