#!/bin/sh
# What the official image's entry point does, as far as compose.yaml relies on it.
set -eu
data=/var/lib/postgresql/data/pgdata
if [ ! -e "$data/PG_VERSION" ]; then
  echo "$POSTGRES_PASSWORD" >/tmp/password
  initdb --pgdata="$data" --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 --encoding=UTF8 \
    --no-locale --no-instructions
  rm /tmp/password
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
  echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single -D "$data" postgres
fi
shift
exec postgres -D "$data" -c listen_addresses='*' -c unix_socket_directories=/tmp "$@"
