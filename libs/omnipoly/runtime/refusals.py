"""Refusals of the rules and the platform as failures: which gRPC status stands for which reason code."""

from __future__ import annotations

import grpc

from omnipoly.rules.codes import SENTENCES, Code, Refused
from omnipoly.wire.failures import Failure

_STATUS: dict[grpc.StatusCode, tuple[Code, ...]] = {
    grpc.StatusCode.INVALID_ARGUMENT: (Code.BAD_REQUEST, Code.KEY_REUSED),
    grpc.StatusCode.PERMISSION_DENIED: (
        Code.NOT_SEATED,
        Code.WRONG_PIN,
        Code.NOT_HOST,
        Code.NOT_ADMIN,
        Code.MUTED,
        Code.BANNED,
        Code.VIEWERS_CLOSED,
    ),
    grpc.StatusCode.NOT_FOUND: (Code.UNKNOWN_TABLE, Code.UNKNOWN_EDITION),
    grpc.StatusCode.ABORTED: (Code.STALE_PROMPT, Code.STALE_VERSION),
    grpc.StatusCode.RESOURCE_EXHAUSTED: (Code.TOO_LARGE, Code.RATE_LIMITED, Code.TOO_MANY_TABLES),
    grpc.StatusCode.UNAUTHENTICATED: (Code.SIGN_IN_REQUIRED, Code.TOKEN_EXPIRED),
    grpc.StatusCode.DATA_LOSS: (Code.TABLE_BROKEN,),
    grpc.StatusCode.UNAVAILABLE: (Code.UNAVAILABLE,),
}

STATUS: dict[Code, grpc.StatusCode] = dict.fromkeys(Code, grpc.StatusCode.FAILED_PRECONDITION)
"""The status of each code; where nothing else is said, the rules say no."""
for _status, _codes in _STATUS.items():
    STATUS.update(dict.fromkeys(_codes, _status))


def failure(code: Code, sentence: str = "", *, retry_after_s: float | None = None) -> Failure:
    """The failure of a code, with its own sentence unless another is given."""
    return Failure(STATUS[code], code.value, sentence or SENTENCES[code], retry_after_s=retry_after_s)


def refused(refusal: Refused, *, retry_after_s: float | None = None) -> Failure:
    """The failure of a refusal by the rules."""
    return failure(refusal.code, refusal.sentence, retry_after_s=retry_after_s)
