"""A collector of traces: a real gRPC server of OTLP's trace service, which keeps what it gets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import grpc.aio
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

from tests.services.waiting import eventually

WITHIN_S = 30.0


class Span(NamedTuple):
    """One span, as it was exported."""

    service: str
    instance: str
    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, Any]


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """What was exported to it."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.address = ""

    async def Export(self, request: Any, _context: Any) -> Any:  # noqa: N802
        for resource_spans in request.resource_spans:
            resource = _values(resource_spans.resource.attributes)
            for scope in resource_spans.scope_spans:
                self.spans += [
                    Span(
                        resource["service.name"],
                        resource["service.instance.id"],
                        span.name,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        _values(span.attributes),
                    )
                    for span in scope.spans
                ]
        return trace_service_pb2.ExportTraceServiceResponse()

    def of(self, trace: str) -> list[Span]:
        """A trace's spans."""
        return [span for span in self.spans if span.trace == trace]

    async def has(self, trace: str, names: set[str]) -> list[Span]:
        """A trace's spans, once these are among them."""
        await eventually(lambda: names <= {span.name for span in self.of(trace)}, WITHIN_S)
        return self.of(trace)


@asynccontextmanager
async def collector() -> AsyncIterator[Collector]:
    """A collector for the length of the block."""
    made, server = Collector(), grpc.aio.server()
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(made, server)
    made.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield made
    finally:
        await server.stop(0)


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
