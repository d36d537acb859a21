"""Every public RPC, from the contracts: what is thrown at them, and what they may answer."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, NamedTuple

import grpc
from google.protobuf.message_factory import GetMessageClass

from omnipoly.rules.codes import Code
from omnipoly.wire.gen.gateway import v1

PACKAGE = "omnipoly.gateway.v1"
FAULTS = frozenset(
    (
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.DATA_LOSS,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
    )
)
"""What no message, however odd, may be answered with: it would be a fault of ours."""
_REASONS = frozenset(code.value for code in Code)


class Rpc(NamedTuple):
    """One method of the public face."""

    service: str
    """``LobbyService``."""
    method: str
    request: Any
    """The class of its requests."""
    response: Any
    streams_in: bool
    streams_out: bool

    @property
    def name(self) -> str:
        return f"{self.service}.{self.method}"

    @property
    def path(self) -> str:
        return f"/{PACKAGE}.{self.service}/{self.method}"


def _all() -> dict[str, Rpc]:
    found = {}
    for module in pkgutil.iter_modules(v1.__path__):
        if module.name.endswith("_pb2"):
            file = importlib.import_module(f"{v1.__name__}.{module.name}").DESCRIPTOR
            for service in file.services_by_name.values():
                for method in service.methods:
                    rpc = Rpc(
                        service.name,
                        method.name,
                        GetMessageClass(method.input_type),
                        GetMessageClass(method.output_type),
                        method.client_streaming,
                        method.server_streaming,
                    )
                    found[rpc.name] = rpc
    return dict(sorted(found.items()))


RPCS: dict[str, Rpc] = _all()
"""By ``Service.Method``."""


def fault_in(status: grpc.StatusCode, reason: str) -> str:
    """What is wrong with an answer; empty: it is a proper one."""
    if status is grpc.StatusCode.OK:
        return ""
    if status in FAULTS:
        return f"{status.name} {reason}"
    if reason not in _REASONS:
        return f"{status.name} with a reason that is none: {reason!r}"
    return ""
