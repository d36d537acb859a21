"""Persons who have signed in, their sessions, bans."""

from __future__ import annotations

from omnipoly.runtime.migrations import run_sql

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Run the SQL beside this file."""
    run_sql(__file__)
