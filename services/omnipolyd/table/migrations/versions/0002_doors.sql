-- What stands beside a table's game and never in its log: who is let in, and the chat.

-- A table's door: its PIN, hashed slowly, and a revision that rises with whatever may send somebody away, so that those
-- who show the table look again. A table without a row is open to everybody.
CREATE TABLE doors (
    table_id text PRIMARY KEY,
    revision bigint NOT NULL,
    pin_number bigint NOT NULL DEFAULT 0,
    pin_salt bytea,
    pin_hash bytea,
    CHECK ((pin_salt IS NULL) = (pin_hash IS NULL))
);

-- Who has shown a table's PIN: let in for as long as that is the PIN, which its number says.
CREATE TABLE admissions (
    table_id text NOT NULL,
    person text NOT NULL,
    pin_number bigint NOT NULL,
    PRIMARY KEY (table_id, person)
);

-- Tries of the last minutes: a row stands before a PIN is compared, and goes when it was the right one.
CREATE TABLE pin_tries (
    try bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_id text NOT NULL,
    pin_number bigint NOT NULL,
    person text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX pin_tries_by_table ON pin_tries (table_id, at);
CREATE INDEX pin_tries_by_person ON pin_tries (person, at);
CREATE INDEX pin_tries_by_time ON pin_tries (at);

-- Viewers whom the host has sent away.
CREATE TABLE barred (
    table_id text NOT NULL,
    person text NOT NULL,
    PRIMARY KEY (table_id, person)
);

-- Who may not write at a table, until when.
CREATE TABLE muted (
    table_id text NOT NULL,
    person text NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (table_id, person)
);

-- Commands that change what is beside the log, by their ids: each takes effect once.
CREATE TABLE asides (
    table_id text NOT NULL,
    actor text NOT NULL,
    command_id text NOT NULL,
    digest bytea NOT NULL,
    answer integer NOT NULL,
    PRIMARY KEY (table_id, actor, command_id)
);

-- The chat: how far it is, and its last lines.
CREATE TABLE chats (
    table_id text PRIMARY KEY,
    last bigint NOT NULL
);
CREATE TABLE chat_lines (
    table_id text NOT NULL,
    number bigint NOT NULL,
    at timestamptz NOT NULL,
    person text NOT NULL,
    name text NOT NULL,
    seat smallint NOT NULL,
    text text NOT NULL,
    command_id text NOT NULL,
    PRIMARY KEY (table_id, number)
);
CREATE UNIQUE INDEX chat_lines_by_command ON chat_lines (table_id, person, command_id);

-- When somebody last wrote, wherever that was.
CREATE TABLE chat_writers (
    person text PRIMARY KEY,
    at timestamptz NOT NULL
);

-- Tables that never started are shown to whoever knows them, and listed no more.
ALTER TABLE heads ADD COLUMN listed boolean NOT NULL DEFAULT true;
