"""Two tables and a function: more statements than PostgreSQL would prepare at once."""

from __future__ import annotations

from omnipoly.runtime.migrations import run_sql

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_sql(__file__)
