"""Playing on a terminal: the record as it happens, the choices when one is asked, a line in for each."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from omnipoly.client import Refused
from omnipoly.client.happenings import CaughtUp, Gone, Happened, Pictured, Prompted, Said
from omnipoly.editions.texts import Words
from omnipoly.rules import actions as act
from omnipoly.rules.state import Out, Phase

from . import choosing, connecting, showing
from .screen import screen

if TYPE_CHECKING:
    from rich.console import Console

    from omnipoly.client import Play, Session, TableReplica
    from omnipoly.client.happenings import Happening
    from omnipoly.rules.legal import LegalAction

LAST_S = 10.0
"""Somebody who has not answered is reminded so long before the clock answers for them."""


class Asked(NamedTuple):
    """What the command was asked for."""

    table: str
    gateway: str
    edition: str
    bots: int
    round_limit: int
    name: str
    pin: str
    token: str
    language: str = ""
    plain: bool = False


async def play(asked: Asked) -> None:
    """Play one game to its end, or until there is nothing more to read."""
    out = showing.console()
    async with connecting.connected(asked.gateway) as client:
        session = await connecting.signed_in(client, asked.token, asked.name)
        table = asked.table or await _open(session, asked)
        async with session.play(tell=asked.language or True) as connection:
            feed = aiter(connection)
            if asked.table:
                await _sit(session, asked)
            replica = await connection.follow(table, pin=asked.pin)
            if connecting.drawn(plain=asked.plain):
                from .drawn.app import TableApp, shown

                app = TableApp(replica, feed, language=asked.language, person=session.person, play=connection)
                showing.last(out, await shown(app), replica.state, asked.language)
                return
            terminal = Terminal(out, session, connection, replica, asked.language)
            terminal.say("at_table", table=table)
            await terminal.run(feed)


async def _open(session: Session, asked: Asked) -> str:
    options = act.SetOptions(round_limit=asked.round_limit) if asked.round_limit else None
    table = await session.lobby.create(asked.edition, options=options, pin=asked.pin)
    for _ in range(asked.bots):
        await connecting.patiently(lambda: session.lobby.add_bot(table))
    if asked.bots:
        await session.lobby.start(table)
    return table


async def _sit(session: Session, asked: Asked) -> None:
    """Take a seat, unless one has one there; somebody who may not sit follows as a viewer."""
    view = await session.lobby.view(asked.table, pin=asked.pin)
    if session.person not in view.state.holder and view.state.phase is Phase.LOBBY:
        await session.lobby.join(asked.table, name=asked.name, pin=asked.pin)


class Terminal:
    """One game on one terminal."""

    def __init__(
        self, out: Console, session: Session, connection: Play, replica: TableReplica, language: str = ""
    ) -> None:
        self._language = Words(replica.state.rules.edition, language).language
        self._out = out
        self._session = session
        self._play = connection
        self._replica = replica
        self._choices: list[choosing.Choice] = []
        self._shown: tuple[int, tuple[LegalAction, ...]] = (0, ())
        """The prompt whose choices are shown, and what it lists."""
        self._asked = asyncio.Event()
        """A decision is open and its choices are shown: what a script has ready is read then, and not before."""
        self._reminder: asyncio.TimerHandle | None = None
        self._by_hand = sys.stdin.isatty()
        """Somebody types, not a script."""

    async def run(self, feed: object) -> None:
        """Until the game is over, the table is gone, or the input ends."""
        if showing.over(self._replica.state):
            self._out.print(showing.places(self._replica.state, self._language))
            return
        self._greet()
        hearing = asyncio.create_task(self._hear(feed), name="terminal-hear")
        reading = asyncio.create_task(self._read(), name="terminal-read")
        try:
            await asyncio.wait((hearing, reading), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._remind(None)
            for task in (hearing, reading):
                task.cancel()
            ended = await asyncio.gather(hearing, reading, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                raise error

    def say(self, key: str, style: str = "", **values: object) -> None:
        """One of the commands' own sentences."""
        self._out.print(screen(self._language).phrase(key, **values), markup=False, style=style)

    @property
    def seat(self) -> int:
        """One's seat; -1: none."""
        return self._replica.seat_of(self._session.person)

    def _greet(self) -> None:
        s = self._replica.state
        if s.phase is Phase.LOBBY:
            self.say("seated", names=", ".join(s.name))
            return
        self._out.print(showing.position(s, self._language))
        self._show_prompt()

    # --- what happens

    async def _hear(self, feed: object) -> None:
        async for happening in feed:  # type: ignore[attr-defined]
            if self._heard(happening):
                return

    def _heard(self, happening: Happening) -> bool:
        """Show something that happened; whether it was the last."""
        if isinstance(happening, Happened):
            showing.lines(self._out, happening.lines)
        elif isinstance(happening, Said):
            self._out.print(f"{happening.name}: {happening.text}", markup=False, style="dim")
        elif isinstance(happening, Gone):
            self._out.print(happening.sentence, markup=False)
            return True
        elif isinstance(happening, Prompted | Pictured | CaughtUp):
            self._show_prompt()
        s = self._replica.state
        if showing.over(s):
            self._out.print(showing.places(s, self._language))
            return True
        return False

    # --- one's decision

    def _show_prompt(self) -> None:
        """The position in brief and the choices, once for each decision."""
        kept = self._replica.prompt
        if kept is None or (kept[0].prompt, kept[1]) == self._shown:
            return
        prompt, listed = kept
        self._shown = (prompt.prompt, listed)
        self._out.print(showing.position(self._replica.state, self._language))
        self._list(prompt.seat, listed)
        left_s = self._replica.left_s(prompt.seat)
        if left_s is None:
            self.say("choice", style="bold")
        else:
            self.say("choice_clock", style="bold", seconds=max(0, round(left_s)))
        self._remind(left_s)
        self._asked.set()

    def _list(self, seat: int, listed: tuple[LegalAction, ...]) -> None:
        self._choices = choosing.choices(self._replica.state, seat, listed, self._language)
        for number, choice in enumerate(self._choices, 1):
            self._out.print(f"{number:>3}  {choice.label}", markup=False)

    def _remind(self, left_s: float | None) -> None:
        if self._reminder is not None:
            self._reminder.cancel()
            self._reminder = None
        if left_s is not None and left_s > LAST_S:
            self._reminder = asyncio.get_running_loop().call_later(left_s - LAST_S, self._reminded, self._shown[0])

    def _reminded(self, prompt: int) -> None:
        kept = self._replica.prompt
        if kept is not None and kept[0].prompt == prompt:
            self.say("left", style="bold", seconds=round(LAST_S))

    # --- what is typed

    async def _read(self) -> None:
        lines = await _stdin()
        while line := await lines.readline():
            try:
                if await self._typed(line.decode(errors="replace").strip()):
                    return
            except Refused as refused:
                self._out.print(refused.sentence, markup=False, style="red")
            except choosing.Unclear as unclear:
                self._out.print(f"{unclear}.", markup=False, style="red")

    async def _typed(self, text: str) -> bool:
        """Do what was typed; whether that was to quit. Raises ``Refused`` and ``Unclear``."""
        word, _, rest = text.partition(" ")
        s = self._replica.state
        if word in ("quit", "exit"):
            return True
        if not text:
            return False
        if word == "look":
            self._out.print(showing.position(s, self._language))
        elif word == "card" and rest.isdecimal() and int(rest) < s.rules.fields_n:
            self._out.print(showing.card(s, int(rest), self._language))
        elif word == "more":
            prompt, listed = await self._play.legal(s.table)
            self._list(prompt.seat, listed)
        elif word == "say":
            await self._play.say(s.table, rest)
        elif word == "start" and s.phase is Phase.LOBBY:
            await self._play.act(s.table, act.Start())
        else:
            await self._choose(text)
        return False

    async def _choose(self, text: str) -> None:
        """Act as typed. On a terminal at once; a script's next line is for the next decision."""
        s, seat = self._replica.state, self.seat
        if seat < 0 or s.out[seat] != Out.IN:
            raise choosing.Unclear("you have no seat in this game")
        if not self._by_hand:
            await self._asked.wait()
        action = choosing.parse(text, self._choices, s)
        prompt, self._shown = self._shown[0], (0, ())
        self._asked.clear()
        try:
            await self._play.act(s.table, action)
        except Refused:
            # The list that was shown still holds, as far as anybody knows.
            self._asked.set()
            raise
        kept = self._replica.prompt
        if kept is not None and kept[0].prompt == prompt:
            await self._ask_again()

    async def _ask_again(self) -> None:
        """The decision is still open: what may be done now is another list."""
        prompt, listed = await self._play.legal(self._replica.table)
        if prompt.prompt:
            self._replica.prompted(prompt, listed)
            self._show_prompt()


async def _stdin() -> asyncio.StreamReader:
    """Standard input, line by line, without a thread that would hold up the end."""
    reader = asyncio.StreamReader()
    # Our own descriptor: the loop closes what it reads from.
    stdin = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    try:
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stdin)
    except ValueError:
        # A plain file is no pipe; it is all there already.
        with stdin:
            reader.feed_data(stdin.read())
        reader.feed_eof()
    return reader
