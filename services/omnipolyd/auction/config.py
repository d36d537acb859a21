"""The auction service's settings."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from omnipoly.runtime.config import ServiceSettings


class AuctionSettings(ServiceSettings):
    """Read once from the environment, ``OMNIPOLY_`` before each name."""

    service_name: ClassVar[str] = "auction"

    port: int = Field(7102, ge=0, le=65535, description="port of the gRPC server; 0: any free one")

    bids_per_second: float = Field(10, gt=0, le=1_000_000, description="bids and passes of one person at a table")
    bids_burst: int = Field(20, ge=1, le=1_000_000, description="likewise at once, after a rest")
    bids_at_table: int = Field(16, ge=1, le=32, description="bids of one auction under way to its table at once")
    bids_waiting: int = Field(512, ge=1, le=100_000, description="bids that may wait for one table")
    auction_followers: int = Field(10_000, ge=1, description="streams that may follow auctions")
