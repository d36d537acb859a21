from __future__ import annotations

import grpc
from google.rpc import error_details_pb2, status_pb2

from omnipoly.runtime import failures
from omnipoly.runtime.failures import Failure


def test_there_and_back() -> None:
    failure = Failure(
        grpc.StatusCode.RESOURCE_EXHAUSTED, "rate_limited", "Slower.", retry_after_s=1.25, metadata={"limit": "20/s"}
    )
    status = failures.to_status(failure)
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert (info.reason, info.domain, dict(info.metadata)) == ("RATE_LIMITED", "omnipoly", {"limit": "20/s"})
    back = failures.from_status(status)
    assert (back.status, back.reason, back.sentence) == (failure.status, "rate_limited", "Slower.")
    assert back.retry_after_s == 1.25
    assert back.metadata == {"limit": "20/s"}


def test_without_details() -> None:
    back = failures.from_status(status_pb2.Status(code=5, message="no such thing"))
    assert (back.status, back.reason, back.retry_after_s) == (grpc.StatusCode.NOT_FOUND, "not_found", None)
    assert failures.from_status(status_pb2.Status(code=99)).status is grpc.StatusCode.UNKNOWN


def test_a_sentence_is_made_where_none_is_given() -> None:
    failure = Failure(grpc.StatusCode.FAILED_PRECONDITION, "not_your_turn")
    assert failure.sentence == "not your turn"
    assert str(failure) == "FAILED_PRECONDITION not_your_turn: not your turn"
