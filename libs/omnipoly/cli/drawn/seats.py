"""The players beside the board: money, lots by colour, clocks, what is the matter with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from omnipoly.rules.ring import Kind
from omnipoly.rules.state import FACTORY, FREE, HOTEL, Away, Out, Phase

from . import colours
from .board import seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnipoly.client.teller import Teller
    from omnipoly.client.wording import Wording
    from omnipoly.rules.state import State


def draw(s: State, me: int, width: int, teller: Teller, say: Wording, left_s: Callable[[int], float | None]) -> Text:
    """Two lines a player: name and cash; lots by colour and notes. ``left_s``: of a seat's open decision."""
    lines: list[Text] = []
    for seat in s.order or range(len(s.name)):
        lines += _player(s, seat, me, width, teller, say, left_s(seat))
    return Text("\n").join(lines)


def _player(s: State, seat: int, me: int, width: int, teller: Teller, say: Wording, left_s: float | None) -> list[Text]:
    if s.phases[0] is Phase.LOBBY:
        line = Text(" ").append(colours.letter(seat), f"bold black on {colours.of_seat(seat)}")
        return [line.append(f" {s.name[seat]}", "bold" if seat == me else ""), Text()]
    playing = s.out[seat] == Out.IN
    line = Text("»" if seat == s.turn and s.phase is not Phase.OVER else " ", "bold yellow")
    line.append(colours.letter(seat), f"bold black on {colours.of_seat(seat)}")
    cash = teller.money(s.cash[seat]) if playing else ""
    room = max(1, width - 4 - cell_len(cash))
    line.append(" " + set_cell_size(s.name[seat], room), "bold" if seat == me else "" if playing else "strike dim")
    line.append(" " + cash, "bold")
    below = Text("   ")
    for at, owner in enumerate(s.owner):
        if owner == seat:
            below.append_text(_lot(s, at))
    notes = _notes(s, seat, teller, say, left_s)
    if notes:
        below.append(("" if not below.plain.strip() else " ") + ", ".join(notes), "dim")
    below.truncate(width, overflow="ellipsis")
    return [line, below]


def _lot(s: State, at: int) -> Text:
    rules = s.rules
    level = s.level[at]
    mark = "m" if s.mortgaged[at] else {0: " ", HOTEL: "H", FACTORY: "F"}.get(level, str(level))
    if rules.kind[at] is Kind.STREET:
        return Text(mark, f"bold white on {colours.of_set(rules.set_of[at])}")
    return Text(mark if mark != " " else ("=" if rules.kind[at] is Kind.TRANSPORT else "~"), "white on #565d63")


def _notes(s: State, seat: int, teller: Teller, say: Wording, left_s: float | None) -> list[str]:
    if s.places:
        return [f"{say.phrase('heading.place')} {s.places[seat]}"]
    if s.out[seat] != Out.IN:
        return [say.phrase(f"out.{Out(s.out[seat]).name.lower()}")]
    found = []
    if left_s is not None:
        found.append(say.phrase("drawn.seconds", seconds=seconds(left_s)))
    found += [say.phrase("note.owes", amount=teller.money(debt.amount)) for debt in s.debts if debt.debtor == seat]
    if s.jailed[seat] != FREE:
        found.append(say.phrase("note.jailed", jail=teller.jail))
    if s.away[seat] != Away.NO and not s.bot[seat]:
        found.append(say.phrase("note.away"))
    if s.cards[seat]:
        found.append(say.count("cards", len(s.cards[seat])))
    return found
