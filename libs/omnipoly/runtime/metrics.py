"""Metrics: prometheus-client's own registry, an endpoint for it, and what every service measures.

A service defines its metrics at module level with `prometheus_client.Counter("omnipoly_…_total", …)`: prefix
`omnipoly_`, base units, bounded labels, never a table's or player's id. RPCs have the names and labels of
go-grpc-middleware, so that existing dashboards fit.
"""

from __future__ import annotations

import asyncio
import threading
from wsgiref.simple_server import WSGIServer

import prometheus_client

from omnipoly.runtime.errors import StartError

_RPC = ("grpc_type", "grpc_service", "grpc_method")

RPC_STARTED = prometheus_client.Counter("grpc_server_started_total", "RPCs begun on the server.", _RPC)
RPC_HANDLED = prometheus_client.Counter(
    "grpc_server_handled_total", "RPCs ended on the server, whatever their code.", (*_RPC, "grpc_code")
)
RPC_MSG_RECEIVED = prometheus_client.Counter("grpc_server_msg_received_total", "Messages received from clients.", _RPC)
RPC_MSG_SENT = prometheus_client.Counter("grpc_server_msg_sent_total", "Messages sent to clients.", _RPC)
RPC_SECONDS = prometheus_client.Histogram(
    "grpc_server_handling_seconds",
    "Time from an RPC's start to its end, seconds.",
    _RPC,
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
LOOP_LAG = prometheus_client.Histogram(
    "omnipoly_event_loop_lag_seconds",
    "How much later than asked the event loop woke a sleeper, seconds.",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1),
)
TASK_CRASHES = prometheus_client.Counter(
    "omnipoly_task_crashes_total", "Background tasks that ended with an exception and were started again.", ("task",)
)
BUILD = prometheus_client.Gauge(
    "omnipoly_build_info", "1, labelled with the service and version.", ("service", "version")
)


class MetricsEndpoint:
    """An HTTP server in a thread of its own that answers `/metrics`, so that a busy event loop can still be seen."""

    def __init__(self, server: WSGIServer, thread: threading.Thread) -> None:
        self._server = server
        self._thread = thread

    @classmethod
    def start(cls, host: str, port: int) -> MetricsEndpoint:
        """Starts listening (port 0: any free one). Raises `StartError` when the port is taken."""
        try:
            server, thread = prometheus_client.start_http_server(port, host)
        except OSError as error:
            raise StartError(
                f"cannot serve metrics on {host}:{port}: {error.strerror or error}; set OMNIPOLY_METRICS_PORT"
            ) from None
        return cls(server, thread)

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return self._server.server_port

    def close(self) -> None:
        """Stops listening and joins the thread; blocks for half a second at most."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


async def watch_loop_lag(interval_s: float = 0.5) -> None:
    """Measures the event loop's lag for ever; spawned by `app` as a background task."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + interval_s
        await asyncio.sleep(interval_s)
        LOOP_LAG.observe(max(0.0, loop.time() - due))
