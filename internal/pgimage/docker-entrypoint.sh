#!/bin/sh
# The entry point of the test image: as much of the official image's as a client can tell from
# outside. It makes a database on the first start, from POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB
# and POSTGRES_INITDB_ARGS, is not reachable over the network until then, and then becomes the server,
# as the user postgres.
set -eu

[ "${1:-}" = postgres ] || exec "$@"

user=${POSTGRES_USER:-postgres}
: "${POSTGRES_PASSWORD:?POSTGRES_PASSWORD must be set, as for the official image}"

if [ "$(id -u)" = 0 ]; then
	mkdir -p "$PGDATA"
	chown postgres:postgres "$PGDATA"
	exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
	secret=$(mktemp)
	printf '%s\n' "$POSTGRES_PASSWORD" >"$secret"
	# shellcheck disable=SC2086 # several arguments
	initdb -D "$PGDATA" -U "$user" --pwfile="$secret" ${POSTGRES_INITDB_ARGS:-}
	rm -f "$secret"
	printf '\nhost all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
	printf "\nlisten_addresses = '*'\nunix_socket_directories = '/tmp'\n" >>"$PGDATA/postgresql.conf"
	pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start
	if [ "${POSTGRES_DB:-$user}" != postgres ]; then
		createdb -h /tmp -U "$user" "${POSTGRES_DB:-$user}"
	fi
	pg_ctl -D "$PGDATA" -m fast -w stop
fi
exec "$@"
