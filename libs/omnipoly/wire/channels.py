"""How clients of ours, services among them, hold their channels: gRPC's arguments for them."""

from __future__ import annotations

import json
from typing import Any

import grpc.aio

MAX_ANSWER_BYTES = 1024 * 1024 + 64 * 1024
"""What a client must be ready to receive: an answer of 1 MiB and what surrounds it."""

Option = tuple[str, int | str]

RETRIES = {
    "methodConfig": [
        {
            "name": [{}],
            "retryPolicy": {
                "maxAttempts": 3,
                "initialBackoff": "0.1s",
                "maxBackoff": "1s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ]
}
"""The service config of a client that may repeat its calls."""

EOF: Any = grpc.aio.EOF  # type: ignore[attr-defined]  # missing in the stubs
"""What a read answers when the other side has closed its half."""


def channel_options(
    *,
    keepalive_s: float = 5,
    probe_s: float = 5,
    max_receive_bytes: int = MAX_ANSWER_BYTES,
    retries: bool = False,
) -> list[Option]:
    """grpc's channel arguments for a client of ours.

    keepalive_s: silence after which the server is probed, probe_s: how long the probe may stay unanswered. Whoever
    follows a table has to find out that its gateway stands still, and be back at another, before they are taken for
    gone: within the 16 s of a gateway's lease and the grace. retries: unary calls that end UNAVAILABLE are tried again,
    twice; only for what may be carried out twice.
    """
    options: list[Option] = [
        ("grpc.keepalive_time_ms", round(keepalive_s * 1000)),
        ("grpc.keepalive_timeout_ms", round(probe_s * 1000)),
        ("grpc.http2.ping_timeout_ms", round(probe_s * 1000)),  # without it gRPC waits for a minute
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.max_receive_message_length", max_receive_bytes),
        ("grpc.initial_reconnect_backoff_ms", 100),
        # This is also the least time an attempt to connect gets: a handshake on a busy machine takes its time.
        ("grpc.min_reconnect_backoff_ms", 2_000),
        ("grpc.max_reconnect_backoff_ms", 2_000),
    ]
    if retries:
        options.append(("grpc.service_config", json.dumps(RETRIES)))
    return options
