"""What stands beside a table's game: who is let in, and the chat."""

from __future__ import annotations

from omnipoly.runtime.migrations import run_sql

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Run the SQL beside this file."""
    run_sql(__file__)
