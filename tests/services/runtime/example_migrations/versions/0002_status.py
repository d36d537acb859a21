"""A column that old rows get a value for."""

from __future__ import annotations

from omnipoly.runtime.migrations import run_sql

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_sql(__file__)
