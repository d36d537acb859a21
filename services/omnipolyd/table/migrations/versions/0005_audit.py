"""What operators did: the audit log."""

from __future__ import annotations

from omnipoly.runtime.migrations import run_sql

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Run the SQL beside this file."""
    run_sql(__file__)
