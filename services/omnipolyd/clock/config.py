"""The clock service's settings."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from omnipoly.runtime.config import ServiceSettings


class ClockSettings(ServiceSettings):
    """Read once from the environment, ``OMNIPOLY_`` before each name."""

    service_name: ClassVar[str] = "clock"

    port: int = Field(7104, ge=0, le=65535, description="port of the gRPC server; 0: any free one")

    clock_self: str = Field(
        "",
        description="this replica's host:port among the clock replicas; empty: the one with an address of this machine",
    )
    overdue_per_second: float = Field(
        500, gt=0, le=100_000, description="wake-ups a second of tables found long overdue, after a start or an outage"
    )
    wakes_at_once: int = Field(1024, ge=1, le=8192, description="wake-ups under way at once")
