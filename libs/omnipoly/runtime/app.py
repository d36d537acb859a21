"""The life of a service, written once: up in order, SERVING, and down in reverse.

Configuration, telemetry, database, bus, the service itself, server, SERVING. Down: NOT_SERVING, the service ends its
streams with a reason that says reconnect, the server stops with grace, the service, the bus and the pool follow; a hard
timer ends the process if one of them does not come back. `Service` says what a service brings, `App` what it gets.
"""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any, ClassVar, TypeVar

import grpc
import grpc.aio

from omnipoly.runtime import config, logging, metrics, migrations, tls, tracing
from omnipoly.runtime.bus import Bus
from omnipoly.runtime.callers import Callers
from omnipoly.runtime.config import ServiceSettings
from omnipoly.runtime.database import Database
from omnipoly.runtime.errors import StartError
from omnipoly.runtime.link import Handler, LinkServer
from omnipoly.runtime.link_server import IN_FLIGHT, SERVICE
from omnipoly.runtime.peers import Peers
from omnipoly.runtime.server import MAX_REQUEST_BYTES, Server
from omnipoly.runtime.standstill import Standstill
from omnipoly.runtime.tasks import Tasks

log = logging.get(__name__)

STOP_GRACE_S = 5.0
"""What RPCs get that still run after the drain."""

EXIT_OK = 0
EXIT_CANNOT_START = 1
EXIT_FORCED = 70


class Service:
    """What a service brings. Its class says what it needs, its instance holds what it does."""

    migrations: ClassVar[str] = ""
    """The package of revisions of the schema it needs (see `migrations`); empty: it needs no database."""
    uses_bus: ClassVar[bool] = False
    max_request_bytes: ClassVar[int] = MAX_REQUEST_BYTES
    """The largest message a client may send; frames between services have their own bound."""
    public: ClassVar[bool] = False
    """Those call it who are not trusted."""
    full_collections: ClassVar[int] = 10
    """Collections of the younger objects (about 7,000 new ones each) for one that walks all objects, and stops the loop
    meanwhile: to be raised where most of what lives long is no garbage for sure."""
    callers: ClassVar[tuple[str, ...]] = ()
    """The services that call it; with TLS nobody else may, but for operators."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    def interceptors(self) -> Sequence[grpc.aio.ServerInterceptor[Any, Any]]:
        """The server's interceptors of its own, inside telemetry and errors."""
        return ()

    def certificate(self) -> tls.Certificate | None:
        """What its server shows; None: plain text. Raises `ConfigError` where neither was told."""
        return tls.among_services(self.settings)

    async def start(self, app: App) -> None:
        """Takes what it needs from `app` and registers what it serves. Raises `StartError` when it cannot."""

    async def drain(self) -> None:
        """Ends its streams with a reason that says reconnect and lets what runs finish; cut off after `drain_s`."""

    async def stop(self) -> None:
        """Nothing is served any more, database and bus still stand: writes out what is left."""


