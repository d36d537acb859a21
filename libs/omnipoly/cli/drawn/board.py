"""The ring as text: each field with its set's colour, owner, buildings and figures, and what stands in the middle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from omnipoly.rules import cardinfo
from omnipoly.rules.ring import Kind
from omnipoly.rules.state import FACTORY, HOTEL, NOBODY, Out, Phase

from . import colours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnipoly.client.teller import Teller
    from omnipoly.client.wording import Wording
    from omnipoly.rules.state import State

    from .ring import Ring

SIGNS = {
    Kind.START: "«",
    Kind.TRANSPORT: "=",
    Kind.UTILITY: "~",
    Kind.DECK: "?",
    Kind.TAX: "-",
    Kind.WINDFALL: "+",
    Kind.JAIL: "#",
    Kind.PARKING: "P",
    Kind.GO_TO_JAIL: "!",
    Kind.CASINO: "*",
    Kind.CASINO_FEE: "%",
}
"""What stands in a field that is no street."""
NAMED = 5
"""Columns that are left in a cell of one line for the beginning of a name."""
_PLAIN = "#3a3f44"
_LOT = "#565d63"
_PICKED = "on #d8d8d8"


def draw(s: State, ring: Ring, names: Sequence[str], picked: int, middle: Sequence[Text]) -> Text:
    """The board, line by line. ``names``: by field, as shown; ``picked``: the field that is marked, -1 for none."""
    at = {place: field for field, place in enumerate(ring.places)}
    figures = _figures(s)
    lines: list[Text] = []
    inside = ring.width - 2 * ring.cell_width
    waiting = iter(middle[: max(0, ring.height - 2 * ring.cell_height)])
    for row in range(ring.rows):
        cells = {
            column: _cell(s, ring, at[column, row], figures, names, picked == at[column, row])
            for column in range(ring.columns)
            if (column, row) in at
        }
        for line in range(ring.cell_height):
            text = Text(no_wrap=True)
            if row in (0, ring.rows - 1):
                for column in range(ring.columns):
                    text.append_text(cells[column][line] if column in cells else Text(" " * ring.cell_width))
            else:
                text.append_text(cells[0][line])
                text.append_text(_fitted(next(waiting, Text()), inside))
                last = ring.columns - 1
                text.append_text(cells[last][line] if last in cells else Text(" " * ring.cell_width))
            lines.append(text)
    return Text("\n").join(lines)


def _figures(s: State) -> dict[int, list[int]]:
    """Who stands where, once there is a game."""
    found: dict[int, list[int]] = {}
    if s.phases[0] is not Phase.LOBBY:
        for seat, position in enumerate(s.position):
            if s.out[seat] == Out.IN:
                found.setdefault(position, []).append(seat)
    return found


def _cell(
    s: State, ring: Ring, at: int, figures: dict[int, list[int]], names: Sequence[str], picked: bool
) -> list[Text]:
    rules, wide = s.rules, ring.cell_width
    kind = rules.kind[at]
    ground = colours.of_set(rules.set_of[at]) if kind is Kind.STREET else _LOT if rules.price[at] else _PLAIN
    style = f"black {_PICKED}" if picked else f"white on {ground}"
    owned = _owned(s, at, kind, style)
    here = Text(style=style)
    room = max(1, wide - (cell_len(owned.plain) if ring.cell_height == 1 else 0) - 1) if wide > 1 else 1
    for seat in figures.get(at, ())[:room]:
        mark = "+" if len(here) == room - 1 and len(figures[at]) > room else colours.letter(seat)
        here.append(mark, f"bold black on {colours.of_seat(seat)}")
    if ring.cell_height == 1:
        if wide == 1:
            return [here if here.plain else _fitted(owned, 1, style)]
        gap = max(0, wide - cell_len(owned.plain) - len(here) - (1 if wide > 2 else 0))
        begun = f" {set_cell_size(names[at], gap - 1)}" if gap >= NAMED else " " * gap
        line = Text(style=style).append_text(owned).append(begun).append_text(here)
        return [_fitted(line, wide, style)]
    name = Text(set_cell_size(names[at], wide - 1), style)
    last = Text(style=style).append_text(owned)
    last.append(" " * max(1, wide - 1 - cell_len(owned.plain) - len(here))).append_text(here)
    lines = [name, last] if ring.cell_height == 2 else [name, Text(_rest(names[at], wide - 1), style), last]
    return [_fitted(line, wide, style) for line in lines]


def _rest(name: str, wide: int) -> str:
    """What of a name does not fit on its first line."""
    return set_cell_size(name[len(set_cell_size(name, wide).rstrip()) :].strip(), wide)


def _owned(s: State, at: int, kind: Kind, style: str) -> Text:
    """Its owner's letter and what stands there; of the bank's own lots and other fields their sign."""
    owner = s.owner[at] if at < len(s.owner) else NOBODY
    if owner == NOBODY:
        return Text(SIGNS.get(kind, " "), style)
    level = s.level[at]
    stands = "m" if s.mortgaged[at] else {0: "", HOTEL: "H", FACTORY: "F"}.get(level, str(level))
    mark = Text(style=style)
    mark.append(colours.letter(owner), f"bold underline {colours.of_seat(owner)} on #202020")
    return mark.append(stands, f"{style} bold")


def _fitted(text: Text, wide: int, style: str = "") -> Text:
    """Exactly so wide."""
    fitted = text.copy()
    fitted.truncate(wide, overflow="crop")
    fitted.append(" " * (wide - cell_len(fitted.plain)), style)
    return fitted


# --- what stands in the middle


def card(s: State, at: int, teller: Teller, say: Wording) -> list[Text]:
    """A field's card, with the row marked that applies (TUB-RENT-CARDINFO)."""
    info = cardinfo.card(s, at)
    title = Text(f" {at} {teller.field(at)}", "bold")
    parts = [teller.money(s.rules.price[at])] if info.rows else []
    if info.owner >= 0:
        parts.append(str(teller.party(info.owner)))
    found = [title, Text(" " + ", ".join(parts), "dim")] if parts else [title]
    rows = list(enumerate(info.rows))
    for number, row in rows:
        rent = say.phrase("factor", factor=row.factor) if row.factor else teller.money(row.amount)
        mark = "»" if number == info.applies else " "
        style = "bold yellow" if number == info.applies else ""
        found.append(Text(f" {mark}{say.phrase(f'row.{row.kind}', number=row.number)}: {rent}", style))
    return found


