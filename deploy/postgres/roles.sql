-- The roles of Omnipoly's database: run once by a superuser, in its database, before the first `omnipolyd migrate`:
--
--     psql "$ADMIN_URL" -v ON_ERROR_STOP=1 -v owner_password=… -v table_password=… -v reader_password=… \
--          -f deploy/postgres/roles.sql
--
-- What each may do with the tables stands in services/omnipolyd/table/migrations/grants.sql; `omnipolyd migrate` gives it.
-- Passwords are changed by ALTER ROLE … PASSWORD; for a change without a pause give a second role of the same membership.

-- Rights, without anybody who signs in.
CREATE ROLE omnipoly_table NOLOGIN;
CREATE ROLE omnipoly_reader NOLOGIN;

-- Whose everything is: `omnipolyd migrate`, `archive`, `erase`, backups.
CREATE ROLE omnipoly_owner LOGIN PASSWORD :'owner_password';
-- The table service. No other service is given an OMNIPOLY_DATABASE_URL.
CREATE ROLE omnipoly_table_service LOGIN PASSWORD :'table_password' IN ROLE omnipoly_table CONNECTION LIMIT 200;
-- Dashboards and people who look.
CREATE ROLE omnipoly_looker LOGIN PASSWORD :'reader_password' IN ROLE omnipoly_reader CONNECTION LIMIT 10;
ALTER ROLE omnipoly_looker SET default_transaction_read_only = on;

SELECT current_database() AS this \gset
REVOKE ALL ON DATABASE :"this" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"this" TO omnipoly_owner, omnipoly_table, omnipoly_reader;
GRANT CREATE ON DATABASE :"this" TO omnipoly_owner;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
ALTER SCHEMA public OWNER TO omnipoly_owner;
