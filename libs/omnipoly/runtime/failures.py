"""Refusals and faults of services: `omnipoly.wire.failures`, and what a service makes of what goes wrong in it.

Reason codes are the stable, public ones (`omnipoly.rules.codes` holds them all); here they are plain lower-case strings
and on the wire ErrorInfo's reason in upper case, domain `omnipoly`.
"""

from __future__ import annotations

from typing import NoReturn

import grpc
import grpc.aio
from grpc_status import rpc_status
from prometheus_client import Counter

from omnipoly.wire.failures import DOMAIN, Failure, from_rpc_error, from_status, to_status, unavailable

__all__ = [
    "DOMAIN",
    "INTERNAL",
    "Failure",
    "abort",
    "deadline_passed",
    "from_rpc_error",
    "from_status",
    "internal",
    "overloaded",
    "to_status",
    "unavailable",
]

INTERNAL = Counter(
    "omnipoly_internal_errors_total",
    "Faults that nobody foresaw, each answered INTERNAL with an id that is in the log.",
)


def overloaded(sentence: str, retry_after_s: float = 0.25) -> Failure:
    """RESOURCE_EXHAUSTED, reason `unavailable`: a bounded queue of this replica is full; not the caller's own limit."""
    return Failure(grpc.StatusCode.RESOURCE_EXHAUSTED, "unavailable", sentence, retry_after_s=retry_after_s)


def deadline_passed(sentence: str = "the deadline passed before this was started") -> Failure:
    """DEADLINE_EXCEEDED, reason `unavailable`: nothing was begun."""
    return Failure(grpc.StatusCode.DEADLINE_EXCEEDED, "unavailable", sentence)


def internal(error_id: str) -> Failure:
    """INTERNAL, reason `internal`: a fault of ours; its text is in the log under `error_id`, and only there."""
    INTERNAL.inc()
    return Failure(
        grpc.StatusCode.INTERNAL,
        "internal",
        f"something went wrong here; the operator finds it under {error_id}",
        metadata={"error_id": error_id},
    )


async def abort(context: grpc.aio.ServicerContext, failure: Failure) -> NoReturn:  # type: ignore[type-arg]
    """Ends an RPC with the failure's rich status; always raises grpc.aio's `AbortError`."""
    status = rpc_status.to_status(to_status(failure))
    await context.abort(status.code, status.details, tuple(status.trailing_metadata))
    raise AssertionError("abort returned")  # pragma: no cover - grpc.aio's abort always raises
