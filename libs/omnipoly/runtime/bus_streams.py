"""The streams and buckets that services declare, and the one who keeps them in being; see `bus`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import nats.errors
from nats.js import JetStreamContext, api
from nats.js import errors as js_errors
from prometheus_client import Counter

from omnipoly.runtime import logging

if TYPE_CHECKING:
    from omnipoly.runtime.bus import Bus

log = logging.get(__name__)

CHECK_S = 10.0
RETRY_S = 1.0
OTHER_CONFIGURATION = 10058
"""JetStream's code for a stream of this name with another configuration."""

MADE = Counter("omnipoly_bus_streams_made_total", "Streams and buckets made, the first time included.", ("stream",))


@dataclass(frozen=True)
class StreamSpec:
    """A stream: what it takes and how long it keeps it."""

    name: str
    """Letters, digits, `_` and `-`."""
    subjects: list[str]
    max_age_s: float = 600
    """Older messages are dropped; seconds, 0: never."""
    max_bytes: int = 1024**3
    """The oldest messages go beyond this; bytes, -1: no bound."""
    memory: bool = False
    """Kept in memory alone."""

    def config(self, replicas: int) -> api.StreamConfig:
        """As NATS is told."""
        return api.StreamConfig(
            name=self.name,
            subjects=self.subjects,
            retention=api.RetentionPolicy.LIMITS,
            discard=api.DiscardPolicy.OLD,
            max_age=self.max_age_s,
            max_bytes=self.max_bytes,
            storage=api.StorageType.MEMORY if self.memory else api.StorageType.FILE,
            num_replicas=replicas,
            allow_direct=True,
        )


@dataclass(frozen=True)
class BucketSpec:
    """A bucket of keys and values, as NATS KV lays it out."""

    name: str
    """Letters, digits, `_` and `-`."""
    ttl_s: float = 0
    """A key not written for this long expires; seconds, 0: never."""
    limit_marker_ttl_s: float = 0
    """Above 0, watchers are told of an expiry (`Change.EXPIRED`), by a marker kept this long; seconds, at least 1."""
    max_bytes: int = 256 * 1024**2
    memory: bool = False

    def config(self, replicas: int) -> api.StreamConfig:
        """As NATS is told: a stream by the conventions of KV."""
        return api.StreamConfig(
            name=f"KV_{self.name}",
            subjects=[f"$KV.{self.name}.>"],
            retention=api.RetentionPolicy.LIMITS,
            discard=api.DiscardPolicy.NEW,
            max_age=self.ttl_s,
            max_bytes=self.max_bytes,
            max_msgs_per_subject=1,
            storage=api.StorageType.MEMORY if self.memory else api.StorageType.FILE,
            num_replicas=replicas,
            duplicate_window=min(120.0, self.ttl_s or 120.0),
            allow_rollup_hdrs=True,
            allow_direct=True,
            allow_msg_ttl=True,
            deny_delete=True,
            subject_delete_marker_ttl=self.limit_marker_ttl_s or None,
        )


@dataclass
class _Kept:
    config: api.StreamConfig
    agreed: bool = field(default=False)
    """Whether the configuration was compared since this process started; afterwards only existence is."""


class Keeper:
    """Makes what was declared and makes it again when it is gone: a store may be lost at any time."""

    def __init__(self, bus: Bus, replicas: int) -> None:
        self._bus = bus
        self._replicas = replicas
        self._kept: dict[str, _Kept] = {}
        self._wake = asyncio.Event()
        self._lock = asyncio.Lock()
        self._served_connects = 0
        self._looked = asyncio.Event()

    async def looked(self) -> None:
        """Returns once everything has been looked after for the first time, with whatever success."""
        await self._looked.wait()

    def declare(self, spec: StreamSpec | BucketSpec) -> None:
        """Adds a stream or bucket to those kept."""
        config = spec.config(self._replicas)
        self._kept[config.name or ""] = _Kept(config)
        self.hurry()

    def hurry(self) -> None:
        """Looks at once instead of within 10 s."""
        self._wake.set()

    async def run(self) -> None:
        """For ever: everything stands; whoever wants to know of a connection is told then."""
        while True:
            await self._bus.wait_connected()
            self._wake.clear()
            connects = self._bus.connects
            stands = await self.ensure()
            self._looked.set()
            if stands and connects != self._served_connects:
                self._served_connects = connects
                await self._bus.after_connect()
            try:
                async with asyncio.timeout(CHECK_S if stands else RETRY_S):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def ensure(self) -> bool:
        """Makes what is missing; whether everything stands."""
        jetstream = self._bus.jetstream
        if jetstream is None:
            return False
        stands = True
        async with self._lock:
            for name, kept in list(self._kept.items()):
                try:
                    await self._ensure_one(jetstream, name, kept)
                except (nats.errors.Error, TimeoutError, OSError) as error:
                    log.warning("bus_stream_not_made", stream=name, error=repr(error))
                    stands = False
        return stands

    async def _ensure_one(self, jetstream: JetStreamContext, name: str, kept: _Kept) -> None:
        there = True
        try:
            await jetstream.stream_info(name)
            if kept.agreed:
                return
        except js_errors.NotFoundError:
            there = False
            if kept.agreed:
                log.warning("bus_stream_lost", stream=name)
        try:
            # The answer says "created" of one that stood as well: nobody's watch is to begin anew for that.
            await jetstream.add_stream(kept.config)
            if not there:
                MADE.labels(name).inc()
                log.info("bus_stream_made", stream=name)
                self._bus.restart_watches(name.removeprefix("KV_"))
        except js_errors.BadRequestError as error:
            if error.err_code != OTHER_CONFIGURATION:
                raise
            await jetstream.update_stream(kept.config)
            log.info("bus_stream_updated", stream=name)
        kept.agreed = True
