"""The log: heads and commits, snapshots, editions by digest, secrets, the platform's heartbeat."""

from __future__ import annotations

from omnipoly.runtime.migrations import run_sql

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Run the SQL beside this file."""
    run_sql(__file__)
