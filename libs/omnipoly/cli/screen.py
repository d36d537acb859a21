"""What the commands themselves say at a table, in each language: headings, choices, what is the matter with a seat."""

from __future__ import annotations

import functools
from importlib import resources
from typing import get_args

from omnipoly.client.wording import Keys, Wording
from omnipoly.editions.languages import Language
from omnipoly.rules.cardinfo import RowKind
from omnipoly.rules.state import Out, Phase

KINDS = (
    *("start", "roll", "buy", "decline", "pay_bail", "use_card", "teleport", "travel", "end_turn", "pass"),
    *("pay", "raise", "give_up", "claim_rent", "build", "sell_building", "sell_property", "mortgage", "lift_mortgage"),
    *("accept", "refuse", "withdraw", "leave", "propose_end"),
    *("replace_with_bot", "take_seat", "remove", "close_table"),
)
"""Kinds of action whose choices begin with one phrase."""

PHRASES: dict[str, tuple[str, ...]] = {
    "at_table": ("table",),
    "seated": ("names",),
    "choice": (),
    "choice_clock": ("seconds",),
    "left": ("seconds",),
    "heading.cash": (),
    "heading.on": (),
    "heading.lots": (),
    "heading.place": (),
    "heading.net_worth": (),
    "note.owes": ("amount",),
    "note.jailed": ("jail?",),
    "note.away": (),
    **{f"out.{out.name.lower()}": () for out in Out if out is not Out.IN},
    **{f"do.{kind}": () for kind in KINDS},
    "do.factory": (),
    "with_field": ("do",),
    "bid": ("amount",),
    "bid_amount": ("least", "most"),
    "vote.yes": (),
    "vote.no": (),
    "offer": ("partners",),
    **{f"row.{kind}": ("number?",) for kind in get_args(RowKind)},
    "factor": ("factor",),
    "drawn.state": ("round", "who", "phase"),
    **{f"phase.{phase.label}": () for phase in Phase},
    "drawn.auction": ("field",),
    "drawn.no_bid": (),
    "drawn.bidder": ("name",),
    "drawn.casino": ("amount",),
    "drawn.seconds": ("seconds",),
    "drawn.yours": (),
    "drawn.may": (),
    "drawn.nothing": (),
    "drawn.watching": (),
    "drawn.type": (),
    "drawn.keys": (),
    "drawn.over": (),
    "drawn.help": (),
    "costs": ("amount",),
    "brings": ("amount",),
}
"""Parts of what is shown, and what they use."""

KEYS = Keys({}, PHRASES, ("cards", "steps"))


@functools.cache
def screen(language: Language) -> Wording:
    """The commands' sentences in a language."""
    return Wording(language, (resources.files(__package__) / "lines" / f"{language}.toml").read_text("utf-8"), KEYS)
