"""What a row of the table is made of, and pairs: two things measured in turn, A B A B …, and their medians."""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from .processes import Generator, Platform, Process, cpu_s, family_cpu_s


class Row(NamedTuple):
    """One line of the table."""

    id: str
    what: str
    measured: str
    against: str
    ratio: float | None
    """Of the medians of pairs; or the figure itself that the aim is about."""
    aim: str
    reached: bool | None
    """None: it has no aim of its own."""
    details: dict[str, Any]


class Asked(NamedTuple):
    """How long and how often."""

    seconds: float
    """Of one half of a pair."""
    pairs: int
    tell: Callable[[str], None]
    """Is given what is being done."""


Measure = Callable[[Platform, Asked], Awaitable[list[Row]]]


class Half(NamedTuple):
    """One half of a pair: a figure and what else was seen."""

    figure: float
    details: dict[str, Any]


async def paired(
    asked: Asked, a: Callable[[], Awaitable[Half]], b: Callable[[], Awaitable[Half]]
) -> tuple[float, list[Half], list[Half]]:
    """(median of B's figure by A's in each pair, all halves of A, all of B). Every other pair begins with B."""
    ones, others = [], []
    for number in range(asked.pairs):
        for first in (True, False):
            if first == (number % 2 == 0):
                ones.append(await a())
            else:
                others.append(await b())
    return statistics.median(o.figure / one.figure for one, o in zip(ones, others, strict=True)), ones, others


def median(halves: Sequence[Half], key: str = "") -> float:
    """The median of the figures, or of a detail."""
    return statistics.median(half.details[key] if key else half.figure for half in halves)


async def played(running: Platform, generator: Generator, processes: Sequence[Process], seconds: float) -> Half:
    """A stretch of commands: how many a second, and the processor time of each process for one of them."""
    pids = {process.name: process.pid for process in processes}
    before = {name: cpu_s(pid) for name, pid in pids.items()}
    servers = family_cpu_s(running.postgres.pid), cpu_s(running.nats.pid)
    answer = await generator.ask(seconds=seconds)
    commands = max(1, answer["commands"])
    spent = {name: cpu_s(pid) - before[name] for name, pid in pids.items()}
    spent["postgres"] = family_cpu_s(running.postgres.pid) - servers[0]
    spent["nats"] = cpu_s(running.nats.pid) - servers[1]
    spent["generator"] = answer["cpu_s"]
    answer["cpu_us"] = {name: round(1e6 * used / commands) for name, used in spent.items()}
    answer["generator_busy"] = answer["cpu_s"] / answer["took_s"]
    return Half(max(answer["per_s"], 1e-9), answer)


def medians_of_cpu(halves: Sequence[Half]) -> dict[str, float]:
    """Microseconds of each process for one command."""
    names = halves[0].details["cpu_us"]
    return {name: statistics.median(half.details["cpu_us"][name] for half in halves) for name in names}
