"""The pages for operators: what they name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from omnipoly.runtime import config
from omnipoly.wire.gen.gateway.v1 import admin_pb2
from omnipolyd import commands, roles
from tests.monitoring.test_rules import ALERTS, anchors
from tests.repository import reference
from tests.repository.tree import ROOT

PAGES = sorted((ROOT / "docs/operations").glob("*.md"))
WRITTEN = [page for page in PAGES if page.name not in {"metrics.md", "configuration.md"}]


@pytest.fixture(params=WRITTEN, ids=lambda page: page.name)
def page(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_every_page_is_in_the_overview() -> None:
    overview = (ROOT / "docs/operations/README.md").read_text("utf-8")
    for page in PAGES:
        assert page.name == "README.md" or f"({page.name})" in overview, page.name


def test_links_lead_to_headings(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]+)\)", page.read_text("utf-8")):
        assert anchor in anchors(page.parent / target if target else page), (target, anchor)


def test_metrics_and_alerts_that_are_named_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    known = {metric.name for metric in reference.module().metrics()} | set(reference.series())
    roles = set(
        re.findall(r"^CREATE ROLE (\w+)", (ROOT / "deploy/postgres/roles.sql").read_text("utf-8"), re.MULTILINE)
    )
    assert set(re.findall(r"`(omnipoly_\w+)", text)) <= known | roles | {"omnipoly_presence"}
    assert set(re.findall(r"\*(Omnipoly[A-Z]\w+)\*", text)) <= ALERTS.keys()


def test_settings_that_are_named_exist(page: Path) -> None:
    roles.learn_variables()
    named = set(re.findall(r"\bOMNIPOLY_[A-Z_]+\b", page.read_text("utf-8"))) - {"OMNIPOLY_TABLE_PORT"}
    assert named - config.known_variables() - {"OMNIPOLY_"} == set()


def test_commands_and_calls_that_are_named_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    known = set(typer.main.get_command(commands.app).commands)  # type: ignore[attr-defined]
    assert set(re.findall(r"`omnipolyd (\w+)", text)) <= known
    calls = {method.name for method in admin_pb2.DESCRIPTOR.services_by_name["AdminService"].methods}
    assert set(re.findall(r"`Admin\.(\w+)`", text)) <= calls


def test_statements_that_are_named_name_tables_that_exist(page: Path) -> None:
    made = "\n".join(path.read_text("utf-8") for path in (ROOT / "services").rglob("versions/*.sql"))
    tables = set(re.findall(r"CREATE TABLE (\w+)", made))
    named = re.findall(r"(?:FROM|UPDATE|INTO) ([a-z_]+)\b", page.read_text("utf-8"))
    assert set(named) <= tables
