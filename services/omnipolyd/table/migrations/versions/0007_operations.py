"""What operators ask of all tables at once."""

from __future__ import annotations

from omnipoly.runtime.migrations import run_sql

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Run the SQL beside this file."""
    run_sql(__file__)
