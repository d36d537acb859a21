"""The screen: the board, the players, the record, the choices, a line to type in. What happens is drawn as it comes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

import typer
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, OptionList, RichLog, Static
from textual.widgets.option_list import Option

from omnipoly.cli import choosing, showing
from omnipoly.cli.screen import screen
from omnipoly.client import Refused
from omnipoly.client.happenings import Gone, Happened, Said
from omnipoly.client.teller import Teller
from omnipoly.rules import actions as act
from omnipoly.rules.ending import net_worth
from omnipoly.rules.events import BidMade
from omnipoly.rules.state import Out, Phase

from . import board, colours, ring, seats

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from omnipoly.client import Play, TableReplica
    from omnipoly.client.happenings import Happening
    from omnipoly.rules.legal import LegalAction

TICK_S = 0.1
CLOCKS_EVERY = 3
"""Ticks between two drawings where nothing has happened but time."""
NOTICE_S = 6.0
SEATS_COLUMNS = 30
LOWER_LINES = 8
"""What the record and the choices keep, however large the ring."""


class Typed(Input):
    """The line one types in: empty again at once, so that whoever types fast sends nothing twice."""

    async def action_submit(self) -> None:
        """Hands the line on."""
        value, self.value = self.value, ""
        self.post_message(self.Submitted(self, value))


class TableApp(App[str]):
    """One table on one terminal, played at where there is a connection to play over. Ends with a last sentence."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; background: ansi_default; }
    #title { height: 1; text-style: bold; background: #21414a; color: white; }
    #upper { height: 10; }
    #board { width: 48; }
    #players { width: 1fr; padding-left: 1; }
    #lower { height: 1fr; }
    #record { width: 1fr; background: ansi_default; scrollbar-size: 1 1; }
    #doing { width: 1fr; padding-left: 1; }
    #heading { height: 1; text-style: bold; color: #ffd27f; }
    #choices { height: 1fr; border: none; background: ansi_default; padding: 0; scrollbar-size: 1 1; }
    #hint { height: 1; color: #8a949a; }
    #typed { background: #20262a; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "choose(-1)", priority=True),
        Binding("down", "choose(1)", priority=True),
        Binding("left", "look(-1)", priority=True),
        Binding("right", "look(1)", priority=True),
        Binding("pageup", "leaf(-1)", priority=True),
        Binding("pagedown", "leaf(1)", priority=True),
        Binding("escape", "game", priority=True),
        Binding("ctrl+q,ctrl+c", "quit", priority=True),
    ]

    def __init__(
        self,
        replica: TableReplica,
        feed: AsyncIterator[Happening],
        *,
        language: str = "",
        person: str = "",
        play: Play | None = None,
    ) -> None:
        """``play``: what to act over; none: watching. ``person``: whose seat is one's own."""
        super().__init__()
        self._replica = replica
        self._feed = feed
        self._person = person
        self._play = play
        self._teller = Teller(replica.state, language)
        self._say = screen(self._teller.words.language)
        self._language = language
        self._picked = -1
        self._help = False
        self._choices: list[choosing.Choice] = []
        self._listed: tuple[int, int, object] | None = None
        """What the shown choices are of: the prompt, the version of a list that was asked for, and the list."""
        self._more: tuple[LegalAction, ...] = ()
        """What may be done besides, as asked for at some version."""
        self._more_at = -1
        self._notice = ("", 0.0)
        self._dirty = True
        self._ticks = 0

    def compose(self) -> ComposeResult:
        """From the top: where the game stands; the ring and the players; the record and the choices; what is typed."""
        yield Static(id="title")
        with Horizontal(id="upper"):
            yield Static(id="board")
            with VerticalScroll(id="players", can_focus=False):
                yield Static(id="seats")
        with Horizontal(id="lower"):
            record = RichLog(id="record", wrap=True, max_lines=2000, min_width=20)
            record.can_focus = False
            yield record
            with Vertical(id="doing"):
                yield Static(id="heading")
                choices = OptionList(id="choices", markup=False)
                choices.can_focus = False
                yield choices
        yield Static(id="hint")
        yield Typed(id="typed", placeholder=self._say.phrase("drawn.type"), compact=True)

    def on_mount(self) -> None:
        """Begins to listen and to draw."""
        self.query_one("#typed").focus()
        self.set_interval(TICK_S, self._tick)
        self.run_worker(self._hear(), name="table-hear", exit_on_error=True)

    def on_resize(self) -> None:
        """Another size, another ring."""
        self._dirty = True

    @property
    def _seat(self) -> int:
        return self._replica.seat_of(self._person) if self._person else -1

    # --- what happens

    async def _hear(self) -> None:
        record = self.query_one("#record", RichLog)
        try:
            async for happening in self._feed:
                if isinstance(happening, Happened):
                    for line in happening.lines:
                        record.write(Text(line.text, showing.STYLES.get(line.kind, "")))
                    if any(isinstance(event, BidMade) for event in happening.commit.events):
                        self.run_worker(self._ask_again(), name="table-ask", exclusive=True, group="ask")
                elif isinstance(happening, Said):
                    record.write(Text(f"{happening.name}: {happening.text}", "dim"))
                elif isinstance(happening, Gone):
                    self.exit(happening.sentence)
                    return
                self._dirty = True
        except Refused as refused:
            self.exit(refused.sentence)

    async def _ask_again(self) -> None:
        """One's open decision holds other amounts now."""
        if self._play is None or self._replica.prompt is None:
            return
        try:
            prompt, listed = await self._play.legal(self._replica.table)
        except Refused as refused:
            self._tell(refused.sentence)
            return
        if prompt.prompt:
            self._replica.prompted(prompt, listed)
            self._dirty = True

    # --- drawing

    def _tick(self) -> None:
        self._ticks += 1
        if self._dirty or self._ticks % CLOCKS_EVERY == 0:
            self._dirty = False
            self._draw()

    def _draw(self) -> None:
        s = self._replica.state
        self._teller.s = s
        fitted = self._fit()
        self.query_one("#title", Static).update(self._title())
        names = [self._teller.words.name(field.name) for field in s.rules.fields]
        drawn = board.draw(s, fitted, names, self._picked, self._middle())
        self.query_one("#board", Static).update(drawn)
        width = max(10, self.size.width - fitted.width - 3)
        shown = seats.draw(s, self._seat, width, self._teller, self._say, self._replica.left_s)
        self.query_one("#seats", Static).update(shown)
        self._list()
        notice, until = self._notice
        hint = notice if time.monotonic() < until else self._say.phrase("drawn.keys")
        self.query_one("#hint", Static).update(Text(hint, "bold red" if hint == notice else "", no_wrap=True))

    def _fit(self) -> ring.Ring:
        width, height = self.size
        wide, high = max(20, width - SEATS_COLUMNS), max(ring.LEAST_INSIDE, (height - 3) * 10 // 21)
        fields = self._replica.state.rules.fields_n
        fitted = ring.fit(fields, wide, high, most_height=max(high, height - 3 - LOWER_LINES))
        self.query_one("#upper").styles.height = fitted.height
        self.query_one("#board").styles.width = fitted.width
        return fitted

    def _title(self) -> Text:
        s, say = self._replica.state, self._say
        phase = say.phrase(f"phase.{s.phase.label}")
        who = s.name[s.turn] if 0 <= s.turn < len(s.name) else ""
        state = say.phrase("drawn.state", round=s.round, who=who, phase=phase) if who else phase
        return Text(f" {self._teller.words.title} · {state}", no_wrap=True, overflow="ellipsis")

    def _middle(self) -> Sequence[Text]:
        s = self._replica.state
        if self._help:
            help_ = self._say.phrase("drawn.help")
            inside = self._fit()
            wide = inside.width - 2 * inside.cell_width - 2
            return [Text(f" {line}") for line in Text(help_).wrap(self.console, wide)]
        if s.phase is Phase.AUCTION or (s.lot >= 0 and self._picked < 0):
            left_s = (s.auction_deadline_ms - self._replica.now_ms()) / 1000 if s.auction_deadline_ms else None
            return board.auction(s, self._teller, self._say, left_s)
        if self._picked >= 0 and s.owner:
            return board.card(s, self._picked, self._teller, self._say)
        return board.standing(s, self._teller, self._say)

    def _list(self) -> None:
        """The choices, anew only where they are others: a highlighted one stays so."""
        s, say = self._replica.state, self._say
        kept, seat = self._replica.prompt, self._seat
        wanted: tuple[int, int, object]
        if s.places:
            wanted = (-1, len(s.places), None)
            heading, found = say.phrase("drawn.over"), self._places()
        elif seat < 0 or (s.phase is not Phase.LOBBY and s.out[seat] != Out.IN):
            wanted, heading, found = (-2, 0, None), say.phrase("drawn.watching"), []
        elif s.phase is Phase.LOBBY:
            heading = say.phrase("seated", names=", ".join(s.name))
            wanted = (-3, len(s.name), s.host)
            found = [choosing.Choice(say.phrase("do.leave"), act.Leave())]
            if s.host == self._person:
                found.insert(0, choosing.Choice(say.phrase("do.start"), act.Start()))
        elif kept is not None:
            wanted = (kept[0].prompt, 0, kept[1])
            left_s = self._replica.left_s(seat)
            clock = f" {say.phrase('drawn.seconds', seconds=board.seconds(left_s))}" if left_s is not None else ""
            heading, found = say.phrase("drawn.yours") + clock, choosing.choices(s, seat, kept[1], self._language)
        elif self._more_at == self._replica.version:
            wanted = (0, self._more_at, self._more)
            heading, found = say.phrase("drawn.may"), choosing.choices(s, seat, self._more, self._language)
        else:
            wanted, heading, found = (-4, 0, None), say.phrase("drawn.nothing"), []
        self.query_one("#heading", Static).update(Text(heading, no_wrap=True, overflow="ellipsis"))
        if wanted == self._listed:
            return
        self._listed, self._choices = wanted, found
        choices = self.query_one("#choices", OptionList)
        choices.clear_options()
        labels = [f"{number:>2} {choice.label}" for number, choice in enumerate(found, 1)]
        choices.add_options([Option(label) for label in (labels if not s.places else [one.label for one in found])])
        choices.highlighted = 0 if found else None

    def _places(self) -> list[choosing.Choice]:
        s = self._replica.state
        ranked = sorted(range(len(s.places)), key=lambda seat: s.places[seat])
        worth = [self._teller.money(net_worth(s, seat)) if s.out[seat] == Out.IN else "" for seat in ranked]
        return [
            choosing.Choice(f" {s.places[seat]} {colours.letter(seat)} {s.name[seat]} {amount}", None)
            for seat, amount in zip(ranked, worth, strict=True)
        ]

    def _tell(self, text: str) -> None:
        self._notice = (text, time.monotonic() + NOTICE_S)
        self._dirty = True

    # --- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Left and right are the typed line's own while something stands in it."""
        if action == "look":
            return not self.query_one("#typed", Input).value
        return super().check_action(action, parameters)

    def action_choose(self, by: int) -> None:
        """Another choice."""
        choices = self.query_one("#choices", OptionList)
        if choices.option_count:
            choices.highlighted = ((choices.highlighted or 0) + by) % choices.option_count

    def action_look(self, by: int) -> None:
        """Another field, from where one stands, in the way of the ring."""
        s = self._replica.state
        seat = self._seat if self._seat >= 0 else max(s.turn, 0)
        here = self._picked if self._picked >= 0 else (s.position[seat] if seat < len(s.position) else 0)
        # The ring runs to the left along the bottom: left is onwards.
        self._picked = (here - by) % s.rules.fields_n
        self._help = False
        self._dirty = True

    def action_leaf(self, by: int) -> None:
        """A page of the record."""
        record = self.query_one("#record", RichLog)
        record.auto_scroll = False
        record.scroll_relative(y=by * max(1, record.size.height - 1), animate=False)
        record.auto_scroll = by > 0 and record.scroll_offset.y + record.size.height >= record.virtual_size.height - 1

    def action_game(self) -> None:
        """From a field, from the help, or from a typed line to the game."""
        self.query_one("#typed", Input).value = ""
        self._picked, self._help = -1, False
        self.query_one("#record", RichLog).auto_scroll = True
        self._dirty = True

    # --- what is typed

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        """Does what was typed, or takes the choice that is highlighted."""
        try:
            await self._do(event.value.strip())
        except (Refused, choosing.Unclear) as error:
            self._tell(error.sentence if isinstance(error, Refused) else f"{error}.")

    async def _do(self, text: str) -> None:
        """Raises ``Refused`` and ``Unclear``."""
        s, play = self._replica.state, self._play
        word, _, rest = text.partition(" ")
        if word in ("quit", "exit") or (not text and s.places):
            self.exit("")
        elif word == "help":
            self._help = not self._help
            self._dirty = True
        elif word == "card" and rest.isdecimal() and int(rest) < s.rules.fields_n:
            self._picked = int(rest)
            self._dirty = True
        elif play is None:
            raise choosing.Unclear(self._say.phrase("drawn.watching"))
        elif word == "say":
            await play.say(s.table, rest)
        elif word == "more":
            await self._ask_more(play)
        else:
            await self._act(play, text)

    async def _ask_more(self, play: Play) -> None:
        prompt, listed = await play.legal(self._replica.table)
        if prompt.prompt:
            self._replica.prompted(prompt, listed)
        self._more, self._more_at = listed, self._replica.version
        self._dirty = True

    async def _act(self, play: Play, text: str) -> None:
        s = self._replica.state
        if not text:
            highlighted = self.query_one("#choices", OptionList).highlighted
            if highlighted is None or highlighted >= len(self._choices):
                return
            text = str(highlighted + 1)
        action = act.Start() if text == "start" and s.phase is Phase.LOBBY else choosing.parse(text, self._choices, s)
        kept = self._replica.prompt
        await play.act(s.table, action)
        still = self._replica.prompt
        if kept is not None and still is not None and still[0].prompt == kept[0].prompt:
            await self._ask_again()
        self._dirty = True


async def shown(app: TableApp) -> str:
    """Shows it until it is left; its last sentence. Raises ``typer.Exit`` when it failed, which it has told then."""
    sentence = await app.run_async()
    if app.return_code:
        raise typer.Exit(app.return_code)
    return sentence or ""
