"""Every public RPC, from the contracts: what is thrown at them, and what they may answer."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, NamedTuple

import grpc
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

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
    package: str = PACKAGE

    @property
    def name(self) -> str:
        return f"{self.service}.{self.method}"

    @property
    def path(self) -> str:
        return f"/{self.package}.{self.service}/{self.method}"


def _of(file: Any) -> dict[str, Rpc]:
    return {
        f"{service.name}.{method.name}": Rpc(
            service.name,
            method.name,
            GetMessageClass(method.input_type),
            GetMessageClass(method.output_type),
            method.client_streaming,
            method.server_streaming,
            file.package,
        )
        for service in file.services_by_name.values()
        for method in service.methods
    }


def _all() -> dict[str, Rpc]:
    found: dict[str, Rpc] = {}
    for module in pkgutil.iter_modules(v1.__path__):
        if module.name.endswith("_pb2"):
            found |= _of(importlib.import_module(f"{v1.__name__}.{module.name}").DESCRIPTOR)
    return dict(sorted(found.items()))


RPCS: dict[str, Rpc] = _all()
"""By ``Service.Method``."""
BESIDE: dict[str, Rpc] = _of(health_pb2.DESCRIPTOR) | _of(reflection_pb2.DESCRIPTOR)
"""gRPC's own, which the public face answers, too: health, and reflection where it is on."""


def fault_in(status: grpc.StatusCode, reason: str) -> str:
    """What is wrong with an answer; empty: it is a proper one."""
    if status is grpc.StatusCode.OK:
        return ""
    if status in FAULTS:
        return f"{status.name} {reason}"
    if reason not in _REASONS:
        return f"{status.name} with a reason that is none: {reason!r}"
    return ""
