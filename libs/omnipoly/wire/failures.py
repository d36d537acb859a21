"""Refusals and faults as they travel: one exception inside a process, one `google.rpc.Status` between processes.

Reason codes are the stable, public ones (`omnipoly.rules.codes` holds them all); here they are plain lower-case strings
and on the wire ErrorInfo's reason in upper case, domain `omnipoly`. What services add is in
`omnipoly.runtime.failures`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import grpc
import grpc.aio
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2

DOMAIN = "omnipoly"

_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


class Failure(Exception):
    """What was asked is refused, or could not be done; the caller is told exactly this and nothing else.

    status: the gRPC code (INVALID_ARGUMENT malformed, FAILED_PRECONDITION the rules say no, ABORTED lost a race,
    PERMISSION_DENIED before NOT_FOUND, RESOURCE_EXHAUSTED limits, UNAUTHENTICATED token, UNAVAILABLE try again).
    reason: the code, lower case. sentence: for people, without anything secret. retry_after_s: when trying again may
    help, seconds; None where it would not. metadata: ErrorInfo's, bounded: at most 16 keys.
    """

    def __init__(
        self,
        status: grpc.StatusCode,
        reason: str,
        sentence: str = "",
        *,
        retry_after_s: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, reason, sentence)
        self.status = status
        self.reason = reason
        self.sentence = sentence or reason.replace("_", " ")
        self.retry_after_s = retry_after_s
        self.metadata: dict[str, str] = dict(metadata) if metadata else {}

    def __str__(self) -> str:
        return f"{self.status.name} {self.reason}: {self.sentence}"


def unavailable(sentence: str, retry_after_s: float = 1.0) -> Failure:
    """UNAVAILABLE, reason `unavailable`: a peer, the database or this replica cannot answer now."""
    return Failure(grpc.StatusCode.UNAVAILABLE, "unavailable", sentence, retry_after_s=retry_after_s)


def to_status(failure: Failure) -> status_pb2.Status:
    """The failure as it travels: code, sentence, ErrorInfo, and RetryInfo where waiting helps."""
    code: int = failure.status.value[0]
    status = status_pb2.Status(code=code, message=failure.sentence)
    info = error_details_pb2.ErrorInfo(reason=failure.reason.upper(), domain=DOMAIN, metadata=failure.metadata)
    status.details.append(_packed(info))
    if failure.retry_after_s is not None:
        delay = duration_pb2.Duration()
        delay.FromMilliseconds(max(0, round(failure.retry_after_s * 1000)))
        status.details.append(_packed(error_details_pb2.RetryInfo(retry_delay=delay)))
    return status


def from_status(status: status_pb2.Status) -> Failure:
    """The failure that a peer sent; without ErrorInfo of ours the reason is the code's name, lower case."""
    code = _CODES.get(status.code, grpc.StatusCode.UNKNOWN)
    reason, metadata, retry_after_s = code.name.lower(), {}, None
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    for detail in status.details:
        if detail.Is(info.DESCRIPTOR):
            detail.Unpack(info)
            if info.domain == DOMAIN:
                reason, metadata = info.reason.lower(), dict(info.metadata)
        elif detail.Is(retry.DESCRIPTOR):
            detail.Unpack(retry)
            retry_after_s = retry.retry_delay.ToMilliseconds() / 1000
    return Failure(code, reason, status.message, retry_after_s=retry_after_s, metadata=metadata)


def from_rpc_error(error: grpc.aio.AioRpcError) -> Failure:
    """The failure behind a failed outgoing call; one that never reached a peer is UNAVAILABLE, `unavailable`."""
    trailing: Any = error.trailing_metadata() or ()  # pairs; the stubs have it as one
    for key, value in trailing:
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            return from_status(status_pb2.Status.FromString(value))
    if error.code() is grpc.StatusCode.UNAVAILABLE:
        return unavailable(error.details() or "the peer does not answer")
    return Failure(error.code(), error.code().name.lower(), error.details() or "")


def _packed(message: error_details_pb2.ErrorInfo | error_details_pb2.RetryInfo) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed
