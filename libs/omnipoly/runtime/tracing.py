"""Traces: OpenTelemetry when a collector is configured, next to nothing otherwise.

Trace context travels as a W3C `traceparent` string: in a field of each command and commit (a stream has one metadata
for everything it carries) and in NATS headers. With tracing off the strings are still handed on as they came, so a
process without a collector does not break a trace.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, SpanKind, Tracer

# The SDK is imported only when a collector is configured: it costs a start 150 ms.
_provider: TracerProvider | None = None
_tracer: Tracer | None = None

_OFF: AbstractContextManager[Span | None] = nullcontext()

Attribute = str | int | float | bool
Kind = Literal["internal", "server", "client", "producer", "consumer"]

EXPORT_S = 5
"""What a collector may take to answer; spans wait in a bounded queue meanwhile, and beyond it are dropped."""


def configure(
    service: str,
    *,
    endpoint: str = "",
    sample_ratio: float = 0.01,
    instance: str = "",
    exporter: SpanExporter | None = None,
) -> None:
    """Turns tracing on for this process, towards a collector (OTLP over gRPC, `http://host:4317`).

    Without endpoint and exporter nothing happens. sample_ratio: the share of new traces that is kept; a trace begun
    elsewhere is kept when it was kept there. exporter: in the place of a collector, for tests.
    """
    global _provider, _tracer  # noqa: PLW0603 - one tracer a process
    if not endpoint and exporter is None:
        return
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

    resource = Resource.create({"service.name": f"omnipoly-{service}", "service.instance.id": instance})
    _provider = TracerProvider(resource=resource, sampler=ParentBasedTraceIdRatio(sample_ratio))
    if exporter is not None:
        _provider.add_span_processor(SimpleSpanProcessor(exporter))
    else:
        otlp = OTLPSpanExporter(endpoint=endpoint, insecure=endpoint.startswith("http://"), timeout=EXPORT_S)
        _provider.add_span_processor(BatchSpanProcessor(otlp))
    _tracer = _provider.get_tracer("omnipoly")


def shutdown() -> None:
    """Sends what waits and turns tracing off; blocks for a few seconds at most, so call it in a thread."""
    global _provider, _tracer
    provider, _provider, _tracer = _provider, None, None
    if provider is not None:
        provider.shutdown()


def enabled() -> bool:
    """Whether spans are made at all."""
    return _tracer is not None


def current_traceparent() -> str:
    """The running span as a W3C traceparent, to be sent along; empty when nothing is traced here."""
    if _tracer is None:
        return ""
    from opentelemetry import trace

    span = trace.get_current_span()
    return traceparent_of(span) if span.get_span_context().is_valid else ""


def current_trace_id() -> str:
    """The trace's id as 32 hex digits, for the log; empty when nothing is traced here."""
    return current_traceparent()[3:35]


def span_from(
    traceparent: str, name: str, *, kind: Kind = "internal", **attributes: Attribute
) -> AbstractContextManager[Span | None]:
    """A span that continues the trace of whoever sent `traceparent` (empty or malformed: a new trace, or the running).

    With tracing off it is one shared object that does nothing and yields None. Attributes are bounded values: ids of
    tables and commands are fine here, secrets are not. kind: whether it answers, asks, sends or hears.
    """
    if _tracer is None:
        return _OFF
    return _tracer.start_as_current_span(name, context=_context(traceparent), kind=_kind(kind), attributes=attributes)


def begin(traceparent: str, name: str, *, kind: Kind = "internal", **attributes: Attribute) -> Span | None:
    """The same for what callbacks carry on: a span that is not the running one, and has to be given to `end`.

    None with tracing off.
    """
    if _tracer is None:
        return None
    return _tracer.start_span(name, context=_context(traceparent), kind=_kind(kind), attributes=attributes)


def end(span: Span, **attributes: Attribute) -> None:
    """Ends a span that `begin` made, with what is known of it now."""
    span.set_attributes(attributes)
    span.end()


def within(span: Span | None) -> AbstractContextManager[Span | None]:
    """Makes a span the running one for the length of the block: lines of the log name its trace. None: does nothing."""
    if span is None:
        return _OFF
    from opentelemetry import trace

    return trace.use_span(span)


def traceparent_of(span: Span) -> str:
    """A span as a W3C traceparent, to be sent along."""
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & 1:02x}"


def _context(traceparent: str) -> Context | None:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": traceparent}) if traceparent else None


def _kind(kind: Kind) -> SpanKind:
    from opentelemetry.trace import SpanKind

    return SpanKind[kind.upper()]
