"""Writes Grafana's dashboards under deploy/monitoring/grafana from the descriptions below.

    python .ci/dashboards.py            write them
    python .ci/dashboards.py --check    say which differ; exit 1 if any does

A dashboard is rows of panels; a panel is a title, a unit and queries with their legends. Everything else is the same
for all and stands once, in `_panel` and `_dashboard`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

TARGET = Path(__file__).resolve().parent.parent / "deploy/monitoring/grafana/dashboards"
SOURCE = {"type": "prometheus", "uid": "omnipoly"}
COLUMNS = 24
HEIGHT = 8

Queries = dict[str, str]
"""By legend."""


class Panel(NamedTuple):
    """One picture."""

    title: str
    unit: str
    queries: Queries
    about: str = ""
    kind: str = "timeseries"


def quantiles(metric: str, where: str = "", *, by: str = "") -> Queries:
    """The usual two of a histogram."""
    braces = f"{{{where}}}" if where else ""
    keep = f"{by}, le" if by else "le"
    legend = f" {{{{{by}}}}}" if by else ""
    return {
        f"p{round(q * 100)}{legend}": (
            f"histogram_quantile({q}, sum by ({keep}) (rate({metric}_bucket{braces}[$__rate_interval])))"
        )
        for q in (0.5, 0.99)
    }


def rate(metric: str, by: str = "", where: str = "") -> str:
    """How often something happens a second."""
    braces = f"{{{where}}}" if where else ""
    keep = f" by ({by})" if by else ""
    return f"sum{keep} (rate({metric}{braces}[$__rate_interval]))"


STAT = "stat"
OF_SERVICE = '* on (instance) group_left () omnipoly_build_info{service="$service"}'
"""Keeps the processes of the service that is looked at."""


def of_service(expression: str) -> str:
    """An expression by instance, of one service's processes."""
    return f"{expression} {OF_SERVICE}"


