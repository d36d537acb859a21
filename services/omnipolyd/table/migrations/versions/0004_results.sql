-- Finished games, each written by the commit that ended it. The body is a serialized omnipoly.game.v1.GameResult.
CREATE TABLE results (
    table_id text PRIMARY KEY,
    edition text NOT NULL,
    finished_at timestamptz NOT NULL,
    body bytea NOT NULL
);
CREATE INDEX results_by_time ON results (finished_at DESC, table_id DESC);
CREATE INDEX results_by_edition ON results (edition, finished_at DESC, table_id DESC);

-- The same by person: who had a seat at the end, or might have taken theirs back.
CREATE TABLE results_of_persons (
    person text NOT NULL,
    table_id text NOT NULL,
    edition text NOT NULL,
    finished_at timestamptz NOT NULL,
    PRIMARY KEY (person, table_id)
);
CREATE INDEX results_of_persons_by_time ON results_of_persons (person, finished_at DESC, table_id DESC);
CREATE INDEX results_of_persons_by_edition ON results_of_persons (person, edition, finished_at DESC, table_id DESC);

-- Who stands where, counted up by the same commits: of one edition or ('') all, in a month (2026-10, UTC) or ('') ever.
CREATE TABLE standings (
    edition text NOT NULL,
    month text NOT NULL,
    person text NOT NULL,
    name text NOT NULL,
    games integer NOT NULL,
    wins integer NOT NULL,
    points bigint NOT NULL,
    PRIMARY KEY (edition, month, person)
);
CREATE INDEX standings_by_rank ON standings (edition, month, points DESC, wins DESC, person);
