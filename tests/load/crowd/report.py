"""A run as text, as JSON and as a page with plots. When the generator was in the way, none of them names a figure."""

from __future__ import annotations

import html
import os
import platform
from collections.abc import Sequence
from typing import Any

from hdrh.histogram import HdrHistogram

from . import figures
from .running import Ran

NAMES = {
    "answer": "from sending a command to its answer",
    "due": "from when a command was due to its answer",
    "shown": "from sending a command to its commit at a watcher",
}
WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM = 820, 220, 60, 90, 30


def document(ran: Ran) -> dict[str, Any]:
    """Everything, for programs. `figures` is null when the generator was the bottleneck."""
    asked = ran.asked._asdict()
    del asked["key"]
    reason = ran.in_the_way
    return {
        "asked": asked | {"model": ran.asked.model, "watchers": ran.asked.watchers},
        "machine": {
            "processors": os.cpu_count(),
            "system": platform.platform(),
            "python": platform.python_version(),
        },
        "generator": {
            "was_the_bottleneck": bool(reason),
            "why": reason,
            "cores": [round(core, 3) for core in ran.cores],
            "late_ms": figures.quantiles_ms(ran.histograms["late"]),
        },
        "figures": None if reason else _figures(ran),
        "errors": ran.errors,
    }


def _figures(ran: Ran) -> dict[str, Any]:
    return {
        "took_s": round(ran.took_s, 3),
        "commands_sent": ran.sent,
        "commands_accepted": ran.accepted,
        "commands_per_s": round(ran.accepted / ran.took_s, 2),
        "commits_shown": ran.shown,
        "commits_shown_per_s": round(ran.shown / ran.took_s, 2),
        "games_ended": ran.games,
        "due_and_never_sent": ran.overdue,
        "ms": {kind: figures.quantiles_ms(ran.histograms[kind]) for kind in NAMES},
        "seconds": [second._asdict() for second in ran.seconds],
    }


def text(ran: Ran) -> str:
    """Everything, for people, in lines."""
    asked, reason = ran.asked, ran.in_the_way
    how = (
        f"open: {asked.rate:g} commands a second, come what may"
        if asked.rate
        else f"closed: each player answers after {asked.think_s:g} s, half to one and a half of it"
    )
    lines = [
        f"{asked.tables} tables of {asked.seats} players, {asked.watchers} watchers, {asked.seconds:g} s, {how}",
        f"gateways: {', '.join(asked.gateways)}",
        "",
        "the generator: "
        + ", ".join(f"{core:.0%}" for core in ran.cores)
        + f" of a core; late by {_shown(ran.histograms['late'])}",
    ]
    if reason:
        lines += [f"THE GENERATOR WAS THE BOTTLENECK: {reason}. No figures."]
    else:
        lines += [
            "",
            f"{ran.accepted / ran.took_s:10.1f} commands a second ({ran.accepted} of {ran.sent} sent were accepted)",
            f"{ran.shown / ran.took_s:10.1f} commits a second shown to watchers",
            f"{ran.games:10} games ended",
        ]
        if asked.rate:
            lines.append(f"{ran.overdue:10} commands were due and found nobody who could act")
        lines.append("")
        lines += [f"{_shown(ran.histograms[kind])}  {name}" for kind, name in NAMES.items()]
    lines += ["", "errors by reason:" if ran.errors else "no errors"]
    lines += [f"{number:10} {name}" for name, number in ran.errors.items()]
    return "\n".join(lines) + "\n"


def _shown(found: HdrHistogram) -> str:
    told = figures.quantiles_ms(found)
    return ", ".join(f"{name} {value:.1f} ms" for name, value in told.items()) or "nothing"


def page(ran: Ran) -> str:
    """A page with plots, whole in itself."""
    reason = ran.in_the_way
    parts = [f"<pre>{html.escape(text(ran))}</pre>"]
    at = [float(second.at) for second in ran.seconds]
    if not reason:
        parts += [
            _plot(
                "Commands and errors a second",
                "s",
                [
                    ("accepted", at, [float(second.accepted) for second in ran.seconds]),
                    ("errors", at, [float(second.errors) for second in ran.seconds]),
                ],
            ),
            _plot("Commits shown a second", "s", [("shown", at, [float(second.shown) for second in ran.seconds])]),
            _plot(
                "Percentiles, ms",
                "of 1 in so many (logarithmic)",
                [(kind, *_curve(ran.histograms[kind])) for kind in NAMES],
                marks=["1", "10", "100", "1000", "10000"],
            ),
        ]
    parts.append(
        _plot(
            "The generator itself; 1 is too much",
            "s",
            [
                ("of a core", at, [second.core / figures.FULL for second in ran.seconds]),
                ("late, p99", at, [second.late_ms / figures.LATE_MS for second in ran.seconds]),
            ],
        )
    )
    return (
        "<!doctype html><meta charset=utf-8><title>Omnipoly: load</title>"
        "<style>body{font:14px sans-serif;margin:2em;color:#222}"
        "pre{background:#f4f4f4;padding:1em;white-space:pre-wrap}"
        "svg{display:block;margin:1em 0}text{font:11px sans-serif;fill:#444}.t{font-weight:bold;font-size:13px}</style>"
        "<h1>Load</h1>" + "".join(parts)
    )


COLOURS = ("#1f6fb4", "#c8501e", "#3a8f3a")
Line = tuple[str, list[float], list[float]]


def _curve(found: HdrHistogram) -> tuple[list[float], list[float]]:
    """Latency by how rare it is: 1 in 10 is p90, 1 in 100 p99; the first axis in powers of ten."""
    if not found.get_total_count():
        return [], []
    steps = [step / 10 for step in range(41)]
    return steps, [found.get_value_at_percentile(100 * (1 - 10**-step)) / 1000 for step in steps]


def _plot(title: str, along: str, lines: Sequence[Line], marks: Sequence[str] = ()) -> str:
    lines = [line for line in lines if line[1]]
    right = max((max(x) for _, x, _ in lines), default=1.0) or 1.0
    top = max((max(y) for _, _, y in lines), default=1.0) or 1.0

    def place(x: float, y: float) -> str:
        across = LEFT + x / right * (WIDTH - LEFT - RIGHT)
        return f"{across:.1f},{HEIGHT - BOTTOM - y / top * (HEIGHT - BOTTOM - 30):.1f}"

    drawn = [f'<text class=t x="{LEFT}" y="14">{html.escape(title)}</text>']
    for step in range(5):
        y = HEIGHT - BOTTOM - step / 4 * (HEIGHT - BOTTOM - 30)
        drawn.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        drawn.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{top * step / 4:.4g}</text>')
        x = LEFT + step / 4 * (WIDTH - LEFT - RIGHT)
        mark = marks[step] if marks else f"{right * step / 4:.4g}"
        drawn.append(f'<text x="{x:.1f}" y="{HEIGHT - 14}" text-anchor="middle">{mark}</text>')
    drawn.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 2}" text-anchor="end">{html.escape(along)}</text>')
    for number, (name, xs, ys) in enumerate(lines):
        points = " ".join(place(x, y) for x, y in zip(xs, ys, strict=True))
        colour = COLOURS[number]
        drawn.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        drawn.append(
            f'<text x="{WIDTH - RIGHT + 10}" y="{40 + 14 * number}" style="fill:{colour}">{html.escape(name)}</text>'
        )
    return f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">{"".join(drawn)}</svg>'
