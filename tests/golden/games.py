"""Golden playthroughs: one whole game of bots for every edition, mode and ring that ships, as text.

A game depends on its seed, the rules, the edition and the bots, and on nothing else; every word of it is compared.
Whoever changes what is played writes the texts anew (`make golden`) and reads what has changed in them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from omnipoly.bots.strategy import Bot
from omnipoly.bots.table import BEGIN_MS, Table
from omnipoly.editions import loader
from omnipoly.rules import actions
from omnipoly.rules.actions import Action, Side
from omnipoly.rules.events import Event, TableOpened, kind_of
from omnipoly.rules.ring import Game
from omnipoly.rules.state import Options, Prompt

FOLDER = Path(__file__).parent
SEED = "golden"


class Playthrough(NamedTuple):
    """One game that is kept."""

    edition: str
    board: str
    seats: int

    @property
    def path(self) -> Path:
        """Where it is kept: ``globopoly-quick-ring40.txt``."""
        return FOLDER / f"{self.edition.replace('/', '-')}-{self.board}.txt"


def shipped() -> Iterator[Playthrough]:
    """Every edition in each of its modes, on each of its rings."""
    for name in loader.shipped():
        for ring in Game(loader.edition(name)).rings.values():
            least, most = ring.board.players
            yield Playthrough(name, ring.board.id, max(least, min(most, 4)))


@functools.cache
def text(game: Playthrough) -> str:
    """The game as it is played now."""
    told = [
        f"# {game.edition} on {game.board}: {game.seats} bots, seed {SEED!r}. Written by `make golden`.",
        "# A command: seconds since the beginning, who, what. Below it each event. Clocks are seconds like these.",
    ]

    def watch(now_ms: int, actor: str, action: Action | None, events: list[Event]) -> None:
        done = _record(actions.kind_of(action), action) if action is not None else "clock"
        told.append(f"{_clock(now_ms)} {actor} {done}" if actor else f"{_clock(now_ms)} {done}")
        told.extend(f"  {_record(kind_of(event), event)}" for event in events)

    played = Table(loader.edition(game.edition), [Bot(seat) for seat in range(game.seats)], SEED, watch=watch).play()
    told.append(f"# {played.rounds} rounds, {played.turns} turns, {played.actions} actions, ended by {played.why}.")
    return "\n".join(told) + "\n"


def _record(kind: str, record: msgspec.Struct) -> str:
    """A kind and what it names; what is empty, and what every game has of its own, is left out."""
    parts = [kind]
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if isinstance(record, TableOpened) and name in ("table", "digest", "commitment"):
            continue
        if name.endswith("_ms") and value:
            parts.append(f"{name.removesuffix('_ms')}={_clock(value)}")
        elif (written := _written(value)) != "":
            parts.append(f"{name}={written}")
    return " ".join(parts)


def _written(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else ""
        case int():
            return str(int(value))
        case Prompt():
            clock = f"@{_clock(value.deadline_ms)}" if value.deadline_ms else ""
            return f"{value.seat}:{value.prompt}:{value.phase.label}{clock}"
        case Side():
            return _inside((value.cash, *(f"#{field}" for field in value.fields), *value.cards))
        case Options():
            names = [name for name in value.__struct_fields__ if getattr(value, name)]
            return _inside(f"{name}={_written(getattr(value, name))}" for name in names)
        case tuple():
            return _inside(map(_written, value)) if value else ""
        case None:
            return ""
        case _:
            return str(value).replace(" ", "_")


def _inside(parts: Iterable[object]) -> str:
    return "(" + ",".join(map(str, parts)) + ")"


def _clock(at_ms: int) -> str:
    return f"{(at_ms - BEGIN_MS) / 1000:g}"
