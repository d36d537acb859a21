"""The schema's next revision, as a coming release may bring it: the kinds of statements that a revision may have."""

from __future__ import annotations

from omnipoly.runtime import migrations

PACKAGE = "omnipolyd.table.migrations"

# commits before heads, as an append takes them: the other way round both would wait for each other.
SQL = """
ALTER TABLE commits ADD COLUMN size integer;
ALTER TABLE heads ADD COLUMN region text NOT NULL DEFAULT '';
CREATE TABLE regions (region text PRIMARY KEY);
CREATE INDEX heads_by_region ON heads (region);
"""


def newest() -> int:
    """The newest revision there is."""
    return int(migrations.revisions(PACKAGE)[-1])
