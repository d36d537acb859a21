"""What the commands that talk to a gateway share: the options, the way in, and what goes wrong in one sentence."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from .commands import UserError

if TYPE_CHECKING:
    from omnipoly.client import Client, Session

T = TypeVar("T")

GATEWAY = "localhost:7100"
INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""

VARIABLES = ("OMNIPOLY_GATEWAY", "OMNIPOLY_TOKEN")
"""What these commands read from the environment."""

Gateway = Annotated[str, typer.Option(metavar="HOST:PORT", envvar=VARIABLES[0], help="The gateway to talk to.")]
Token = Annotated[str, typer.Option(envvar=VARIABLES[1], help="An access token, in place of a sign-in as a guest.")]
Pin = Annotated[str, typer.Option(help="The PIN of a private table.")]


def language(wanted: str) -> str:
    """A language that there are sentences in. Raises ``typer.BadParameter``."""
    from omnipoly.editions.languages import GRAMMARS

    if wanted and wanted not in GRAMMARS:
        raise typer.BadParameter(f"there are: {', '.join(GRAMMARS)}")
    return wanted


Language = Annotated[
    str,
    typer.Option(
        metavar="LANGUAGE", callback=language, help="Of names and sentences, e.g. ru; none: the edition's own."
    ),
]
Plain = Annotated[bool, typer.Option("--plain", help="Lines alone, also on a terminal.")]
Name = Annotated[str, typer.Option(help="The name shown, of a guest.")]


def drawn(*, plain: bool) -> bool:
    """Whether a table is drawn: somebody looks at a terminal, and types at it. It is drawn on standard error."""
    terminal = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    return not plain and terminal and os.environ.get("TERM", "dumb") != "dumb"


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command to its end. SIGINT and SIGTERM cancel it, so that everything it opened is closed."""
    try:
        return asyncio.run(_until_stopped(work))
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise typer.Exit(INTERRUPTED) from None


async def _until_stopped(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        return await task
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


@asynccontextmanager
async def connected(gateway: str) -> AsyncIterator[Client]:
    """A client of a gateway. What the server says no to, or nobody answers, is a ``UserError``."""
    from omnipoly.client import Client, Refused

    try:
        client = await Client.connect(gateway)
    except Refused as refused:
        raise UserError(f"{gateway}: {refused.sentence}", exit_code=1) from refused
    async with client:
        try:
            yield client
        except Refused as refused:
            raise UserError(str(refused), exit_code=1) from refused


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """A call that is tried again as soon as the server's limits let it through. Raises ``Refused`` otherwise."""
    from omnipoly.client import Refused
    from omnipoly.rules.codes import Code

    while True:
        try:
            return await call()
        except Refused as refused:
            if refused.known is not Code.RATE_LIMITED or refused.retry_after_s is None:
                raise
            await asyncio.sleep(refused.retry_after_s)


async def first(of: AsyncIterator[T], most: int) -> list[T]:
    """The first of what a server lists, at most so many; no page is asked for beyond them."""
    found: list[T] = []
    async for one in of:
        found.append(one)
        if len(found) >= most:
            break
    return found


async def signed_in(client: Client, token: str, name: str) -> Session:
    """A session: of the token, or a guest's."""
    return client.with_token(token) if token else await client.sign_in_guest(name)
