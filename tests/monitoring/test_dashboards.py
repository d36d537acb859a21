"""Grafana's dashboards: as their description says, and every query reads metrics that the services have."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.monitoring.promtool import promtool
from tests.monitoring.queries import TARGETS, grouped, metrics_of
from tests.monitoring.test_rules import RECORDS
from tests.repository import reference
from tests.repository.tree import ROOT

GRAFANA = ROOT / "deploy/monitoring/grafana"
FILES = sorted((GRAFANA / "dashboards").glob("*.json"))
DASHBOARDS: dict[str, dict[str, Any]] = {path.stem: json.loads(path.read_text("utf-8")) for path in FILES}
QUERIES = [
    (name, panel["title"], target)
    for name, dashboard in DASHBOARDS.items()
    for panel in dashboard["panels"]
    for target in panel.get("targets", ())
]

PYTHONS = {"process_cpu_seconds_total": frozenset[str](), "process_resident_memory_bytes": frozenset[str]()}
"""What the client library measures by itself."""


def plain(query: str) -> str:
    """A query as Prometheus gets it."""
    return query.replace("$__rate_interval", "1m").replace("$service", "table")


def test_they_are_as_described() -> None:
    done = subprocess.run(
        [sys.executable, ".ci/dashboards.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_is_one_of_each() -> None:
    assert set(DASHBOARDS) == {"overview", "service", "command", "games"}
    assert len({dashboard["uid"] for dashboard in DASHBOARDS.values()}) == len(DASHBOARDS)
    for dashboard in DASHBOARDS.values():
        ids = [panel["id"] for panel in dashboard["panels"]]
        assert len(ids) == len(set(ids))


@pytest.mark.needs("promtool")
def test_prometheus_reads_every_query(tmp_path: Path) -> None:
    rules = [{"record": f"query:{index}", "expr": plain(query["expr"])} for index, (*_, query) in enumerate(QUERIES)]
    path = tmp_path / "queries.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}), "utf-8")
    promtool("check", "rules", str(path))


@pytest.mark.parametrize(("name", "title", "target"), QUERIES, ids=lambda part: part if isinstance(part, str) else "")
def test_a_query_names_metrics_and_labels_that_exist(name: str, title: str, target: dict[str, Any]) -> None:
    known = reference.series() | PYTHONS
    query, labels = plain(target["expr"]), set[str]()
    for metric, used in metrics_of(query).items():
        if metric in RECORDS:
            labels |= grouped(RECORDS[metric]["expr"])
            assert not used, f"{metric} is looked at as it is"
            continue
        assert metric in known, (name, title, metric)
        assert used <= known[metric] | TARGETS, (name, title, metric, used)
        labels |= known[metric]
    assert grouped(query) <= labels | TARGETS, (name, title)
    legend = {part.split("}}")[0] for part in target["legendFormat"].split("{{")[1:]}
    kept = grouped(query).union(
        *(grouped(RECORDS[metric]["expr"]) for metric in metrics_of(query) if metric in RECORDS)
    )
    bare = "(" not in query  # nothing is aggregated: every label of the metric is there
    assert legend <= (labels | TARGETS if bare else kept | TARGETS), (name, title, legend)


def test_each_panel_has_a_source_that_is_provisioned() -> None:
    sources = yaml.safe_load((GRAFANA / "provisioning/datasources/omnipoly.yaml").read_text("utf-8"))["datasources"]
    known = {source["uid"] for source in sources}
    for dashboard in DASHBOARDS.values():
        for panel in dashboard["panels"]:
            if panel["type"] != "row":
                assert panel["datasource"]["uid"] in known
                assert {target["datasource"]["uid"] for target in panel["targets"]} <= known
                assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
