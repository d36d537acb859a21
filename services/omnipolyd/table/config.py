"""The table service's settings."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from omnipoly.runtime.config import ServiceSettings


class TableSettings(ServiceSettings):
    """Read once from the environment, ``OMNIPOLY_`` before each name."""

    service_name: ClassVar[str] = "table"

    dev: bool = Field(False, description="allow tables set up from positions, scripted dice and driven clocks")
    editions: str = Field("", description="folder of further edition files; empty: the shipped ones only")
    snapshot_every: int = Field(200, ge=1, le=100_000, description="commits between two snapshots of a table")
    evict_after_s: float = Field(60, gt=0, le=86_400, description="a table without a command leaves memory after it")
    cached_tables: int = Field(20_000, ge=1, description="most tables kept in memory")
    open_tables: int = Field(5, ge=1, le=1_000_000, description="tables a person may have open at once")
    chat_lines_per_second: float = Field(1, gt=0, le=1000, description="lines of one person in the chat of tables")
    ledger_check_s: float = Field(300, ge=1, le=86_400, description="how often all of the ledger is looked through")
    batch: int = Field(256, ge=1, le=4096, description="most commits in one append")

    admins: str = Field(
        "",
        description="ids of persons who are admins whatever roles they were given, separated by commas: the first ones",
    )

    @property
    def admin_persons(self) -> list[str]:
        """The ids that ``admins`` names."""
        return [part.strip() for part in self.admins.split(",") if part.strip()]
