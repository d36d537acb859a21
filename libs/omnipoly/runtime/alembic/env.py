"""Run by alembic: on the connection that `omnipoly.runtime.migrations` has opened, in its transaction."""

from __future__ import annotations

from alembic import context
from sqlalchemy import text

from omnipoly.runtime.migrations import LOCK

connection = context.config.attributes["connection"]
# Whoever comes second waits here, then finds nothing left to do.
connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
context.configure(connection=connection, version_table=context.config.attributes["version_table"])
with context.begin_transaction():
    context.run_migrations()
