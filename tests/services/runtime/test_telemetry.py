from __future__ import annotations

import io
import json
import logging as stdlib
import time
import urllib.request

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import SecretStr

from omnipoly.runtime import logging, metrics, tracing
from omnipoly.runtime.errors import StartError

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def lines():
    stream = io.StringIO()
    logging.configure("example", stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logging.configure("test")


@pytest.fixture
def spans():
    exporter = InMemorySpanExporter()
    tracing.configure("example", exporter=exporter, sample_ratio=1.0)
    yield exporter
    tracing.shutdown()


def test_a_line_is_json_named_by_its_event(lines) -> None:
    logging.get("omnipolyd.table").info("table_loaded", table="a", version=7)
    logging.get("omnipolyd.table").debug("table_evicted")
    (line,) = lines()
    assert line["event"] == "table_loaded"
    assert (line["table"], line["version"], line["level"], line["service"]) == ("a", 7, "info", "example")
    assert line["logger"] == "omnipolyd.table"
    assert line["timestamp"].endswith("Z")


def test_libraries_go_the_same_way(lines) -> None:
    stdlib.getLogger("grpc").warning("it %s", "breaks")
    (line,) = lines()
    assert (line["event"], line["logger"], line["level"]) == ("it breaks", "grpc", "warning")


def test_secrets_are_masked_wherever_they_turn_up(lines) -> None:
    log = logging.get("example")
    secret = "hunter2"
    try:
        raise ValueError(f"cannot reach nats://{secret}@localhost:4222")
    except ValueError:
        log.exception(
            "failed",
            token=secret,
            refresh_token=secret,
            seed=secret,
            pin=secret,
            url=f"postgresql://o:{secret}@db/x?host=/tmp",
            inner={"password": secret, "list": [f"nats://{secret}@h"]},
            key=SecretStr(secret),
            tokens_used=3,
        )
    (line,) = lines()
    assert "hunter2" not in json.dumps(line)
    assert line["tokens_used"] == 3
    assert line["exception"][0]["exc_type"] == "ValueError"


def test_fields_bound_to_a_task(lines) -> None:
    tokens = logging.bind(table="a")
    logging.get("example").info("first")
    logging.unbind(tokens)
    logging.get("example").info("second")
    first, second = lines()
    assert first["table"] == "a"
    assert "table" not in second


def test_console_form() -> None:
    stream = io.StringIO()
    logging.configure("example", form="console", stream=stream)
    logging.get("example").warning("disk_full", free_bytes=0)
    logging.configure("test")
    assert "disk_full" in stream.getvalue()


def test_tracing_is_nothing_until_it_is_on() -> None:
    with tracing.span_from(PARENT, "x") as span:
        assert span is None
        assert tracing.current_traceparent() == ""
    assert tracing.span_from(PARENT, "x") is tracing.span_from("", "y")
    tracing.configure("example", endpoint="")
    assert not tracing.enabled()


def test_a_span_continues_the_trace_of_whoever_sent_it(spans, lines) -> None:
    with tracing.span_from(PARENT, "Act", table="a"):
        logging.get("example").info("inside")
        carried = tracing.current_traceparent()
    assert carried.startswith("00-0af7651916cd43dd8448eb211c80319c-")
    assert carried.endswith("-01")
    (span,) = spans.get_finished_spans()
    assert (span.name, span.attributes["table"]) == ("Act", "a")
    assert f"{span.parent.span_id:016x}" == "b7ad6b7169203331"
    assert lines()[0]["trace_id"] == "0af7651916cd43dd8448eb211c80319c"
    with tracing.span_from("garbage", "Act"):
        assert tracing.current_traceparent()


def test_a_span_that_callbacks_carry_on(spans, lines) -> None:
    span = tracing.begin(PARENT, "table.roll", kind="server", table="a")
    assert span is not None
    assert tracing.current_traceparent() == ""
    with tracing.within(span):
        logging.get("example").info("inside")
        assert tracing.current_traceparent() == tracing.traceparent_of(span)
    assert spans.get_finished_spans() == ()
    tracing.end(span, outcome="ok")
    (finished,) = spans.get_finished_spans()
    assert (finished.name, finished.kind.name, dict(finished.attributes)) == (
        "table.roll",
        "SERVER",
        {"table": "a", "outcome": "ok"},
    )
    assert lines()[0]["trace_id"] == PARENT[3:35]


def test_what_is_not_sampled_is_handed_on_as_such(spans) -> None:
    with tracing.span_from(PARENT[:-2] + "00", "Act"):
        assert tracing.current_traceparent().endswith("-00")
    assert spans.get_finished_spans() == ()


def test_without_tracing_nothing_is_made() -> None:
    assert tracing.begin(PARENT, "x") is None
    assert tracing.within(None) is tracing.span_from(PARENT, "x")


def test_a_collector_that_is_away_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "EXPORT_S", 1)
    tracing.configure("example", endpoint="http://127.0.0.1:9", sample_ratio=1.0)
    begun = time.monotonic()
    with tracing.span_from("", "x"):
        assert tracing.current_traceparent()
    assert time.monotonic() - begun < 1
    tracing.shutdown()
    assert time.monotonic() - begun < 2 * tracing.EXPORT_S + 1


def test_metrics_endpoint() -> None:
    endpoint = metrics.MetricsEndpoint.start("127.0.0.1", 0)
    try:
        metrics.TASK_CRASHES.labels("example").inc()
        with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/metrics") as answer:
            text = answer.read().decode()
        assert 'omnipoly_task_crashes_total{task="example"}' in text
        assert "omnipoly_event_loop_lag_seconds" in text
        with pytest.raises(StartError, match="OMNIPOLY_METRICS_PORT"):
            metrics.MetricsEndpoint.start("127.0.0.1", endpoint.port)
    finally:
        endpoint.close()
