"""Which services may call a service: by the common name of the certificate that each shows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc

from omnipoly.runtime.failures import Failure
from omnipoly.runtime.interceptors import Behaviour, Context, Wrapping, is_generator

OPERATOR = "operator"
"""Whoever holds a certificate of this name may call everything, as the people who run the site do with a gRPC tool."""
OPEN = ("/grpc.health.v1.Health/",)
"""What everybody with a certificate may call."""


class Callers(Wrapping):
    """Refuses every RPC of who is not named; for servers that ask for certificates."""

    def __init__(self, named: frozenset[str]) -> None:
        """named: roles, beside the operator."""
        super().__init__()
        self._named = named | {OPERATOR}

    def _behaviour(self, method: str, kind: str, behaviour: Behaviour) -> Behaviour:
        if method.startswith(OPEN):
            return behaviour
        if is_generator(behaviour):

            async def generating(request: Any, context: Context) -> AsyncIterator[Any]:
                self._look(context)
                async for message in behaviour(request, context):
                    yield message

            return generating

        async def calling(request: Any, context: Context) -> Any:
            self._look(context)
            return await behaviour(request, context)

        return calling

    def _look(self, context: Context) -> None:
        names = {name.decode(errors="replace") for name in context.auth_context().get("x509_common_name", ())}
        if names.isdisjoint(self._named):
            shown = ", ".join(sorted(names)) or "nobody"
            raise Failure(
                grpc.StatusCode.PERMISSION_DENIED, "not_admin", f"The certificate of {shown[:64]} may not call this."
            )
