"""The gateway's life: what it is made of, in which order it comes up and goes down."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnipoly.runtime.app import Service
from omnipoly.runtime.table_client import TableClient

from . import servicer_dev, servicer_lobby, servicer_play, servicer_sessions, servicer_watch
from .catalogue import Catalogue
from .door import Door
from .hub import Hub
from .limits import Limits
from .presence import Presence
from .records import Records
from .rooms import Rooms
from .tokens import Keys
from .upstream import Upstream

if TYPE_CHECKING:
    from omnipoly.runtime.app import App

    from .config import GatewaySettings


class GatewayService(Service):
    """The public face."""

    uses_bus: ClassVar[bool] = True
    # Larger than what is taken, so that what is too large is refused in our words; beyond, gRPC does it in its own.
    max_request_bytes: ClassVar[int] = 256 * 1024

    def __init__(self, settings: GatewaySettings) -> None:
        super().__init__(settings)
        self.settings: GatewaySettings = settings
        self.hub: Hub | None = None

    async def start(self, app: App) -> None:
        settings, bus = self.settings, app.bus
        tables = TableClient(await app.peers(settings.table_addr), key=app.instance)
        others = {
            name: await app.peers(getattr(settings, f"{name}_addr"))
            for name in ("auction", "trade")
            if settings.configured(name)
        }
        upstream = Upstream(tables, others)
        limits, keys = Limits(settings), Keys.of(settings)
        rooms = Rooms(upstream, bus, settings)
        presence = Presence(await app.peers(settings.presence_addr) if settings.configured("presence") else None)
        catalogue, records = Catalogue(settings.editions), Records(upstream)
        self.hub = hub = Hub(settings, keys, limits, catalogue, records, upstream, rooms, presence)
        bus.on_reconnect(rooms.look_now)
        app.tasks.spawn("heads", rooms.watch_heads)
        app.tasks.spawn("presence", presence.report_changes)

        door = Door(keys, limits)
        door.serve(app, servicer_sessions.SERVICE, servicer_sessions.SessionsServicer(hub).methods(door))
        door.serve(app, servicer_lobby.SERVICE, servicer_lobby.LobbyServicer(hub).methods(door))
        door.serve(app, servicer_play.SERVICE, servicer_play.PlayServicer(hub).methods(door))
        door.serve(app, servicer_watch.SERVICE, servicer_watch.WatchServicer(hub).methods(door))
        if settings.dev:
            door.serve(app, servicer_dev.SERVICE, servicer_dev.DevServicer(hub).methods(door))

    async def drain(self) -> None:
        if self.hub is not None:
            await self.hub.presence.drain()
            await self.hub.drain()

    async def stop(self) -> None:
        if self.hub is not None:
            await self.hub.rooms.stop()
