"""Credits in double entry: accounts, transactions and their entries."""

from __future__ import annotations

from omnipoly.runtime.migrations import run_sql

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Run the SQL beside this file."""
    run_sql(__file__)
