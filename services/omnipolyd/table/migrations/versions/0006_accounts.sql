-- Who has signed in. The id is made from issuer and subject, so that the same person is the same row whatever is lost;
-- of a guest only the id is kept. `stamp` counts changes of roles, `changed_at` is when a ban or a role last changed.
CREATE TABLE persons (
    person text PRIMARY KEY CHECK (length(person) BETWEEN 1 AND 64),
    issuer text NOT NULL,
    subject text NOT NULL,
    name text NOT NULL,
    guest boolean NOT NULL,
    roles text[] NOT NULL DEFAULT '{}',
    stamp bigint NOT NULL DEFAULT 0,
    banned_until timestamptz,
    ban_reason text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz
);
CREATE INDEX persons_by_change ON persons (changed_at) WHERE changed_at IS NOT NULL;
CREATE INDEX persons_banned ON persons (banned_until) WHERE banned_until IS NOT NULL;
CREATE INDEX guests_by_age ON persons (created_at) WHERE guest;

-- Sessions. Of refresh tokens only the hash of the good one is kept, and the salt that the next one is made with; of the
-- calls that opened and last renewed it, the hash of their id: each again has the same answer.
CREATE TABLE sessions (
    session text PRIMARY KEY,
    person text NOT NULL REFERENCES persons ON DELETE CASCADE,
    salt bytea NOT NULL,
    hash bytea NOT NULL,
    generation bigint NOT NULL DEFAULT 1,
    opened_by bytea NOT NULL UNIQUE,
    sign_in text UNIQUE,
    opened_at timestamptz NOT NULL DEFAULT now(),
    renewed_by bytea,
    renewed_at timestamptz,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    ended_why text NOT NULL DEFAULT ''
) WITH (fillfactor = 80);
CREATE INDEX sessions_by_person ON sessions (person);
CREATE INDEX sessions_by_end ON sessions (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