class App:
    """One running service and what it stands on."""

    def __init__(self, service: Service, settings: ServiceSettings) -> None:
        """For `running` alone."""
        self.service = service
        self.settings = settings
        self.name = settings.service_name
        self.instance = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"
        """Names this process among replicas: in logs, traces, leases."""
        self.tasks = Tasks()
        self.identity = tls.among_services(settings)
        """What it shows to other services; None: plain text."""
        shown = service.certificate()
        guards = [Callers(frozenset(service.callers))] if shown is not None and shown.ca else []
        self.server = Server(
            settings,
            max_request_bytes=service.max_request_bytes,
            public=service.public,
            extra_interceptors=[*guards, *service.interceptors()],
            credentials=None if shown is None else shown.server_credentials(),
        )
        self._database: Database | None = None
        self._bus: Bus | None = None
        self._links: list[LinkServer] = []
        self._peers: list[Peers] = []
        self._stack: AsyncExitStack | None = None
        self._metrics: metrics.MetricsEndpoint | None = None
        self.standstill = Standstill()
        """Whether this process stood still lately."""
        self.stopping = asyncio.Event()
        """Set when the app has begun to stop."""
        self.failed = asyncio.Event()
        """Set when it cannot go on."""

    @property
    def database(self) -> Database:
        """The database; only for a service that names its `migrations`."""
        if self._database is None:
            raise RuntimeError(f"{self.name} has not asked for the database")
        return self._database

    @property
    def bus(self) -> Bus:
        """NATS; only for a service with `uses_bus`."""
        if self._bus is None:
            raise RuntimeError(f"{self.name} has not asked for the bus")
        return self._bus

    @property
    def port(self) -> int:
        """The gRPC server's port, once it is up."""
        return self.server.port

    @property
    def address(self) -> str:
        """host:port to reach the gRPC server from this machine."""
        return self.server.address

    @property
    def metrics_port(self) -> int:
        """The Prometheus endpoint's port; 0 when it is off."""
        return self._metrics.port if self._metrics else 0

    def serve(self, register: Callable[[Any, grpc.aio.Server], None], servicer: object, *names: str) -> None:
        """Serves a generated servicer: its `add_XServicer_to_server`, and full names for reflection and health."""
        self.server.serve(register, servicer, *names)

    def serve_generic(self, handler: grpc.GenericRpcHandler[Any, Any], *names: str) -> None:
        """Serves a generic handler, for RPCs whose serializers take bytes."""
        self.server.serve_generic(handler, *names)

    def serve_link(self, methods: Mapping[str, Handler], *, max_in_flight: int = IN_FLIGHT) -> LinkServer:
        """Serves frames from other services; drained by the app after the service's own `drain`."""
        link = LinkServer(methods, max_in_flight=max_in_flight, stood_still_s=self.standstill.lately_s)
        self._links.append(link)
        self.server.serve_generic(link.generic_handler(), SERVICE, frames=True)
        return link

    async def peers(self, target: str) -> Peers:
        """The replicas of another service; looked up now and from time to time, closed with the app."""
        peers = Peers(target, identity=self.identity)
        self._peers.append(peers)
        await peers.start()
        return peers

    async def set_serving(self, serving: bool, name: str = "") -> None:
        """What health says of one service by its full name, beyond what the app does by itself."""
        await self.server.set_serving(serving, name)

    async def _up(self) -> None:
        self._stack = stack = AsyncExitStack()
        settings, service = self.settings, self.service
        await stack.enter_async_context(self.tasks)
        if settings.metrics_port:
            self._metrics = metrics.MetricsEndpoint.start(settings.metrics_host, settings.metrics_port)
            stack.push_async_callback(asyncio.to_thread, self._metrics.close)
        metrics.BUILD.labels(self.name, version("omnipoly")).set(1)
        self.tasks.spawn("loop-lag", metrics.watch_loop_lag)
        self.tasks.spawn("standstill", self.standstill.watch)
        if service.migrations:
            _require_url("OMNIPOLY_DATABASE_URL", settings.database_url, "postgresql://user:password@host:port/name")
            tls.require_database(settings.database_url, plain=settings.plain("database"))
            await migrations.check_schema(settings.database_url, service.migrations)
            self._database = await Database.connect(
                settings.database_url,
                name=f"omnipoly-{self.name}",
                pool_size=settings.database_pool_size,
                statement_timeout_s=settings.statement_timeout_s,
            )
            stack.push_async_callback(self._database.close)
            stack.push_async_callback(self.tasks.close)  # before it: none of them is to miss the database
        if service.uses_bus:
            _require_url("OMNIPOLY_NATS_URL", settings.nats_url, "nats://host:port")
            self._bus = Bus(
                settings.nats_url,
                name=self.instance,
                replicas=settings.nats_replicas,
                context=tls.for_nats(settings),
                inbox=f"_INBOX.{self.name}",
            )
            await self._bus.start()
            stack.push_async_callback(self._bus.close)
        stack.push_async_callback(self._close_peers)
        # From here on the service has something to let go of, even if its start fails half-way.
        stack.push_async_callback(self._step, "stop", service.stop)
        await service.start(self)
        stack.push_async_callback(self.server.stop, 0)  # for a start that fails below; otherwise it has stopped by then
        await self.server.start()
        self.tasks.once("server", self._watch_server())
        await self.server.set_all_serving(True)
        log.info("serving", address=self.address, instance=self.instance, **settings.describe())

    async def _down(self) -> None:
        self.stopping.set()
        log.info("stopping")
        await self.server.set_all_serving(False)
        drains = [self.service.drain, *(link.drain for link in self._links)]
        await asyncio.gather(*(self._step("drain", drain) for drain in drains))
        await self._step("server stop", lambda: self.server.stop(STOP_GRACE_S))
        await self._unwind()
        log.info("stopped")

    async def _watch_server(self) -> None:
        """A server that ends unasked (grpc's own crash handler does that) takes the process with it."""
        try:
            await self.server.wait_ended()
        finally:
            if not self.stopping.is_set():
                log.error("server_ended_unasked")
                self.failed.set()

    async def _unwind(self) -> None:
        self.stopping.set()
        stack, self._stack = self._stack, None
        if stack is not None:
            await stack.aclose()

    async def _step(self, what: str, step: Callable[[], Awaitable[None]]) -> None:
        """One step of the way down: bounded by `drain_s`, and no error of it holds the others up."""
        try:
            async with asyncio.timeout(self.settings.drain_s):
                await step()
        except TimeoutError:
            log.warning("stop_step_cut_off", step=what, after_s=self.settings.drain_s)
        except Exception as error:
            log.exception("stop_step_failed", step=what, error=repr(error))

    async def _close_peers(self) -> None:
        for peers in self._peers:
            await peers.close()


