"""What a run is told by: figures, and when there are none; who is due when; what each process gets."""

from __future__ import annotations

import asyncio
import json
import xml.etree.ElementTree as ET
from random import Random

from . import figures, report
from .pacing import Closed, Open
from .running import Asked, Ran, Second

ASKED = Asked(["here:1"], 5, 17, 3, 0, 0.5, 2, 2, 1, "a secret")


def ran(asked: Asked = ASKED, *, core: float = 0.3, late_ms: float = 2, answer_ms: float = 30) -> Ran:
    """A run of which everything took the same."""
    histograms = {kind: figures.histogram() for kind in figures.KINDS}
    for kind, found in histograms.items():
        for _ in range(100):
            found.record_value(round(1000 * (late_ms if kind == "late" else answer_ms)))
    seconds = [Second(at, 10, 9, 20, 1, 0, core, late_ms, answer_ms, answer_ms) for at in range(1, 4)]
    return Ran(asked, 3.0, 30, 27, 60, 1, 4, {"stale_prompt": 3}, seconds, [core, core / 2], histograms)


def test_a_report_has_figures_in_every_form() -> None:
    found = report.document(ran())
    assert found["figures"]["commands_per_s"] == 9
    assert abs(found["figures"]["ms"]["answer"]["p99"] - 30) < 0.1
    assert found["errors"] == {"stale_prompt": 3}
    assert "a secret" not in json.dumps(found)
    assert "9.0 commands a second" in report.text(ran())
    page = report.page(ran())
    assert page.count("<svg") == 4
    for svg in page.split("<svg")[1:]:
        ET.fromstring("<svg" + svg.partition("</svg>")[0].replace("class=t ", "") + "</svg>")


def test_a_generator_that_was_in_the_way_names_no_figure() -> None:
    for full in (ran(core=0.9), ran(late_ms=50)):
        assert report.document(full)["figures"] is None
        assert report.document(full)["generator"]["was_the_bottleneck"]
        assert "commands a second" not in report.text(full)
        assert "BOTTLENECK" in report.text(full)
        assert report.page(full).count("<svg") == 1
        assert report.document(full)["errors"] == {"stale_prompt": 3}


def test_lateness_that_is_little_beside_what_is_named_does_not_matter() -> None:
    assert ran(late_ms=50, answer_ms=800).in_the_way == ""
    assert ran(late_ms=50, answer_ms=300).in_the_way != ""


def test_histograms_of_processes_are_merged() -> None:
    one, other = figures.Counts(), figures.Counts()
    one.measuring = other.measuring = True
    for number in range(1, 101):
        (one if number % 2 else other).record("answer", number / 1000)
    both = figures.merged([one.encoded(), other.encoded()])["answer"]
    assert both.get_total_count() == 100
    assert abs(figures.quantiles_ms(both)["p50"] - 50) < 0.1


def test_shares_are_all_that_was_asked_for() -> None:
    shares = ASKED._replace(rate=10.0).shares()
    assert [len(share["watchers"]) for share in shares] == [3, 2]
    assert sum(sum(share["watchers"]) for share in shares) == 17 - 10
    assert sum(share["rate"] for share in shares) == 10


async def test_an_open_model_counts_from_when_a_command_was_due() -> None:
    """Nobody can act for a while: the first who can is late by all of it."""
    loop, late, pace = asyncio.get_running_loop(), [], Open(1000)
    began = loop.time()
    running = asyncio.create_task(pace.run(began + 0.05))
    await running
    assert pace.overdue == 50

    async def send(due_at: float) -> None:
        late.append(due_at - began)

    for _ in range(50):
        pace.ready(send)
    await asyncio.gather(*pace._tasks)
    assert pace.overdue == 0
    assert late == sorted(late)
    assert abs(late[-1] - late[0] - 0.049) < 1e-6


async def test_a_closed_model_asks_nobody_before_it_begins_or_after_its_end() -> None:
    sent, pace = [], Closed(0, Random(1))

    async def send(due_at: float) -> None:
        sent.append(due_at)
        if len(sent) < 5:
            pace.ready(send)

    pace.ready(send)
    assert not sent
    await pace.run(asyncio.get_running_loop().time() + 0.05)
    assert len(sent) == 5
    pace.ready(send)
    assert not pace._tasks
