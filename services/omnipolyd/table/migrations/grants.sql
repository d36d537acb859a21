-- Who may do what with the log, given anew by each `omnipolyd migrate` where these roles exist. Rights go to two roles that
-- nobody signs in as; who signs in is a member of one (deploy/postgres/roles.sql). What belongs to everything here, and
-- runs revisions, `omnipolyd archive` and `omnipolyd erase`, is the owner.
--
-- A test holds this against every statement of the table service: none needs more, none of these is needless.

REVOKE ALL ON ALL TABLES IN SCHEMA public FROM omnipoly_table, omnipoly_reader;
GRANT USAGE ON SCHEMA public TO omnipoly_table, omnipoly_reader;

-- The table service, the only one that speaks to the database. The log is added to, and nothing in it changes.
GRANT SELECT, INSERT ON commits, editions, secrets, outages, ledger_entries, ledger_transactions TO omnipoly_table;
GRANT SELECT, INSERT, UPDATE ON
    heads, heartbeat, asides, chats, chat_writers, doors, ledger_accounts, results, results_of_persons, standings
    TO omnipoly_table;
GRANT SELECT, INSERT, UPDATE (outcome) ON audit TO omnipoly_table;
GRANT SELECT, INSERT, DELETE ON barred, chat_lines, quarantined TO omnipoly_table;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    admissions, muted, persons, pin_tries, sessions, snapshots
    TO omnipoly_table;
GRANT SELECT ON epochs, omnipolyd_table_migrations TO omnipoly_table;

-- People and programs that look: everything but seeds, PINs and sessions.
GRANT SELECT ON
    asides, audit, barred, chat_lines, chat_writers, chats, commits, editions, epochs, heads, heartbeat, ledger_accounts,
    ledger_entries, ledger_transactions, muted, omnipolyd_table_migrations, outages, persons, quarantined, results,
    results_of_persons, snapshots, standings
    TO omnipoly_reader;
