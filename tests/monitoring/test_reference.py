from __future__ import annotations

import prometheus_client
import pytest

from omnipolyd import roles
from tests.monitoring.promtool import promtool
from tests.repository import reference
from tests.repository.tree import ROOT


@pytest.mark.parametrize("page", ["metrics.md", "configuration.md"])
def test_a_reference_is_as_the_code_says(page: str) -> None:
    path = ROOT / "docs/operations" / page
    assert path.read_text("utf-8") == reference.module().PAGES[page](), f"{page} is not current: run make reference"


def test_metrics_are_named_as_is_usual() -> None:
    for metric in reference.module().metrics():
        assert metric.name.startswith(("omnipoly_", "grpc_server_")), metric.name
        assert metric.meaning.endswith("."), metric
        assert (metric.type == "counter") == metric.name.endswith("_total"), metric.name
        assert not metric.name.endswith(("_ms", "_seconds_seconds")), metric.name
        if metric.type == "histogram":
            assert metric.name.endswith(("_seconds", "_size", "_items")), metric.name


@pytest.mark.needs("promtool")
def test_prometheus_has_nothing_to_say_against_them() -> None:
    reference.module().metrics()
    assert promtool("check", "metrics", given=prometheus_client.generate_latest().decode()) == ""


def test_no_label_is_somebodys_id() -> None:
    """Each has a row that says what it holds; what could be anything has none."""
    allowed = reference.module().LABELS
    for metric in reference.module().metrics():
        assert set(metric.labels) <= set(allowed), metric
        assert not {"table", "person", "actor", "command_id", "session", "peer"} & set(metric.labels), metric


def test_every_setting_has_one_row_in_its_section() -> None:
    page = (ROOT / "docs/operations/configuration.md").read_text("utf-8")
    for section in page.split("\n## ")[1:]:
        rows = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `OMNIPOLY_")]
        assert len(rows) == len(set(rows)), section.splitlines()[0]


def test_the_command_lines_variables_have_their_rows() -> None:
    assert set(reference.module().COMMAND_LINE) == set(roles.VARIABLES)
