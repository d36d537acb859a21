-- Run once by Postgres' image, in the new database: the roles of ../postgres/roles.sql, with the passwords of .env.
\getenv owner_password OWNER_PASSWORD
\getenv table_password TABLE_PASSWORD
-- Without a password nobody signs in to look, until somebody needs it: ALTER ROLE omnipoly_looker PASSWORD …
\set reader_password ''
\i /etc/omnipoly/roles.sql
