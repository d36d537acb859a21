"""What the server says no to, and what could not be reached."""

from __future__ import annotations

import grpc
import grpc.aio
from google.rpc import status_pb2

from omnipoly.rules.codes import Code
from omnipoly.wire import failures


class Refused(Exception):
    """The answer was no, or there was none.

    ``code`` is the stable reason in lower case, as ``rules.codes.Code`` has it (a newer server may give others);
    ``sentence`` is for people; ``retry_after_s`` says when trying again may help, in seconds, ``None`` where it would
    not. ``status`` is gRPC's. ``command_id`` names the command that was refused, "" where there was none: after
    ``unavailable`` nobody knows what became of it, and asking again under the same id never does it twice.
    """

    def __init__(
        self,
        code: str,
        sentence: str,
        *,
        status: grpc.StatusCode = grpc.StatusCode.UNKNOWN,
        retry_after_s: float | None = None,
        command_id: str = "",
    ) -> None:
        super().__init__(code, sentence)
        self.code = code
        self.sentence = sentence
        self.status = status
        self.retry_after_s = retry_after_s
        self.command_id = command_id

    def __str__(self) -> str:
        return f"{self.sentence} ({self.code})"

    @property
    def known(self) -> Code | None:
        """The code as one of this version's; ``None`` for one that a newer server has."""
        try:
            return Code(self.code)
        except ValueError:
            return None

    @property
    def passing(self) -> bool:
        """Whether the same thing may go well a moment later: nobody was there, or what became of it is unknown."""
        return self.status is grpc.StatusCode.UNAVAILABLE

    @property
    def later(self) -> bool:
        """Whether the very same will be taken in ``retry_after_s``: too much was asked for at once."""
        return self.status is grpc.StatusCode.RESOURCE_EXHAUSTED and self.retry_after_s is not None

    @classmethod
    def of(cls, failure: failures.Failure, command_id: str = "") -> Refused:
        """From a failure as services know it."""
        return cls(
            failure.reason,
            failure.sentence,
            status=failure.status,
            retry_after_s=failure.retry_after_s,
            command_id=command_id,
        )

    @classmethod
    def of_rpc(cls, error: grpc.aio.AioRpcError, command_id: str = "") -> Refused:
        """From a call that failed."""
        return cls.of(failures.from_rpc_error(error), command_id)

    @classmethod
    def of_status(cls, status: status_pb2.Status, command_id: str = "") -> Refused:
        """From a refusal on a stream."""
        return cls.of(failures.from_status(status), command_id)


def unanswered(what: str, command_id: str = "") -> Refused:
    """Nobody answered in time; what became of it is unknown."""
    return Refused(
        Code.UNAVAILABLE,
        f"{what} was not answered in time.",
        status=grpc.StatusCode.UNAVAILABLE,
        retry_after_s=1.0,
        command_id=command_id,
    )