@asynccontextmanager
async def running(service: Service, settings: ServiceSettings | None = None) -> AsyncIterator[App]:
    """A service up and SERVING for the length of the block, then drained and stopped; several fit into one loop.

    settings: the service's own (`service.settings`) unless given. Raises `StartError` when it cannot start; what had
    started is taken down again. Logging and tracing are the process's and stay as they are.
    """
    app = App(service, settings or service.settings)
    try:
        await app._up()
    except BaseException:
        await app._unwind()
        raise
    try:
        yield app
    finally:
        await app._down()


async def run(
    factory: Callable[[S], Service], settings: S, on_serving: Callable[[App], Awaitable[None]] | None = None
) -> int:
    """Runs one service as this process until SIGTERM or SIGINT; the exit code. A second signal ends it at once.

    on_serving: awaited once it serves, by which whoever has started it may be told.
    """
    logging.configure(settings.service_name, level=settings.log_level, form=settings.log_format)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    this = asyncio.current_task()
    # In a thread, so that it also ends a process whose event loop is stuck.
    timer = threading.Timer(settings.hard_stop_s, _force, (settings.hard_stop_s,))
    timer.daemon = True
    serving = False

    def begin_to_end() -> None:
        if not timer.is_alive():
            timer.start()

    def asked(number: signal.Signals) -> None:
        if stop.is_set():
            log.warning("stop_forced", signal=number.name)
            os._exit(EXIT_FORCED)
        log.info("stop_asked", signal=number.name)
        stop.set()
        begin_to_end()
        if not serving and this is not None:
            this.cancel()  # it may wait for a database that does not answer

    service = factory(settings)
    tracing.configure(
        settings.service_name,
        endpoint=settings.otlp_endpoint,
        sample_ratio=settings.trace_sample_ratio,
        instance=f"{socket.gethostname()}-{os.getpid()}",
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked, number)
    failed = False
    try:
        async with running(service, settings) as running_app:
            serving = True
            # What the start has built stays: a full collection that walks it stops everything for 60 ms and more.
            gc.collect()
            gc.freeze()
            gc.set_threshold(*gc.get_threshold()[:2], service.full_collections)
            if on_serving is not None:
                await on_serving(running_app)
            watched = [asyncio.create_task(event.wait()) for event in (stop, running_app.failed)]
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            for task in watched:
                task.cancel()
            failed = running_app.failed.is_set()
            begin_to_end()
        await asyncio.to_thread(tracing.shutdown)
    except StartError as error:
        log.error("cannot_start", error=str(error))  # noqa: TRY400 - one line, no trace
        return EXIT_CANNOT_START
    except asyncio.CancelledError:
        if not stop.is_set():
            raise
    finally:
        timer.cancel()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
    return EXIT_FORCED if failed else EXIT_OK


def main(
    factory: Callable[[S], Service],
    settings_class: type[S],
    on_serving: Callable[[App], Awaitable[None]] | None = None,
) -> int:
    """What `omnipolyd serve SERVICE` does: reads the settings and runs; the exit code.

    0 stopped as asked, 1 could not start (one line on standard error), 70 forced.
    """
    try:
        settings = config.read_settings(settings_class)
    except StartError as error:
        return config.exit_with(error)
    with asyncio.Runner(loop_factory=_loop_factory(settings)) as runner:
        return runner.run(run(factory, settings, on_serving))


def _loop_factory(settings: ServiceSettings) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """None: Python's own event loop."""
    if settings.event_loop == "asyncio":
        return None
    import uvloop

    return uvloop.new_event_loop


def _force(after_s: float) -> None:
    log.error("stop_forced", after_s=after_s)
    os._exit(EXIT_FORCED)


def _require_url(variable: str, value: str, example: str) -> None:
    if not value:
        raise StartError(f"{variable} is not set; give {example}, or use `omnipolyd up`, which brings its own")


S = TypeVar("S", bound=ServiceSettings)
