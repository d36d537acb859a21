"""Editions on a terminal: lists, boards with their whole rent tables, decks, options, choices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from google.protobuf import json_format
from rich import box
from rich.markup import escape
from rich.table import Table

from omnipoly.editions import explained
from omnipoly.editions.model import BoolOption, OptionChoices
from omnipoly.editions.texts import Words
from omnipoly.rules import cardinfo
from omnipoly.rules.ring import Game, Kind
from omnipoly.wire import editions as wire
from omnipoly.wire.gen.gateway.v1 import lobby_pb2

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from rich.console import Console

    from omnipoly.editions.model import Board, Edition, Field, IntOption
    from omnipoly.rules.cardinfo import Row
    from omnipoly.rules.ring import Rules

_HEADS = {
    "bare": "bare",
    "part": "{n} of set",
    "set": "set",
    "houses": "{n}",
    "hotel": "hotel",
    "transports": "{n} owned",
    "utilities": "{n} owned",
}
"""What the columns of a rent table are called; a factory and a mortgaged lot take nothing in any edition."""


def listed(editions: Iterable[Edition], language: str = "") -> Table:
    """A row for every edition."""
    table = _table("edition", "title", ">players", "boards", "languages")
    for edition in editions:
        boards = ", ".join(f"{board.id} ({_range(board.players)})" for board in edition.boards)
        players = _range((edition.boards[0].players[0], edition.boards[-1].players[1]))
        title = Words(edition, language).title
        table.add_row(*map(escape, (edition.id, title, players, boards, ", ".join(edition.languages))))
    return table


def summaries_json(editions: Iterable[Edition]) -> str:
    """The same as JSON."""
    return json_of(lobby_pb2.ListEditionsResponse(editions=map(wire.summary, editions)))


def json_of(message: Message) -> str:
    """A message as JSON; what is not set is left out."""
    return json_format.MessageToJson(message, preserving_proto_field_name=True, ensure_ascii=False)


def show(out: Console, edition: Edition, language: str = "") -> None:
    """All of an edition."""
    words = Words(edition, language)
    out.print(f"[bold]{escape(words.title)}[/]  {edition.id}")
    seats = _range((edition.boards[0].players[0], edition.boards[-1].players[1]))
    out.print(f"{seats} players; money: {words.currency}; languages: {', '.join(edition.languages)}", markup=False)
    out.print(f"digest {edition.digest}", style="dim")
    game = Game(edition)
    for board in edition.boards:
        out.print(f"\n[bold]Board {board.id}[/], {_range(board.players)} players, {len(board.field)} fields")
        rules = game.ring(board.id)
        out.print(_fields(board, rules, words))
        out.print(_costs(rules, words))
        for kind in (Kind.STREET, Kind.TRANSPORT, Kind.UTILITY):
            lots = [at for at in rules.lots if rules.kind[at] is kind]
            if lots:
                out.print(_rents(lots, rules, words))
    for name in edition.decks:
        out.print(f"\n[bold]Deck {escape(words.deck(name))}[/] ({name})")
        out.print(_deck(edition, name, words))
    out.print("\n[bold]Options[/]")
    out.print(_options(edition))
    out.print("\n[bold]Choices[/]")
    out.print(_choices(edition))


# --- boards -----------------------------------------------------------------------------------------------------------


def _fields(board: Board, rules: Rules, words: Words) -> Table:
    table = _table(">", "field", "group", "kind", "what happens")
    for at, field in enumerate(board.field):
        what = "" if rules.price[at] else _happens(field, words)
        kind = field.kind.replace("_", " ")
        table.add_row(str(at), *map(escape, (words.name(field.name), words.name(field.group), kind, what)))
    return table


def _happens(field: Field, words: Words) -> str:
    match field.kind:
        case "deck":
            return f"draws from {field.deck}"
        case "tax":
            return f"owes {field.percent} % of the cash" if field.percent else f"owes {words.money(field.amount)}"
        case "windfall":
            return f"gets {words.money(field.amount)}"
        case "casino_fee":
            return f"owes the casino {words.money(field.amount)}"
    return ""


def _costs(rules: Rules, words: Words) -> Table:
    """What every lot costs and brings, but for its rent."""
    factories = rules.choices.building.factory
    table = _table("lot", ">price", ">loan", ">lift", ">house", *((">factory", ">earns") if factories else ()))
    for at in rules.lots:
        costs = [rules.price[at], rules.loan[at], rules.lift_cost[at], rules.house_cost[at]]
        if factories:
            costs += [rules.factory_cost[at], rules.factory_income[at]]
        table.add_row(escape(words.name(rules.fields[at].name)), *(str(cost or "") for cost in costs))
    return table


def _rents(lots: list[int], rules: Rules, words: Words) -> Table:
    """What lots of one kind take, in the rows of their cards."""
    fullest = max(lots, key=lambda at: len(cardinfo.rent_table(rules, at)))
    columns = list(dict.fromkeys(_head(row) for at in (fullest, *lots) for row in _rows(rules, at)))
    table = _table("rent", *(f">{column}" for column in columns))
    for at in lots:
        rents = {_head(row): f"×{row.factor}" if row.factor else str(row.amount) for row in _rows(rules, at)}
        table.add_row(escape(words.name(rules.fields[at].name)), *(rents.get(column, "") for column in columns))
    return table


def _rows(rules: Rules, at: int) -> Iterator[Row]:
    return (row for row in cardinfo.rent_table(rules, at) if row.kind in _HEADS)


def _head(row: Row) -> str:
    return _HEADS[row.kind].format(n=row.number)


# --- decks, options, choices ------------------------------------------------------------------------------------------


def _deck(edition: Edition, name: str, words: Words) -> Table:
    table = _table("card", "text")
    for card in edition.decks[name]:
        texts = dict.fromkeys(words.card(board, name, card) for board in edition.boards)
        table.add_row(card.id, escape(" / ".join(texts)))
    return table


def _options(edition: Edition) -> Table:
    table = _table("option", ">unless chosen", "allowed", "what it is")
    for name in OptionChoices.__struct_fields__:
        option: IntOption | BoolOption | None = getattr(edition.options, name)
        if option is None:
            continue
        meaning = explained.attributes(OptionChoices)[name].text
        if isinstance(option, BoolOption):
            table.add_row(name, "on" if option.default else "off", "on, off", escape(meaning))
        else:
            allowed = _range(option.range) if option.range else ", ".join(map(str, option.values))
            table.add_row(name, str(option.default), allowed, escape(meaning))
    return table


def _choices(edition: Edition) -> Table:
    table = _table("choice", "chosen", "what it means")
    before = ""
    for topic, name, value in explained.chosen(edition.rules):
        if before not in ("", topic):
            table.add_section()
        before = topic
        meaning = explained.choice(topic, name, value)
        table.add_row(f"{topic}.{name}", escape(explained.written(value) or "–"), escape(meaning))
    return table


def _range(bounds: tuple[int, int]) -> str:
    return f"{bounds[0]}–{bounds[1]}" if bounds[0] != bounds[1] else str(bounds[0])


def _table(*headings: str) -> Table:
    """A table; a heading that begins with > is one of numbers."""
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        if heading.startswith(">"):
            # a number is never cut; where it gets narrow, the texts beside it are broken
            table.add_column(heading.removeprefix(">"), justify="right", no_wrap=True)
        else:
            table.add_column(heading, overflow="fold")
    return table