def auction(s: State, teller: Teller, say: Wording, left_s: float | None) -> list[Text]:
    """The running auction: the lot, the clock, the last bids."""
    found = [Text(" " + say.phrase("drawn.auction", field=teller.field(s.lot)), "bold cyan")]
    clock = say.phrase("drawn.seconds", seconds=seconds(left_s)) if left_s is not None else ""
    if s.bids:
        for bid in reversed(s.bids[-4:]):
            line = Text(" ").append(colours.letter(bid.seat), f"bold {colours.of_seat(bid.seat)}")
            found.append(line.append(f" {s.name[bid.seat]} {teller.money(bid.amount)}"))
        found[1].stylize("bold")
    else:
        found.append(Text(" " + say.phrase("drawn.no_bid"), "dim"))
    if s.bidder != NOBODY:
        found.append(Text(" " + say.phrase("drawn.bidder", name=s.name[s.bidder])))
    found.insert(1, Text(f" {clock}", "bold yellow"))
    return found


def standing(s: State, teller: Teller, say: Wording) -> list[Text]:
    """The last throw, what is owed, which offers are open, what the casino holds."""
    found: list[Text] = []
    if s.thrown:
        dice = " ".join(f"[{one}]" for one in (*s.dice, s.speed) if one)
        found.append(Text(f" {dice}", "bold"))
    for debt in s.debts[:3]:
        owes = say.phrase("note.owes", amount=teller.money(debt.amount))
        found.append(Text(f" {s.name[debt.debtor]}: {owes}", "yellow"))
    for offer in s.offers[:4]:
        give, take = teller.side(offer.give), teller.side(offer.take)
        words = teller.phrase("offer", proposer=teller.party(offer.proposer), give=give, take=take)
        found.append(Text(f" {words} → {s.name[offer.receiver]}", "magenta"))
    if s.casino:
        found.append(Text(" " + say.phrase("drawn.casino", amount=teller.money(s.casino))))
    return found


def seconds(left_s: float) -> str:
    """A time that is left: with a tenth when it is short."""
    left_s = max(0.0, left_s)
    return f"{left_s:.1f}" if left_s < 10 else f"{left_s:.0f}"
