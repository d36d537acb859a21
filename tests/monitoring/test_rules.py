"""The rules of Prometheus: read by promtool, fired by made-up series, and each with its paragraph in the runbook."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.monitoring.promtool import promtool
from tests.monitoring.queries import TARGETS, grouped, metrics_of
from tests.repository import reference
from tests.repository.tree import ROOT

RULES = ROOT / "deploy/monitoring/rules.yaml"
GROUPS: list[dict[str, Any]] = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
ALL = [rule for group in GROUPS for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in ALL if "alert" in rule}
RECORDS = {rule["record"]: rule for rule in ALL if "record" in rule}

MOST_PAGES = 8
"""Whoever is woken often learns not to listen."""

SERVICES = ("table", "auction", "trade", "clock", "presence", "gateway", "bots")

STEP_S = 15
LONG = 100  # steps: 25 minutes

Series = dict[str, str]


def still(value: float) -> str:
    """A gauge that stands, a counter that nothing moves."""
    return f"{value}x{LONG}"


def rising(per_step: float, start: float = 0) -> str:
    """A counter."""
    return f"{start}+{per_step}x{LONG}"


def histogram(name: str, below: str, *, slow_share: float, labels: str = "") -> Series:
    """Ten observations a step, of which a share is above the bucket `below`, and below 10 s."""
    with_comma = labels + "," if labels else ""
    braces = f"{{{labels}}}" if labels else ""
    return {
        f'{name}_bucket{{{with_comma}le="{below}"}}': rising(10 * (1 - slow_share)),
        f'{name}_bucket{{{with_comma}le="10"}}': rising(10),
        f'{name}_bucket{{{with_comma}le="+Inf"}}': rising(10),
        f"{name}_count{braces}": rising(10),
        f"{name}_sum{braces}": rising(1),
    }


def healthy() -> Series:
    """A platform at work."""
    series: Series = {}
    for service in SERVICES:
        at = f'instance="{service}:9100"'
        series[f'omnipoly_build_info{{{at},service="{service}",version="1"}}'] = still(1)
        series[f"omnipoly_bus_connected{{{at}}}"] = still(1)
        series[f"omnipoly_internal_errors_total{{{at}}}"] = still(0)
        series[f'omnipoly_task_crashes_total{{{at},task="heads"}}'] = still(1)
    series |= histogram("omnipoly_event_loop_lag_seconds", "0.01", slow_share=0, labels='instance="table:9100"')
    series |= histogram("omnipoly_database_acquire_seconds", "0.001", slow_share=0, labels='instance="table:9100"')
    for outcome, share in (("ok", 0), ("refused", 0), ("failed", 1)):
        series |= histogram("omnipoly_gateway_command_seconds", "0.05", slow_share=share, labels=f'outcome="{outcome}"')
    series['omnipoly_gateway_command_seconds_count{outcome="failed"}'] = still(0)
    series |= histogram("omnipoly_publish_lag_seconds", "0.005", slow_share=0)
    series |= histogram("omnipoly_timer_lateness_seconds", "0.005", slow_share=0, labels='kind="due"')
    series |= {
        "omnipoly_timer_overdue": still(0),
        'omnipoly_commits_total{outcome="moved"}': rising(100),
        "omnipoly_commit_conflicts_total": rising(1),
        "omnipoly_commits_unknown_total": still(3),
        "omnipoly_heartbeats_missed_total": still(2),
        "omnipoly_tables_quarantined_total": still(0),
        "omnipoly_tables_out_of_play": still(0),
        "omnipoly_ledger_wrong": still(0),
        "omnipoly_outages_total": still(1),
        "omnipoly_database_epoch_changes_total": still(0),
        "omnipoly_presence_lease_flaps_total": still(0),
        "omnipoly_gateway_heads_gaps_total": rising(0.01),
        "omnipoly_gateway_rooms": still(100),
        'omnipoly_gateway_streams{kind="play"}': still(100),
        'omnipoly_gateway_streams_behind{kind="play"}': still(1),
        'omnipoly_gateway_sign_ins_total{issuer="x",outcome="done"}': rising(5),
        'omnipoly_gateway_sign_ins_total{issuer="x",outcome="unreachable"}': still(0),
        "omnipoly_gateway_revocations_age_seconds": still(2),
        'omnipoly_certificate_expires_seconds{use="public"}': still(30 * 86_400),
    }
    return series


def without(service: str) -> Series:
    """Its processes have ended: their series are stale."""
    gone = f'omnipoly_build_info{{instance="{service}:9100",service="{service}",version="1"}}'
    return {gone: "1x4 stale"}


BROKEN: dict[str, Series] = {
    "OmnipolyCommandsFail": {'omnipoly_gateway_command_seconds_count{outcome="failed"}': rising(5)},
    "OmnipolyCommandsSlow": histogram(
        "omnipoly_gateway_command_seconds", "0.05", slow_share=0.05, labels='outcome="ok"'
    ),
    "OmnipolyServiceGone": without("clock"),
    "OmnipolyHelperGone": without("auction"),
    "OmnipolyDatabaseAway": {"omnipoly_heartbeats_missed_total": rising(3)},
    "OmnipolyTimersLate": histogram("omnipoly_timer_lateness_seconds", "0.005", slow_share=0.05, labels='kind="due"'),
    "OmnipolyTablesBreak": {"omnipoly_tables_quarantined_total": rising(1)},
    "OmnipolyTableOutOfPlay": {"omnipoly_tables_out_of_play": still(1)},
    "OmnipolyLedgerWrong": {"omnipoly_ledger_wrong": still(1)},
    "OmnipolyNatsAway": {'omnipoly_bus_connected{instance="gateway:9100"}': still(0)},
    "OmnipolyMessagesLost": {"omnipoly_gateway_heads_gaps_total": rising(60)},
    "OmnipolyPublishLag": histogram("omnipoly_publish_lag_seconds", "0.005", slow_share=0.05),
    "OmnipolyEventLoopLags": histogram(
        "omnipoly_event_loop_lag_seconds", "0.01", slow_share=0.05, labels='instance="table:9100"'
    ),
    "OmnipolyStreamsLag": {'omnipoly_gateway_streams_behind{kind="play"}': still(20)},
    "OmnipolyPoolExhausted": histogram(
        "omnipoly_database_acquire_seconds", "0.001", slow_share=0.05, labels='instance="table:9100"'
    ),
    "OmnipolyConflicts": {"omnipoly_commit_conflicts_total": rising(40)},
    "OmnipolyOutcomesUnknown": {"omnipoly_commits_unknown_total": rising(3)},
    "OmnipolyOutages": {"omnipoly_outages_total": rising(0.1)},
    "OmnipolyEpochChanged": {"omnipoly_database_epoch_changes_total": f"0x60 1x{LONG}"},
    "OmnipolyLeasesFlap": {"omnipoly_presence_lease_flaps_total": rising(0.2)},
    "OmnipolyTasksCrash": {'omnipoly_task_crashes_total{instance="gateway:9100",task="heads"}': rising(0.2)},
    "OmnipolyInternalErrors": {'omnipoly_internal_errors_total{instance="table:9100"}': f"0x60 1x{LONG}"},
    "OmnipolySignInsFail": {
        'omnipoly_gateway_sign_ins_total{issuer="x",outcome="unreachable"}': rising(5),
    },
    "OmnipolyCertificateEnds": {'omnipoly_certificate_expires_seconds{use="public"}': still(6 * 86_400)},
    "OmnipolyRevocationsStale": {"omnipoly_gateway_revocations_age_seconds": rising(15)},
}
"""What makes each alert fire, and no other."""

AT = "20m"


def scenario(series: Series, fires: list[str]) -> dict[str, Any]:
    """A platform of these series, at which exactly these alerts fire after a while."""
    return {
        "interval": f"{STEP_S}s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname, severity) (ALERTS{alertstate="firing"})',
                "eval_time": AT,
                "exp_samples": [
                    {
                        "labels": f'{{alertname="{name}", severity="{ALERTS[name]["labels"]["severity"]}"}}',
                        "value": 1,
                    }
                    for name in fires
                ],
            }
        ],
    }


@pytest.mark.needs("promtool")
def test_promtool_reads_the_rules() -> None:
    assert f"{len(ALL)} rules found" in promtool("check", "rules", str(RULES))


@pytest.mark.needs("promtool")
def test_each_alert_fires_when_it_should_and_no_other_with_it(tmp_path: Path) -> None:
    assert BROKEN.keys() == ALERTS.keys()
    tests = [scenario(healthy(), [])]
    tests += [scenario(healthy() | broken, [name]) for name, broken in BROKEN.items()]
    path = tmp_path / "rules.test.yaml"
    path.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}), "utf-8")
    promtool("test", "rules", str(path))


@pytest.mark.needs("promtool")
def test_what_is_recorded_says_what_it_should(tmp_path: Path) -> None:
    expected = {
        "omnipoly:commits:rate5m": 100 / STEP_S,
        "omnipoly:commands_failed:ratio5m": 0,
        "omnipoly:commit_conflicts:ratio5m": 0.01,
        'omnipoly:replicas{service="table"}': 1,
    }
    tests = scenario(healthy(), [])
    tests["promql_expr_test"] = [
        {
            "expr": expr,
            "eval_time": AT,
            "exp_samples": [{"labels": expr, "value": value}],
        }
        for expr, value in expected.items()
    ]
    path = tmp_path / "records.test.yaml"
    path.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "tests": [tests]}), "utf-8")
    promtool("test", "rules", str(path))


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.get("alert") or rule["record"])
def test_a_rule_names_metrics_and_labels_that_exist(rule: dict[str, Any]) -> None:
    known = reference.series()
    labels: set[str] = set()
    for metric, used in metrics_of(rule["expr"]).items():
        if metric in RECORDS:
            labels |= grouped(RECORDS[metric]["expr"])
            continue
        assert metric in known, metric
        assert used <= known[metric] | TARGETS, (metric, used)
        labels |= known[metric]
    assert grouped(rule["expr"]) <= labels | TARGETS


def test_every_record_is_used() -> None:
    texts = [rule["expr"] for rule in ALL]
    texts += [path.read_text("utf-8") for path in (ROOT / "deploy/monitoring").rglob("*.json")]
    for record in RECORDS:
        assert any(record in text for text in texts), record


def test_every_alert_has_its_paragraph_in_the_runbook() -> None:
    for name, alert in ALERTS.items():
        page, _, anchor = alert["annotations"]["runbook_url"].partition("#")
        assert page == "docs/operations/alerts.md"
        assert anchor == name.lower()
        assert anchor in anchors(ROOT / page), name
        assert alert["annotations"]["summary"]
    headings = anchors(ROOT / "docs/operations/alerts.md")
    assert {anchor for anchor in headings if anchor.startswith("omnipoly")} == {name.lower() for name in ALERTS}


def test_few_alerts_wake_somebody() -> None:
    severities = [alert["labels"]["severity"] for alert in ALERTS.values()]
    assert set(severities) == {"page", "ticket"}
    assert severities.count("page") <= MOST_PAGES


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
