-- Every call of an operator: a row before anything is done, its outcome afterwards. A row without an outcome is of a call
-- of which nobody knows what became.
CREATE TABLE audit (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    by text NOT NULL,
    roles text[] NOT NULL,
    what text NOT NULL,
    table_id text NOT NULL DEFAULT '',
    person text NOT NULL DEFAULT '',
    note text NOT NULL DEFAULT '',
    request_id text NOT NULL DEFAULT '',
    outcome text NOT NULL DEFAULT ''
);
CREATE INDEX audit_by_table ON audit (table_id, number DESC);
CREATE INDEX audit_by_person ON audit (person, number DESC);
CREATE INDEX audit_by_operator ON audit (by, number DESC);

-- Rows stay as they are, but for the outcome, which is told once.
CREATE FUNCTION audit_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR OLD.outcome <> '' OR to_jsonb(OLD) - 'outcome' <> to_jsonb(NEW) - 'outcome' THEN
        RAISE EXCEPTION 'the audit log is only added to' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER audit_stays BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_stays();
