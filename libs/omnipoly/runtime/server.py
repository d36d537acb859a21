"""The gRPC server of a service: options, health, reflection, interceptors; one clear error when the port is taken."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from omnipoly.runtime import failures, interceptors
from omnipoly.runtime.config import ServiceSettings
from omnipoly.runtime.errors import StartError
from omnipoly.wire.channels import EOF, MAX_ANSWER_BYTES, RETRIES, Option, channel_options

__all__ = [
    "EOF",
    "MAX_ANSWER_BYTES",
    "MAX_FRAME_BYTES",
    "MAX_REQUEST_BYTES",
    "RETRIES",
    "Option",
    "Server",
    "channel_options",
    "server_options",
]

MAX_REQUEST_BYTES = 64 * 1024
"""What a client may send in one message, unless a service says otherwise."""

MAX_FRAME_BYTES = 2 * 1024 * 1024
"""What a frame between services may weigh: 1 MiB of bodies and what surrounds them, or one large item."""


def server_options(settings: ServiceSettings, max_receive_bytes: int, *, public: bool = False) -> list[Option]:
    """grpc's channel arguments for a server. public: of those who are not trusted no more is taken in than is read and
    64 KiB for each stream, where gRPC would otherwise take as much as comes fast enough."""
    keepalive_ms = round(settings.keepalive_s * 1000)
    probe_ms = min(keepalive_ms, 10_000)
    options: list[Option] = [
        ("grpc.so_reuseport", 0),  # two servers would share the port silently
        ("grpc.max_receive_message_length", max_receive_bytes),
        ("grpc.max_send_message_length", MAX_FRAME_BYTES),
        ("grpc.max_concurrent_streams", settings.max_concurrent_streams),
        ("grpc.max_allowed_incoming_connections", settings.max_connections),
        ("grpc.server_handshake_timeout_ms", round(settings.handshake_s * 1000)),
        ("grpc.keepalive_time_ms", keepalive_ms),
        ("grpc.keepalive_timeout_ms", probe_ms),
        ("grpc.http2.ping_timeout_ms", probe_ms),  # without it gRPC waits for a minute
        ("grpc.keepalive_permit_without_calls", 1),
        # A client may probe this often; more is answered with GOAWAY (too_many_pings).
        ("grpc.http2.min_ping_interval_without_data_ms", 2_000),
        ("grpc.http2.max_ping_strikes", 5),
    ]
    if public:
        options.append(("grpc.http2.bdp_probe", 0))
    if settings.max_connection_idle_s:  # the client is told before, and connects again for its next call
        options.append(("grpc.max_connection_idle_ms", round(settings.max_connection_idle_s * 1000)))
    if settings.max_connection_age_s:
        options += [
            ("grpc.max_connection_age_ms", round(settings.max_connection_age_s * 1000)),
            ("grpc.max_connection_age_grace_ms", round(settings.max_connection_age_grace_s * 1000)),
        ]
    return options


class Server:
    """One gRPC server; what it serves is registered before `start`, the port is bound in it."""

    def __init__(
        self,
        settings: ServiceSettings,
        *,
        max_request_bytes: int = MAX_REQUEST_BYTES,
        public: bool = False,
        extra_interceptors: Sequence[grpc.aio.ServerInterceptor[Any, Any]] = (),
        credentials: grpc.ServerCredentials | None = None,
    ) -> None:
        """public: those call it who are not trusted. extra_interceptors: run inside telemetry and errors, in this
        order. credentials: None: plain text."""
        self._credentials = credentials
        self._health_server: grpc.aio.Server | None = None
        self._settings = settings
        self._max_request_bytes = max_request_bytes
        self._public = public
        self._interceptors = [interceptors.Telemetry(), interceptors.Errors(), *extra_interceptors]
        self._registrations: list[Callable[[grpc.aio.Server], None]] = []
        self._names: list[str] = [health.SERVICE_NAME]
        self._health = _Health()
        self._server: grpc.aio.Server | None = None
        self._port = 0

    def serve(self, register: Callable[[Any, grpc.aio.Server], None], servicer: object, *names: str) -> None:
        """Serves a generated servicer: its `add_XServicer_to_server` and, for reflection and health, full names."""
        self._registrations.append(lambda server: register(servicer, server))
        self._names += names

    def serve_generic(self, handler: grpc.GenericRpcHandler[Any, Any], *names: str, frames: bool = False) -> None:
        """Serves a generic handler, whose serializers take bytes. frames: raise the limit of a message to theirs."""
        self._registrations.append(lambda server: server.add_generic_rpc_handlers((handler,)))
        self._names += names
        if frames:
            self._max_request_bytes = max(self._max_request_bytes, MAX_FRAME_BYTES)

    async def start(self) -> None:
        """Binds the port and answers, with health NOT_SERVING. Raises `StartError` when the port cannot be had."""
        server = grpc.aio.server(
            interceptors=self._interceptors,
            options=server_options(self._settings, self._max_request_bytes, public=self._public),
        )
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        for register in self._registrations:
            register(server)
        if self._settings.reflection:
            reflection.enable_server_reflection([*self._names, reflection.SERVICE_NAME], server)
        for name in self._names:
            await self.set_serving(False, name)
        await self.set_serving(False)
        host, port = self._settings.host, self._settings.port
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        _require_free(host, port, where)
        try:
            self._port = (
                server.add_insecure_port(where)
                if self._credentials is None
                else server.add_secure_port(where, self._credentials)
            )
        except RuntimeError as error:
            raise StartError(f"cannot listen on {where}: {error}; set OMNIPOLY_PORT or OMNIPOLY_HOST") from None
        await server.start()
        self._server = server
        if self._settings.health_port:
            await self._start_health(host, self._settings.health_port)

    async def _start_health(self, host: str, port: int) -> None:
        """A port for those who probe and have no certificate: it says whether this serves, and nothing else."""
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        _require_free(host, port, where, "OMNIPOLY_HEALTH_PORT")
        server = grpc.aio.server(interceptors=[interceptors.Errors()], options=server_options(self._settings, 4096))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        server.add_insecure_port(where)
        await server.start()
        self._health_server = server

    @property
    def secure(self) -> bool:
        """Whether it speaks TLS."""
        return self._credentials is not None

    @property
    def port(self) -> int:
        """The port that is listened on; 0 before `start`."""
        return self._port

    @property
    def address(self) -> str:
        """host:port to connect to from this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self._settings.host, self._settings.host)
        return f"[{host}]:{self._port}" if ":" in host and not host.startswith("[") else f"{host}:{self._port}"

    async def set_serving(self, serving: bool, name: str = "") -> None:
        """What health says: of one service by its full name, or of the whole server."""
        status = health_pb2.HealthCheckResponse.SERVING if serving else health_pb2.HealthCheckResponse.NOT_SERVING
        self._health.set(name, status)

    async def set_all_serving(self, serving: bool) -> None:
        """What health says of everything here."""
        for name in ["", *self._names]:
            await self.set_serving(serving, name)

    async def stop(self, grace_s: float) -> None:
        """Takes no new RPC, gives those that run `grace_s`, then cancels them. Watchers of health are ended at once."""
        if self._server is None:
            return
        server, self._server = self._server, None
        self._health.end_watches()
        if self._health_server is not None:
            await self._health_server.stop(0)
        await server.stop(grace_s)

    async def wait_ended(self) -> None:
        """Returns when the server has ended, asked or not."""
        if self._server is not None:
            await self._server.wait_for_termination()


