"""The whole of it: a server, a client that comes by itself or is started here, and a report."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import grpc.aio

from omnipoly.rules.ring import Game

from .peer import Fallen, Gone, Peer, Wrong
from .trials import TRIALS


class Finding(NamedTuple):
    """What a trial has found."""

    trial: str
    right: bool | None
    """``None``: it could not be tried."""
    sentence: str


class Report(NamedTuple):
    """What all of them have found."""

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Everything was tried, and nothing was wrong."""
        return all(finding.right for finding in self.findings)


@asynccontextmanager
async def served(peer: Peer, host: str, port: int) -> AsyncIterator[str]:
    """The peer's server; host:port. Raises ``OSError`` when the port cannot be had."""
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    peer.services.register(server)
    try:
        bound = server.add_insecure_port(f"{host}:{port}")
    except RuntimeError as error:
        raise OSError(f"cannot listen on {host}:{port}: {error}") from None
    await server.start()
    try:
        yield f"{host}:{bound}"
    finally:
        await server.stop(0)


async def examine(peer: Peer, names: Sequence[str], tell: Callable[[Finding], None]) -> Report:
    """Try one after another; ``tell`` hears of each as it is known. The last one, ``over``, is always tried."""
    found: list[Finding] = []

    def note(finding: Finding) -> None:
        found.append(finding)
        tell(finding)

    gone = ""
    for name in (*(name for name in names if name != "over"), "over"):
        if gone:
            note(Finding(name, None, f"not tried: {gone}"))
            continue
        try:
            note(Finding(name, True, await TRIALS[name](peer)))
        except Wrong as wrong:
            note(Finding(name, False, str(wrong)))
            peer.settle()
        except Gone as why:
            gone = str(why)
            right = False if isinstance(why, Fallen) else None
            note(Finding(name, right, gone if right is False else f"not tried: {gone}"))
    for sentence in peer.wrongs:
        note(Finding("always", False, sentence))
    return Report(tuple(found))


async def run(
    game: Game,
    names: Sequence[str],
    command: Sequence[str],
    tell: Callable[[Finding], None],
    *,
    address: Callable[[str, str], None] = lambda address, table: None,
    host: str = "127.0.0.1",
    port: int = 0,
    patience_s: float = 10.0,
    slow_s: float = 2.0,
    retry_s: float = 0.4,
    seed: str = "0",
    quiet: bool = False,
) -> Report:
    """Serve, start the client's program where one is given, and try everything. Raises ``OSError``.

    ``{address}`` and ``{table}`` in the command's arguments are filled in; OMNIPOLY_GATEWAY and OMNIPOLY_TABLE say the
    same. ``address`` hears where the server is, and of the table that is offered. ``quiet``: what the program prints is
    not shown.
    """
    peer = Peer(game, seed=seed, patience_s=patience_s, slow_s=slow_s, retry_s=retry_s)
    async with served(peer, host, port) as where:
        address(where, peer.table.id)
        if not command:
            await peer.until_seen()  # somebody starts it by hand
            return await examine(peer, names, tell)
        filled = [part.replace("{address}", where).replace("{table}", peer.table.id) for part in command]
        output = asyncio.subprocess.DEVNULL if quiet else None
        process = await asyncio.create_subprocess_exec(
            *filled,
            env={**os.environ, "OMNIPOLY_GATEWAY": where, "OMNIPOLY_TABLE": peer.table.id},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        watching = asyncio.create_task(_watch(process, peer))
        try:
            report = await examine(peer, names, tell)
            code = await _ended(process, patience_s)
            if code != 0:
                why = "its program did not end with the game" if code is None else f"its program ended with {code}"
                finding = Finding("exit", False, why)
                tell(finding)
                report = Report((*report.findings, finding))
            return report
        finally:
            if process.returncode is None:
                process.kill()
            await watching


async def _watch(process: asyncio.subprocess.Process, peer: Peer) -> None:
    await process.wait()
    peer.left.set()


async def _ended(process: asyncio.subprocess.Process, patience_s: float) -> int | None:
    try:
        async with asyncio.timeout(patience_s):
            return await process.wait()
    except TimeoutError:
        return None
