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
  # What is laid there is run before anybody can connect from elsewhere.
  pg_ctl --pgdata="$data" --options="-c listen_addresses='' -c unix_socket_directories=/tmp" --silent start
  for script in /docker-entrypoint-initdb.d/*.sql; do
    PGPASSWORD=$POSTGRES_PASSWORD psql --host=/tmp --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" --no-psqlrc --quiet \
      --set=ON_ERROR_STOP=1 --file="$script"
  done
  pg_ctl --pgdata="$data" --mode=fast --silent stop
fi
shift
exec postgres -D "$data" -c listen_addresses='*' -c unix_socket_directories=/tmp "$@"
