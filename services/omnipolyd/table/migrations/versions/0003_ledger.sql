-- Credits, in double entry: what one account gives another gets, so that all balances together are always 0. Accounts are
-- `wallet:<person>`, `held:<table>` for the fees of a game that is played, and `house`, where credits come from.

-- Locked in the order of their names by everything that moves credits. Only the house may owe.
CREATE TABLE ledger_accounts (
    account text PRIMARY KEY,
    balance bigint NOT NULL DEFAULT 0,
    CONSTRAINT ledger_never_below_zero CHECK (balance >= 0 OR account = 'house')
);

-- What moved credits, once: a call by its caller and id, a commit by its table.
CREATE TABLE ledger_transactions (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    reason smallint NOT NULL,
    table_id text NOT NULL DEFAULT '',
    actor text NOT NULL DEFAULT '',
    request_id text NOT NULL DEFAULT '',
    digest bytea NOT NULL DEFAULT '',
    note text NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX ledger_transactions_by_request ON ledger_transactions (actor, request_id) WHERE request_id <> '';

-- One side of a transaction, with the account's balance after it. A game moves an account once for each reason.
CREATE TABLE ledger_entries (
    account text NOT NULL REFERENCES ledger_accounts,
    number bigint GENERATED ALWAYS AS IDENTITY,
    transaction bigint NOT NULL REFERENCES ledger_transactions,
    reason smallint NOT NULL,
    table_id text NOT NULL DEFAULT '',
    amount bigint NOT NULL CHECK (amount <> 0),
    balance bigint NOT NULL,
    PRIMARY KEY (account, number),
    CONSTRAINT ledger_entries_never_below_zero CHECK (balance >= 0 OR account = 'house')
);
CREATE INDEX ledger_entries_by_transaction ON ledger_entries (transaction);
CREATE UNIQUE INDEX ledger_entries_once_a_game ON ledger_entries (table_id, reason, account) WHERE table_id <> '';

-- The two sides of a transaction are looked at when it is committed, whoever wrote them.
CREATE FUNCTION ledger_adds_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT sum(amount) FROM ledger_entries WHERE transaction = NEW.transaction) <> 0 THEN
        RAISE EXCEPTION 'transaction % does not add up to 0', NEW.transaction USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER ledger_adds_up AFTER INSERT ON ledger_entries
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_adds_up();

-- What is written stays: a mistake is made good by another transaction.
CREATE FUNCTION ledger_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is only added to' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER ledger_entries_stay BEFORE UPDATE OR DELETE ON ledger_entries
    FOR EACH ROW EXECUTE FUNCTION ledger_stays();
CREATE TRIGGER ledger_transactions_stay BEFORE UPDATE OR DELETE ON ledger_transactions
    FOR EACH ROW EXECUTE FUNCTION ledger_stays();
