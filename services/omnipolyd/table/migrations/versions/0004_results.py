"""Finished games, who played them, and who stands where by them."""

from __future__ import annotations

from omnipoly.runtime.migrations import run_sql

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Run the SQL beside this file."""
    run_sql(__file__)
