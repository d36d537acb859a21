-- The operator's number above the WAL timeline: raised after a restore to a point in time, so that readers take a fresh
-- picture of every table.
CREATE TABLE epochs (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    number bigint NOT NULL CHECK (number >= 0)
);
INSERT INTO epochs (number) VALUES (0);

-- An edition's text by its digest: a game is replayed from what it was begun with.
CREATE TABLE editions (
    digest text PRIMARY KEY,
    edition text NOT NULL,
    body text NOT NULL
);

-- One row a table: where its log stands, and what lists and clocks ask for. Moved by compare-and-set, from version n to
-- n + 1, in the statement that inserts the commit. Columns that change with every commit stand in no index, so that
-- Postgres updates the row in place (fillfactor leaves it room).
CREATE TABLE heads (
    table_id text PRIMARY KEY CHECK (length(table_id) BETWEEN 1 AND 36),
    version bigint NOT NULL CHECK (version >= 1),
    epoch bigint NOT NULL,
    status smallint NOT NULL,
    due_at timestamptz,
    presence_revision bigint NOT NULL DEFAULT 0,
    edition text NOT NULL,
    digest text NOT NULL REFERENCES editions,
    opener text NOT NULL,
    opened_at timestamptz NOT NULL,
    host text NOT NULL,
    persons text[] NOT NULL,
    free_seats boolean NOT NULL,
    summary bytea NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 60);
CREATE INDEX heads_by_opening ON heads (opened_at DESC, table_id);
CREATE INDEX heads_by_opener ON heads (opener, status);
CREATE INDEX heads_by_person ON heads USING gin (persons);

-- The only truth: a row a commit, with all of a command's events as one body, so that half a command cannot exist. A
-- command id is unique for its actor at its table, so that a command takes effect once.
CREATE TABLE commits (
    table_id text NOT NULL,
    version bigint NOT NULL CHECK (version >= 1),
    epoch bigint NOT NULL,
    actor text NOT NULL,
    command_id text NOT NULL,
    digest bytea NOT NULL,
    at timestamptz NOT NULL,
    traceparent text NOT NULL,
    body bytea NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (table_id, version)
);
CREATE UNIQUE INDEX commits_by_command ON commits (table_id, actor, command_id) WHERE command_id <> '';
CREATE INDEX commits_by_time ON commits USING brin (stored_at) WITH (pages_per_range = 16, autosummarize = on);
ALTER TABLE commits ALTER COLUMN body SET STORAGE EXTERNAL;

-- Whole states, every so many commits: a load reads the last one and the commits behind it.
CREATE TABLE snapshots (
    table_id text NOT NULL,
    version bigint NOT NULL,
    epoch bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (table_id, version)
);

-- What never leaves before its time, or never at all; never in an event, a log line, a trace or a snapshot.
CREATE TABLE secrets (
    table_id text PRIMARY KEY,
    seed bytea NOT NULL
);

-- The platform's pulse: moved every second by each table replica. A gap is time that does not count for any clock.
CREATE TABLE heartbeat (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    at timestamptz NOT NULL
);
CREATE TABLE outages (
    from_at timestamptz PRIMARY KEY,
    to_at timestamptz NOT NULL CHECK (to_at > from_at)
);
CREATE INDEX outages_by_end ON outages (to_at);

-- Tables taken out of play because they could not be loaded or an invariant did not hold.
CREATE TABLE quarantined (
    table_id text PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    reason text NOT NULL
);
