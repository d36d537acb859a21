"""What the bots service does: find tables that bots sit at, follow them on one stream, and play there."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
from prometheus_client import Gauge

from omnipoly.client import Client, Play
from omnipoly.client.happenings import Gone, Missed
from omnipoly.client.refused import Refused
from omnipoly.runtime import app, logging
from omnipoly.wire.gen.bots.v1 import bots_pb2_grpc

from . import finding, ideas, tokens
from .config import BotsSettings
from .servicer import BotsServicer
from .table import BotTable

if TYPE_CHECKING:
    from omnipoly.client.lobby import Answer, Lobby
    from omnipoly.runtime.bus import Message

    from .ideas import Idea

log = logging.get(__name__)

TABLES = Gauge("omnipoly_bots_tables", "Tables that this replica's bots play at.")

SUBJECT = "omnipoly.table.*"
NAME = "omnipoly.bots.v1.BotsService"
CONNECT_AGAIN_S = 1.0
AT_ONCE = 32
"""Tables that are being taken up at the same time."""
ACT_S = 10.0


class BotsService(app.Service):
    """One replica. Several share nothing."""

    settings: BotsSettings
    uses_bus = True

    def __init__(self, settings: BotsSettings) -> None:
        super().__init__(settings)
        self.paused = False
        self.decisions = 0
        self.refused = 0
        self.started_s = time.time()
        self.instance = ""
        self._app: app.App | None = None
        self._play: Play | None = None
        self._hints = finding.Hints()
        self._tables: dict[str, BotTable] = {}
        self._taking_up: dict[str, asyncio.Task[None]] = {}
        self._playing: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def start(self, running: app.App) -> None:
        """Begins to connect; it serves at once, and plays as soon as a gateway answers. Raises ``ConfigError``."""
        self._key = tokens.Key(self.settings)
        self._app = running
        self.instance = running.instance
        running.serve(bots_pb2_grpc.add_BotsServiceServicer_to_server, BotsServicer(self), NAME)
        await running.bus.subscribe(SUBJECT, self._heard)
        running.tasks.spawn("bots-play", self._keep_playing)

    async def drain(self) -> None:
        """Asks for nothing more; what was asked for is done or found by its id."""
        self.paused = True

    @property
    def tables(self) -> dict[str, BotTable]:
        """The tables played at, by id."""
        return self._tables

    def pause(self, still: bool) -> bool:
        """Let all bots stand still, or go on; whether they did so already."""
        already = self.paused is still
        self.paused = still
        for table in self._tables.values():
            table.wake()
        return already

    # --- what a table needs (``table.Mind``)

    async def act(self, table: str, idea: Idea) -> Answer:
        """Ask for it as that bot. Raises ``Refused``."""
        if self._play is None:
            raise Refused("unavailable", "The connection to the gateway is lost.")
        return await self._play.act(
            table,
            idea.action,
            command_id=idea.command_id,
            prompt=idea.prompt,
            if_version=idea.if_version,
            as_bot=idea.bot,
            timeout_s=ACT_S,
        )

    def thinking_s(self) -> float:
        """How long a bot thinks, this time."""
        return self.settings.bots_thinking_s * random.uniform(0.5, 1.5)

    # --- the connection

    async def _keep_playing(self) -> None:
        while True:
            try:
                async with await self._connect() as client:
                    session = client.with_tokens(self._key.session)
                    async with session.play() as play:
                        await self._played(play, session.lobby)
            except Refused as refused:
                log.warning("gateway_lost", gateway=self.settings.gateway_addr, cause=str(refused))
            await asyncio.sleep(CONNECT_AGAIN_S * random.uniform(0.5, 1.5))

    async def _connect(self) -> Client:
        """A connection to one of the gateways, with TLS unless plain text was told. Raises ``Refused``."""
        settings, credentials = self.settings, None
        if not settings.plain("public"):
            credentials = await asyncio.to_thread(_authorities, settings.gateway_ca)
        return await Client.connect(self._gateway(), credentials=credentials, name=settings.gateway_name)

    def _gateway(self) -> str:
        """One of the gateways, each time any of them."""
        return random.choice(self.settings.gateway_addr.split(",")).strip()

    async def _played(self, play: Play, lobby: Lobby) -> None:
        """One connection, until it is over."""
        self._play = play
        feed = aiter(play)
        looking = asyncio.create_task(self._keep_looking(lobby), name="bots-look")
        try:
            async for happening in feed:
                if isinstance(happening, Gone):
                    self._drop(happening.table)
                elif isinstance(happening, Missed):
                    for table in self._tables.values():
                        table.wake()
                else:
                    replica = getattr(happening, "replica", None)
                    known = self._tables.get(replica.table) if replica is not None else None
                    if known is not None:
                        known.wake()
        finally:
            self._play = None
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            for task in (*self._taking_up.values(), *self._playing.values()):
                task.cancel()
            for table_id in list(self._tables):
                self._drop(table_id)

    async def _keep_looking(self, lobby: Lobby) -> None:
        """Look for tables that the bus did not tell of."""
        while True:
            try:
                async for table in finding.running(lobby):
                    self._take_up(table)
            except Refused as refused:
                log.warning("tables_not_listed", cause=str(refused))
            await asyncio.sleep(self.settings.bots_look_every_s * random.uniform(0.9, 1.1))

    async def _heard(self, message: Message) -> None:
        table = message.subject.rpartition(".")[2]
        if table in self._tables:
            return
        worth = self._hints.heard(message.data)  # also while there is no gateway: who sits where is told only once
        if worth and self._play is not None:
            self._take_up(worth)

    # --- tables

    def _take_up(self, table: str) -> None:
        """Follow a table and play there, unless that is so already."""
        if table in self._tables or table in self._taking_up or self._app is None:
            return
        task = self._app.tasks.once("bots-take-up", self._follow(table))
        self._taking_up[table] = task
        task.add_done_callback(lambda _: self._taking_up.pop(table, None))

    async def _follow(self, table: str) -> None:
        play = self._play
        if play is None or self._app is None:
            return
        try:
            async with self._slots:
                replica = await play.follow(table)
        except Refused as refused:
            log.info("table_not_followed", table=table, cause=str(refused))
            return
        if replica.state.dev or not ideas.bot_seats(replica.state):
            # At a table opened under --dev bots act only as a scenario says.
            await play.unfollow(table)
            return
        self._tables[table] = player = BotTable(self, replica)
        TABLES.set(len(self._tables))
        task = self._app.tasks.once("bots-table", self._play_at(play, table, player))
        self._playing[table] = task
        task.add_done_callback(lambda _: self._playing.pop(table, None))

    async def _play_at(self, play: Play, table: str, player: BotTable) -> None:
        try:
            await player.run()
        finally:
            self._drop(table)
            await play.unfollow(table)

    def _drop(self, table: str) -> None:
        if self._tables.pop(table, None) is not None:
            TABLES.set(len(self._tables))
        playing = self._playing.get(table)
        if playing is not None and playing is not asyncio.current_task():
            playing.cancel()


def _authorities(file: str) -> grpc.ChannelCredentials:
    """What a gateway's certificate is looked at with: these authorities, or the system's."""
    return grpc.ssl_channel_credentials(Path(file).read_bytes() if file else None)
