"""The trade service's settings."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from omnipoly.runtime.config import ServiceSettings


class TradeSettings(ServiceSettings):
    """Read once from the environment, ``OMNIPOLY_`` before each name."""

    service_name: ClassVar[str] = "trade"

    port: int = Field(7103, ge=0, le=65535, description="port of the gRPC server; 0: any free one")

    drafts_kept: int = Field(100_000, ge=1, description="prepared offers kept in memory; beyond, the oldest go")
    drafts_for_s: float = Field(86_400, gt=0, description="how long a prepared offer is kept, seconds")
    repeats_for_s: float = Field(
        600,
        ge=0,
        description="how long after a command it may be sent again: quotas are refused only knowing that time",
    )
