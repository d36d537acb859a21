"""The gateway's life: what it is made of, in which order it comes up and goes down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from omnipoly.runtime import tls
from omnipoly.runtime.app import Service
from omnipoly.runtime.table_client import TableClient

from . import (
    census,
    revocations,
    servicer_admin,
    servicer_chat,
    servicer_dev,
    servicer_lobby,
    servicer_play,
    servicer_sessions,
    servicer_trades,
    servicer_wallet,
    servicer_watch,
)
from .accounts import Accounts
from .beside import Beside
from .catalogue import Catalogue
from .door import Door
from .hub import Hub
from .limits import Limits
from .oidc import issuers
from .oidc.signing_in import SigningIn
from .presence import Presence
from .records import Records
from .revocations import Revocations
from .rooms import Rooms
from .sessions import Sessions
from .tokens import Keys
from .upstream import Upstream
from .viewers import Viewers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import grpc.aio

    from omnipoly.runtime.app import App

    from .config import GatewaySettings


class GatewayService(Service):
    """The public face."""

    uses_bus: ClassVar[bool] = True
    public: ClassVar[bool] = True
    # Larger than what is taken, so that what is too large is refused in our words; beyond, gRPC does it in its own.
    max_request_bytes: ClassVar[int] = 256 * 1024

    def __init__(self, settings: GatewaySettings) -> None:
        super().__init__(settings)
        self.settings: GatewaySettings = settings
        self.hub: Hub | None = None
        self.signing_in: SigningIn | None = None
        self._beside = Beside()

    def interceptors(self) -> Sequence[grpc.aio.ServerInterceptor[Any, Any]]:
        return (self._beside,)

    def certificate(self) -> tls.Certificate | None:
        """Clients are shown another certificate than services, and asked for none."""
        return tls.in_public(self.settings, self.settings.public_tls_cert, self.settings.public_tls_key)

    async def start(self, app: App) -> None:
        settings, bus = self.settings, app.bus
        table_peers = await app.peers(settings.table_addr)
        tables = TableClient(table_peers, key=app.instance)
        others = {
            name: await app.peers(getattr(settings, f"{name}_addr"))
            for name in ("auction", "trade")
            if settings.configured(name)
        }
        upstream = Upstream(tables, others)
        limits, keys = Limits(settings), Keys.of(settings)
        rooms = Rooms(upstream, bus, settings)
        there = await app.peers(settings.presence_addr) if settings.configured("presence") else None
        presence, viewers = Presence(there), Viewers(there, rooms, most=settings.viewers_per_table)
        catalogue, records = Catalogue(settings.editions), Records(upstream)
        accounts = Accounts(table_peers, key=app.instance)
        revoked = Revocations(accounts, settings.revocations_every_s)
        sessions = Sessions(accounts, keys, settings)
        self.signing_in = signing_in = SigningIn(
            issuers.of(settings), keys, sessions, keys_every_s=settings.oidc_keys_every_s
        )
        door = Door(keys, revoked, limits, address_header=settings.client_address_header)
        self._beside.door = door
        self.hub = hub = Hub(
            settings, revoked, door.known, limits, catalogue, records, upstream, rooms, presence, viewers
        )
        hub.stood_still_s = app.standstill.lately_s
        revoked.changed = hub.end_revoked
        await bus.subscribe(revocations.SUBJECT, revoked.hear)
        bus.on_reconnect(rooms.look_now)
        bus.on_reconnect(revoked.look_now)
        app.tasks.spawn("heads", rooms.watch_heads)
        app.tasks.spawn("census", lambda: census.take(hub))
        app.tasks.spawn("presence", presence.report_changes)
        app.tasks.spawn("session-keys", keys.watch)
        app.tasks.spawn("revocations", revoked.watch)

        signs_in = servicer_sessions.SessionsServicer(hub, sessions, signing_in)
        door.serve(app, servicer_sessions.SERVICE, signs_in.methods(door))
        door.serve(app, servicer_lobby.SERVICE, servicer_lobby.LobbyServicer(hub).methods(door))
        door.serve(app, servicer_play.SERVICE, servicer_play.PlayServicer(hub).methods(door))
        door.serve(app, servicer_watch.SERVICE, servicer_watch.WatchServicer(hub).methods(door))
        door.serve(app, servicer_chat.SERVICE, servicer_chat.ChatServicer(hub).methods(door))
        door.serve(app, servicer_wallet.SERVICE, servicer_wallet.WalletServicer(hub).methods(door))
        door.serve(app, servicer_admin.SERVICE, servicer_admin.AdminServicer(hub).methods(door))
        if "trade" in others:
            trades = servicer_trades.TradesServicer(hub, others["trade"])
            door.serve(app, servicer_trades.SERVICE, trades.methods(door))
        if settings.dev:
            door.serve(app, servicer_dev.SERVICE, servicer_dev.DevServicer(hub).methods(door))

    async def drain(self) -> None:
        if self.hub is not None:
            await self.hub.presence.drain()
            await self.hub.drain()

    async def stop(self) -> None:
        if self.signing_in is not None:
            await self.signing_in.close()
        if self.hub is not None:
            await self.hub.rooms.stop()
