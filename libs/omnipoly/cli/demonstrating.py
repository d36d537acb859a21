"""The demonstration: the platform as a child process, a table of bots, its record as it happens, and the check."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from omnipoly.client.happenings import Gone, Happened
from omnipoly.editions import loader
from omnipoly.editions.problems import EditionError
from omnipoly.rules import actions as act

from . import connecting, showing, verify
from .commands import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from omnipoly.client import Client, Session

READY = re.compile(r"gateway listening on (?P<address>[^\s\",}]+)")
READY_S = 120.0
"""The first start on a machine makes a database."""
FURTHER_EDITIONS = "OMNIPOLY_EDITIONS"
STOP_S = 30.0
LAST_WORDS = 20
"""Lines of the platform's output that are shown when it does not start."""


class Asked(NamedTuple):
    """What the command was asked for."""

    edition: str
    players: int
    round_limit: int
    seed_check: bool
    language: str = ""


async def demonstrate(asked: Asked) -> int:
    """The exit code: 0 when the game ended and holds."""
    _look_ahead(asked)
    out = showing.console()
    began = time.monotonic()
    out.print("Starting the platform …", style="dim")
    async with _platform() as address:
        out.print(f"It is up at {address} after {time.monotonic() - began:.1f} s.", style="dim")
        async with connecting.connected(address) as client:
            session = await client.sign_in_guest("Demonstrator")
            played = time.monotonic()
            table = await _play(client, session, asked, out)
            out.print(f"The game took {time.monotonic() - played:.1f} s.", style="dim")
            holds = not asked.seed_check or await _check(session, table, out)
    out.print(f"Everything is stopped; {time.monotonic() - began:.1f} s in all.", style="dim")
    return 0 if holds else 1


def _look_ahead(asked: Asked) -> None:
    """Say what cannot be played before anything is started; editions of one's own only the platform knows."""
    if FURTHER_EDITIONS in os.environ:
        return
    try:
        boards = loader.edition(asked.edition).boards
    except EditionError as error:
        raise UserError("; ".join(map(str, error.problems)) or str(error)) from error
    least, most = boards[0].players[0], max(board.players[1] for board in boards)
    if not least <= asked.players <= most:
        raise UserError(f"{asked.edition} takes {least} to {most} players")


async def _play(client: Client, session: Session, asked: Asked, out: Console) -> str:
    """Open a table of bots, start it, and follow it to its end."""
    options = act.SetOptions(round_limit=asked.round_limit) if asked.round_limit else None
    table = await session.lobby.create(asked.edition, options=options, unseated=True)
    async with session.play(tell=asked.language or True) as play:
        feed = aiter(play)
        replica = await play.follow(table)
        out.print(f"The dice are committed to as {replica.state.commitment}.", markup=False)
        for _ in range(asked.players):
            await connecting.patiently(lambda: session.lobby.add_bot(table))
        await session.lobby.start(table)
        async for happening in feed:
            if isinstance(happening, Happened):
                showing.lines(out, happening.lines)
            elif isinstance(happening, Gone):
                raise UserError(happening.sentence, exit_code=1)
            if showing.over(replica.state):
                out.print(showing.places(replica.state, asked.language))
                return table
    raise UserError("The game did not end.", exit_code=1)


async def _check(session: Session, table: str, out: Console) -> bool:
    verdict = verify.check(await session.games.export(table))
    for line in verify.told(verdict):
        out.print(line, markup=False, style="bold" if verdict.holds else "bold red")
    return verdict.holds


# --- the platform as a child ------------------------------------------------------------------------------------------


@asynccontextmanager
async def _platform() -> AsyncIterator[str]:
    """`omnipolyd up` with data of this run only; the gateway's address. It is stopped with all that it started."""
    child = await asyncio.create_subprocess_exec(
        *_program(),
        *("up", "--ephemeral", "--port", "0", "--stop-with-stdin"),
        # Should we be killed, it sees its standard input end, and stops.
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=_environment(),
        # Ctrl-C reaches us alone; the platform is then told once, and stops in order.
        start_new_session=True,
    )
    spoken: deque[str] = deque(maxlen=LAST_WORDS)
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    listening = asyncio.create_task(_listen(child, spoken, ready), name="platform-output")
    try:
        try:
            async with asyncio.timeout(READY_S):
                address = await ready
        except TimeoutError:
            raise UserError(f"the platform did not start within {READY_S:.0f} s:\n{_joined(spoken)}", 1) from None
        yield address
    finally:
        await asyncio.shield(_stop(child))
        await listening


async def _listen(child: asyncio.subprocess.Process, spoken: deque[str], ready: asyncio.Future[str]) -> None:
    """Read what the platform says, so that it is never held up, and find the address in it."""
    assert child.stdout is not None
    async for line in child.stdout:
        text = line.decode(errors="replace").rstrip()
        spoken.append(text)
        found = READY.search(text)
        if found is not None and not ready.done():
            ready.set_result(found["address"])
    if not ready.done():
        ready.set_exception(UserError(f"the platform ended at its start:\n{_joined(spoken)}", exit_code=1))
        ready.exception()  # whoever waits has it; after Ctrl-C nobody does


async def _stop(child: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        child.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(STOP_S):
            await child.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()


def _environment() -> dict[str, str]:
    """Ours, but for what only these commands read; bots that do not pause to think."""
    kept = {name: value for name, value in os.environ.items() if name not in connecting.VARIABLES}
    return {**kept, "OMNIPOLY_BOTS_THINKING_S": "0"}


def _program() -> list[str]:
    """The platform's program: the one installed beside this one."""
    beside = Path(sys.executable).with_name("omnipolyd")
    if beside.exists():
        return [str(beside)]
    found = shutil.which("omnipolyd")
    if found is None:
        raise UserError("omnipolyd is not installed beside omnipoly", exit_code=1)
    return [found]


def _joined(spoken: deque[str]) -> str:
    return "\n".join(spoken) or "it said nothing"