DASHBOARDS: dict[str, tuple[str, list[tuple[str, list[Panel]]]]] = {
    "overview": (
        "Overview",
        [
            (
                "Do people play?",
                [
                    Panel("Tables", "short", {"{{status}}": "max by (status) (omnipoly_tables)"}, kind=STAT),
                    Panel(
                        "Persons",
                        "short",
                        {
                            "in seats": "max(omnipoly_seated_persons)",
                            "{{part}} here now": "sum by (part) (omnipoly_gateway_persons)",
                        },
                        kind=STAT,
                    ),
                    Panel("Streams", "short", {"{{kind}}": "sum by (kind) (omnipoly_gateway_streams)"}, kind=STAT),
                ],
            ),
            (
                "What they see",
                [
                    Panel(
                        "A command's time at the gateway",
                        "s",
                        {"p50": "omnipoly:command_seconds:p50_5m", "p99": "omnipoly:command_seconds:p99_5m"},
                        "From the command's arrival to its table's answer.",
                    ),
                    Panel("Commands", "ops", {"{{action}}": "topk(10, omnipoly:commands:rate5m)"}),
                    Panel(
                        "Failed through us",
                        "percentunit",
                        {"failed": "omnipoly:commands_failed:ratio5m"},
                        "Unavailable, internal, timed out; a refusal by the rules is none.",
                    ),
                    Panel(
                        "Heard by NATS after",
                        "s",
                        {"p99": "omnipoly:publish_lag_seconds:p99_5m"},
                        "From when a commit stood in the log to when a gateway heard of it.",
                    ),
                    Panel("Timers late by", "s", {"p99": "omnipoly:timer_lateness_seconds:p99_5m"}),
                    Panel(
                        "Streams that lag",
                        "short",
                        {"{{kind}}": "sum by (kind) (omnipoly_gateway_streams_behind)"},
                    ),
                ],
            ),
            (
                "What it stands on",
                [
                    Panel("Replicas", "short", {"{{service}}": "omnipoly:replicas"}),
                    Panel("Connected to NATS", "short", {"{{instance}}": "omnipoly_bus_connected"}),
                    Panel(
                        "Heartbeats missed",
                        "ops",
                        {"missed": rate("omnipoly_heartbeats_missed_total")},
                        "The table service writes one a second and replica. Missed ones are time that does not count.",
                    ),
                    Panel(
                        "Outages",
                        "s",
                        {"seconds, in an hour": "max(increase(omnipoly_outages_seconds_total[1h]))"},
                        "Time in which the platform could not commit, made up for at every table.",
                    ),
                    Panel("Event loop's lag, p99", "s", {"{{instance}}": "omnipoly:event_loop_lag_seconds:p99_5m"}),
                    Panel(
                        "Out of play",
                        "short",
                        {
                            "tables in quarantine": "max(omnipoly_tables_out_of_play)",
                            "ledger's faults": "max(omnipoly_ledger_wrong)",
                        },
                        kind=STAT,
                    ),
                ],
            ),
        ],
    ),
    "service": (
        "A service",
        [
            (
                "Its processes",
                [
                    Panel(
                        "Processor, cores",
                        "short",
                        {
                            "{{instance}}": of_service(
                                "sum by (instance) (rate(process_cpu_seconds_total[$__rate_interval]))"
                            )
                        },
                        "One process is full at one core.",
                    ),
                    Panel(
                        "Memory",
                        "bytes",
                        {"{{instance}}": of_service("sum by (instance) (process_resident_memory_bytes)")},
                    ),
                    Panel(
                        "Event loop's lag, p99",
                        "s",
                        {"{{instance}}": of_service("omnipoly:event_loop_lag_seconds:p99_5m")},
                    ),
                    Panel(
                        "In flight",
                        "short",
                        {"{{instance}}": of_service("sum by (instance) (omnipoly_link_in_flight)")},
                        "Items of frames from other services that are being worked on.",
                    ),
                ],
            ),
            (
                "What it is asked",
                [
                    Panel(
                        "RPCs",
                        "ops",
                        {
                            "{{grpc_method}}": "sum by (grpc_method) ("
                            + of_service(rate("grpc_server_started_total", "instance, grpc_method"))
                            + ")"
                        },
                    ),
                    Panel(
                        "RPCs that ended otherwise than well",
                        "ops",
                        {
                            "{{grpc_method}} {{grpc_code}}": "sum by (grpc_method, grpc_code) ("
                            + of_service(
                                rate("grpc_server_handled_total", "instance, grpc_method, grpc_code", 'grpc_code!="OK"')
                            )
                            + ")"
                        },
                    ),
                    Panel(
                        "Time of RPCs, p99",
                        "s",
                        {
                            "{{grpc_method}}": "histogram_quantile(0.99, sum by (grpc_method, le) ("
                            + of_service(
                                rate(
                                    "grpc_server_handling_seconds_bucket",
                                    "instance, grpc_method, le",
                                    'grpc_type="unary"',
                                )
                            )
                            + "))"
                        },
                    ),
                    Panel(
                        "Messages",
                        "ops",
                        {
                            "in": "sum(" + of_service(rate("grpc_server_msg_received_total", "instance")) + ")",
                            "out": "sum(" + of_service(rate("grpc_server_msg_sent_total", "instance")) + ")",
                        },
                    ),
                    Panel(
                        "Items of frames",
                        "ops",
                        {
                            "{{method}} {{grpc_code}}": "topk(12, sum by (method, grpc_code) ("
                            + of_service(rate("omnipoly_link_items_total", "instance, method, grpc_code"))
                            + "))"
                        },
                    ),
                ],
            ),
            (
                "What it stands on",
                [
                    Panel(
                        "Waited for a connection to the database, p99",
                        "s",
                        {"{{instance}}": of_service("omnipoly:database_acquire_seconds:p99_5m")},
                    ),
                    Panel(
                        "Connections to the database",
                        "short",
                        {
                            "open {{instance}}": of_service("sum by (instance) (omnipoly_database_connections_open)"),
                            "idle {{instance}}": of_service("sum by (instance) (omnipoly_database_connections_idle)"),
                            "most {{instance}}": of_service("sum by (instance) (omnipoly_database_connections_limit)"),
                        },
                    ),
                    Panel(
                        "NATS",
                        "ops",
                        {
                            "published": "sum(" + of_service(rate("omnipoly_bus_published_total", "instance")) + ")",
                            "not published, {{reason}}": "sum by (reason) ("
                            + of_service(rate("omnipoly_bus_dropped_total", "instance, reason"))
                            + ")",
                            "errors, {{kind}}": "sum by (kind) ("
                            + of_service(rate("omnipoly_bus_errors_total", "instance, kind"))
                            + ")",
                        },
                    ),
                    Panel(
                        "Waiting for NATS",
                        "short",
                        {"{{instance}}": of_service("sum by (instance) (omnipoly_bus_waiting)")},
                    ),
                    Panel(
                        "Tasks that crashed",
                        "ops",
                        {
                            "{{task}}": "sum by (task) ("
                            + of_service(rate("omnipoly_task_crashes_total", "instance, task"))
                            + ")"
                        },
                    ),
                    Panel(
                        "Faults nobody foresaw",
                        "ops",
                        {
                            "{{instance}}": of_service(rate("omnipoly_internal_errors_total", "instance")),
                        },
                    ),
                ],
            ),
        ],
    ),
    "command": (
        "A command's way",
        [
            (
                "Gateway",
                [
                    Panel("Time to the answer", "s", quantiles("omnipoly_gateway_command_seconds", 'outcome="ok"')),
                    Panel(
                        "Commands by outcome",
                        "ops",
                        {"{{outcome}}": rate("omnipoly_gateway_command_seconds_count", "outcome")},
                    ),
                    Panel(
                        "Went round their own way",
                        "ops",
                        {"{{service}}": rate("omnipoly_gateway_roundabout_total", "service")},
                        "Bids and offers that went straight to the table, auction or trade being away.",
                    ),
                ],
            ),
            (
                "Between services",
                [
                    Panel("Items in a frame", "short", quantiles("omnipoly_link_frame_items")),
                    Panel(
                        "Sent again, shed",
                        "ops",
                        {
                            "sent again": rate("omnipoly_link_resent_total"),
                            "shed": rate("omnipoly_link_shed_total"),
                        },
                    ),
                    Panel(
                        "Bids and offers",
                        "ops",
                        {
                            "bids, {{outcome}}": rate("omnipoly_auction_bids_total", "outcome"),
                            "offers, {{outcome}}": rate("omnipoly_trade_commands_total", "outcome"),
                        },
                    ),
                ],
            ),
            (
                "Table",
                [
                    Panel(
                        "Commands by outcome",
                        "ops",
                        {"{{outcome}}": "topk(12, " + rate("omnipoly_commands_total", "outcome") + ")"},
                    ),
                    Panel(
                        "Conflicts and unknown outcomes",
                        "ops",
                        {
                            "decided anew": rate("omnipoly_commit_conflicts_total"),
                            "outcome looked up": rate("omnipoly_commits_unknown_total"),
                        },
                        "Conflicts: two replicas take themselves for the table's own, after one came or went.",
                    ),
                    Panel("Share that lost a race", "percentunit", {"share": "omnipoly:commit_conflicts:ratio5m"}),
                    Panel(
                        "Tables in memory, loads",
                        "short",
                        {
                            "in memory": "sum(omnipoly_tables_in_memory)",
                            "loads a second": rate("omnipoly_table_loads_total"),
                        },
                    ),
                ],
            ),
            (
                "Postgres",
                [
                    Panel("Time of an append", "s", quantiles("omnipoly_commit_seconds")),
                    Panel("p99 of 5 minutes", "s", {"append": "omnipoly:commit_seconds:p99_5m"}),
                    Panel("Commits in an append, mean", "short", {"mean": "omnipoly:commit_batch:mean5m"}),
                    Panel(
                        "Appends",
                        "ops",
                        {
                            "commits": "omnipoly:commits:rate5m",
                            "{{outcome}}": rate("omnipoly_commits_total", "outcome"),
                        },
                    ),
                    Panel("Queries not answered", "ops", {"failed": rate("omnipoly_table_queries_failed_total")}),
                ],
            ),
            (
                "NATS, and to the watcher",
                [
                    Panel("Heard after", "s", quantiles("omnipoly_publish_lag_seconds")),
                    Panel(
                        "Gaps",
                        "ops",
                        {
                            "found by the heads": rate("omnipoly_gateway_heads_gaps_total"),
                            "fetched": rate("omnipoly_gateway_gaps_total"),
                            "of the chat": rate("omnipoly_gateway_chat_gaps_total"),
                            "elsewhere": rate("omnipoly_followed_gaps_total"),
                        },
                    ),
                    Panel(
                        "Streams that could not keep up",
                        "ops",
                        {
                            "get a snapshot": rate("omnipoly_gateway_behind_total"),
                            "ended": rate("omnipoly_gateway_cut_total"),
                        },
                    ),
                    Panel(
                        "Snapshots sent, epochs risen",
                        "ops",
                        {
                            "snapshots": rate("omnipoly_gateway_snapshots_total"),
                            "epochs": rate("omnipoly_gateway_epochs_total"),
                        },
                    ),
                ],
            ),
        ],
    ),
    "games": (
        "Games",
        [
            (
                "Games",
                [
                    Panel("Tables by state", "short", {"{{status}}": "max by (status) (omnipoly_tables)"}),
                    Panel(
                        "Games in an hour",
                        "short",
                        {"{{what}}": "sum by (what) (increase(omnipoly_games_total[1h]))"},
                        "Started, and why they ended.",
                    ),
                    Panel(
                        "Started in an hour, by edition",
                        "short",
                        {"{{edition}}": 'sum by (edition) (increase(omnipoly_games_total{what="started"}[1h]))'},
                    ),
                    Panel("Commands by edition", "ops", {"{{edition}}": rate("omnipoly_commands_total", "edition")}),
                ],
            ),
            (
                "Auctions and trades",
                [
                    Panel(
                        "Auctions in an hour",
                        "short",
                        {"{{what}}": "sum by (what) (increase(omnipoly_auctions_total[1h]))"},
                    ),
                    Panel(
                        "Offers in an hour",
                        "short",
                        {"{{what}}": "sum by (what) (increase(omnipoly_trades_total[1h]))"},
                    ),
                    Panel(
                        "Auctions followed, drafts kept",
                        "short",
                        {
                            "streams that follow auctions": "sum(omnipoly_auction_followers)",
                            "bids that wait": "sum(omnipoly_auction_bids_waiting)",
                            "drafts": "sum(omnipoly_trade_drafts)",
                        },
                    ),
                ],
            ),
            (
                "Time",
                [
                    Panel("Late by, p99", "s", quantiles("omnipoly_timer_lateness_seconds", by="kind")),
                    Panel(
                        "Deadlines ahead, overdue",
                        "short",
                        {"ahead": "max(omnipoly_timer_deadlines)", "overdue": "max(omnipoly_timer_overdue)"},
                    ),
                    Panel("Wake-ups", "ops", {"{{outcome}}": rate("omnipoly_timer_wakes_total", "outcome")}),
                ],
            ),
            (
                "People and bots",
                [
                    Panel("Persons here now", "short", {"{{part}}": "sum by (part) (omnipoly_gateway_persons)"}),
                    Panel(
                        "Leases",
                        "short",
                        {
                            "gateways known": "max(omnipoly_presence_leases)",
                            "ended, in an hour": "sum(increase(omnipoly_presence_leases_ended_total[1h]))",
                            "came back, in an hour": "sum(increase(omnipoly_presence_lease_flaps_total[1h]))",
                        },
                    ),
                    Panel(
                        "Bots' decisions",
                        "ops",
                        {
                            "sent": rate("omnipoly_bots_decisions_total"),
                            "refused, {{code}}": rate("omnipoly_bots_refused_total", "code"),
                        },
                    ),
                    Panel(
                        "Sign-ins",
                        "ops",
                        {"{{issuer}} {{outcome}}": rate("omnipoly_gateway_sign_ins_total", "issuer, outcome")},
                    ),
                ],
            ),
        ],
    ),
}


