"""The presence service's settings."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from omnipoly.runtime.config import ServiceSettings


class PresenceSettings(ServiceSettings):
    """Read once from the environment, ``OMNIPOLY_`` before each name."""

    service_name: ClassVar[str] = "presence"

    port: int = Field(7105, ge=0, le=65535, description="port of the gRPC server; 0: any free one")

    lease_s: float = Field(
        6, ge=1, le=600, description="how long a gateway that no longer reports is believed, seconds"
    )
    presence_bucket: str = Field(
        "omnipoly_presence", pattern=r"^[A-Za-z0-9_-]{1,64}$", description="NATS bucket that replicas share leases in"
    )
    reports_at_once: int = Field(64, ge=1, le=4096, description="reports to tables under way at once")
