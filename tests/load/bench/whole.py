"""B-START: from nothing to the first event of the first game, against the embedded servers alone."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from omnipoly.client import Client
from omnipoly.runtime.embedded import EmbeddedNats, EmbeddedPostgres

from .processes import Platform
from .rows import Asked, Half, Row, median, paired


async def start(running: Platform, asked: Asked) -> list[Row]:
    """B-START."""
    asked.tell("B-START")
    ratio, ones, others = await paired(asked, _servers, _up)
    return [
        Row(
            "B-START",
            "`omnipolyd up` to the first event",
            f"{median(others):.2f} s, {median(others, 'serving_s'):.2f} s of it until it serves",
            f"{median(ones):.2f} s: both servers",
            ratio,
            "<= 2",
            ratio <= 2,
            {},
        )
    ]


async def _servers() -> Half:
    began = time.perf_counter()
    folder = Path(tempfile.gettempdir())
    postgres, nats = EmbeddedPostgres(folder, ephemeral=True), EmbeddedNats(folder, ephemeral=True)
    await asyncio.gather(asyncio.to_thread(postgres.start), asyncio.to_thread(nats.start))
    took_s = time.perf_counter() - began
    await asyncio.gather(asyncio.to_thread(postgres.stop), asyncio.to_thread(nats.stop))
    return Half(took_s, {})


async def _up() -> Half:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OMNIPOLY_")}
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("omnipolyd"),
        *("up", "--ephemeral", "--port", "0", "--json", "--stop-with-stdin"),
        env=kept,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    facts = json.loads(await process.stdout.readline())
    serving_s = time.perf_counter() - began
    async with await Client.connect(facts["gateway"], timeout_s=30) as client:
        session = await client.sign_in_guest("Bench")
        table = await session.lobby.create("tubbypoly")
        async with session.play() as play:
            replica = await play.follow(table, timeout_s=30)
            await session.lobby.add_bot(table)
            await session.lobby.start(table)
            feed = aiter(play)
            while replica.state.phase.label == "lobby":
                await anext(feed)
            took_s = time.perf_counter() - began
    process.stdin.close()
    await process.wait()
    return Half(took_s, {"serving_s": serving_s})