def _require_free(host: str, port: int, where: str, setting: str = "OMNIPOLY_PORT") -> None:
    """Says in one line why an address cannot be had: gRPC would say it in several, on standard error."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StartError(f"cannot listen on {where}: {reason}; set {setting} or OMNIPOLY_HOST") from None


class _Health(health_pb2_grpc.HealthServicer):  # type: ignore[misc]  # untyped
    """Health whose watchers hold nothing up. The library's own tells them one after the other and waits for each: one
    that reads nothing keeps the server from ever saying NOT_SERVING, and so from stopping."""

    def __init__(self) -> None:
        self._statuses: dict[str, Any] = {}
        self._changed = asyncio.Event()
        """Set at the next change, and then replaced."""
        self._stopping = asyncio.Event()

    def set(self, name: str, status: Any) -> None:
        """What is said of a name from now on."""
        self._statuses[name] = status
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Any) -> Any:  # noqa: N802
        """How it is now; NOT_FOUND, as health's protocol has it, for a name that nothing is said of."""
        status = self._statuses.get(request.service)
        if status is None:
            await context.abort(grpc.StatusCode.NOT_FOUND)
        return health_pb2.HealthCheckResponse(status=status)

    async def List(self, request: health_pb2.HealthListRequest, context: Any) -> Any:  # noqa: N802
        """How everything is now, by name."""
        return health_pb2.HealthListResponse(
            statuses={name: health_pb2.HealthCheckResponse(status=status) for name, status in self._statuses.items()}
        )

    async def Watch(self, request: health_pb2.HealthCheckRequest, context: Any) -> None:  # noqa: N802
        """How it is now, and at each change; of several at once the last."""
        # A handler that is merely cancelled sends its client nothing, and the server waits for it all the same.
        watch = asyncio.create_task(self._tell(request.service, context))
        stop = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((watch, stop), return_when=asyncio.FIRST_COMPLETED)
        finally:
            watch.cancel()
            stop.cancel()
        if not self._stopping.is_set():
            await watch  # it does not end by itself but with an error
        raise failures.unavailable("the server is stopping")

    async def _tell(self, name: str, context: Any) -> None:
        told = None
        while True:
            changed = self._changed
            status = self._statuses.get(name, health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
            if status != told:
                told = status
                await context.write(health_pb2.HealthCheckResponse(status=status))
            await changed.wait()

    def end_watches(self) -> None:
        """Ends every Watch stream: its clients see UNAVAILABLE and ask elsewhere, as health's protocol has it."""
        self._stopping.set()