def _panel(panel: Panel, number: int, x: int, y: int, width: int) -> dict[str, Any]:
    targets = [
        {"datasource": SOURCE, "expr": query, "legendFormat": legend, "refId": chr(ord("A") + index)}
        for index, (legend, query) in enumerate(panel.queries.items())
    ]
    made: dict[str, Any] = {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "datasource": SOURCE,
        "gridPos": {"x": x, "y": y, "w": width, "h": HEIGHT if panel.kind == "timeseries" else HEIGHT // 2},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": targets,
    }
    if panel.about:
        made["description"] = panel.about
    if panel.kind == "timeseries":
        made["options"] = {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}
    else:
        made["options"] = {"reduceOptions": {"calcs": ["lastNotNull"]}, "textMode": "value_and_name"}
    return made


def _dashboard(name: str, title: str, rows: list[tuple[str, list[Panel]]]) -> dict[str, Any]:
    panels: list[dict[str, Any]] = []
    y = 0
    for heading, row in rows:
        panels.append(
            {
                "id": len(panels) + 1,
                "type": "row",
                "title": heading,
                "collapsed": False,
                "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1},
                "panels": [],
            }
        )
        y += 1
        a_line = 4 if len(row) == 4 else 3
        for first in range(0, len(row), a_line):
            line = row[first : first + a_line]
            width = COLUMNS // len(line)
            made = [_panel(one, len(panels) + 1 + at, at * width, y, width) for at, one in enumerate(line)]
            panels += made
            y += max(one["gridPos"]["h"] for one in made)
    variables = []
    if any("$service" in query for _, row in rows for panel in row for query in panel.queries.values()):
        variables.append(
            {
                "name": "service",
                "label": "Service",
                "type": "query",
                "datasource": SOURCE,
                "query": {"query": "label_values(omnipoly_build_info, service)", "refId": "service"},
                "refresh": 2,
                "sort": 1,
                "current": {"text": "table", "value": "table"},
            }
        )
    return {
        "uid": f"omnipoly-{name}",
        "title": f"Omnipoly: {title}",
        "tags": ["omnipoly"],
        "timezone": "browser",
        "schemaVersion": 39,
        "version": 1,
        "editable": False,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": variables},
        "links": [
            {"type": "dashboards", "title": "Omnipoly", "tags": ["omnipoly"], "asDropdown": False, "keepTime": True}
        ],
        "panels": panels,
    }


def made() -> dict[str, str]:
    """The dashboards as files, by name."""
    return {
        f"{name}.json": json.dumps(_dashboard(name, title, rows), indent=1) + "\n"
        for name, (title, rows) in DASHBOARDS.items()
    }


if __name__ == "__main__":
    import written

    sys.exit(written.main("Writes Grafana's dashboards.", {TARGET / name: text for name, text in made().items()}))
