"""What the commands print of a table: lines of its record, a position in brief, places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnipoly.client.teller import Teller
from omnipoly.rules import cardinfo
from omnipoly.rules.ending import net_worth
from omnipoly.rules.state import FREE, Away, Out, Phase

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.table import Table

    from omnipoly.client.record import Line
    from omnipoly.client.wording import Wording
    from omnipoly.rules.state import State

STYLES = {
    "turn_started": "bold",
    "game_ended": "bold green",
    "seat_out": "bold red",
    "auction_opened": "cyan",
    "auction_closed": "cyan",
    "bid_made": "cyan",
    "offer_made": "magenta",
    "offer_closed": "magenta",
    "paid": "yellow",
    "card_drawn": "italic",
}
"""How lines of a record look on a terminal, by kind."""


def console(*, stderr: bool = False, columns: int | None = None) -> Console:
    """Where to print: plain text where nobody looks at a terminal, `columns` wide there."""
    from rich.console import Console

    out = Console(soft_wrap=True, highlight=False, stderr=stderr)
    if columns is not None and not out.is_terminal:
        out.width = columns
    return out


LIST_COLUMNS = 240
"""How wide a list is where no terminal wraps it: ids stay whole, a row is a line."""


def lines(out: Console, told: Iterable[Line]) -> None:
    """Print lines of a record."""
    from rich.markup import escape

    for line in told:
        style = STYLES.get(line.kind, "")
        text = escape(line.text)
        out.print(f"[{style}]{text}[/]" if style else text)


def position(s: State, language: str = "") -> Table:
    """Where everybody stands: cash, field, lots, what is the matter with them."""
    teller, say = _words(s, language)
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    for heading, justify in (("", "left"), ("cash", "right"), ("on", "left"), ("lots", "right"), ("", "left")):
        table.add_column(heading and say.phrase(f"heading.{heading}"), justify=justify)  # type: ignore[arg-type]
    for seat, name in enumerate(s.name):
        mark = "[bold]»[/] " if seat == s.turn else "  "
        if s.out[seat] != Out.IN:
            table.add_row(f"  {escape(name)}", "", "", "", say.phrase(f"out.{Out(s.out[seat]).name.lower()}"))
            continue
        notes = [say.phrase("note.owes", amount=teller.money(debt.amount)) for debt in s.debts if debt.debtor == seat]
        if s.jailed[seat] != FREE:
            notes.append(say.phrase("note.jailed", jail=teller.jail))
        if s.away[seat] != Away.NO:
            notes.append(say.phrase("note.away"))
        if s.cards[seat]:
            notes.append(say.count("cards", len(s.cards[seat])))
        at, cash = escape(teller.field(s.position[seat])), teller.money(s.cash[seat])
        table.add_row(mark + escape(name), cash, at, str(s.lots[seat]), escape(", ".join(notes)))
    return table


def card(s: State, at: int, language: str = "") -> Table:
    """A field's card: its whole rent table, with the row marked that applies right now (TUB-RENT-CARDINFO)."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    teller, say = _words(s, language)
    info = cardinfo.card(s, at)
    owner = f", {teller.party(info.owner)}" if info.owner >= 0 else ""
    price = f", {teller.money(s.rules.price[at])}" if info.rows else ""
    table = Table(title=escape(f"{at} {teller.field(at)}{price}{owner}"), title_justify="left", box=box.SIMPLE)
    table.show_header = False
    for number, row in enumerate(info.rows):
        rent = say.phrase("factor", factor=row.factor) if row.factor else teller.money(row.amount)
        mark = "»" if number == info.applies else ""
        table.add_row(mark, escape(say.phrase(f"row.{row.kind}", number=row.number)), escape(rent))
    if not info.rows:
        table.add_row("", "", "")  # a table without columns would not show its title
    return table


def places(s: State, language: str = "") -> Table:
    """Who came where, with what."""
    teller, say = _words(s, language)
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    for heading, justify in (("place", "right"), ("", "left"), ("net_worth", "right"), ("", "left")):
        table.add_column(heading and say.phrase(f"heading.{heading}"), justify=justify)  # type: ignore[arg-type]
    for seat in sorted(range(len(s.places)), key=lambda seat: s.places[seat]):
        out = "" if s.out[seat] == Out.IN else say.phrase(f"out.{Out(s.out[seat]).name.lower()}")
        worth = teller.money(net_worth(s, seat)) if s.out[seat] == Out.IN else ""
        table.add_row(str(s.places[seat]), escape(s.name[seat]), worth, out)
    return table


def _words(s: State, language: str) -> tuple[Teller, Wording]:
    """A table's names, and the commands' own words, in a language."""
    from .screen import screen

    teller = Teller(s, language)
    return teller, screen(teller.words.language)


def over(s: State) -> bool:
    """Whether the game has ended and its seed is published, as far as it has one."""
    return s.phases[-1] is Phase.OVER and bool(s.seed or not s.commitment or not s.started_ms)


def last(out: Console, sentence: str | None, s: State, language: str = "") -> None:
    """What stays on the terminal once the drawn table is gone."""
    if sentence:
        out.print(sentence, markup=False)
    if s.places:
        out.print(places(s, language))
