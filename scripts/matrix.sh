#!/bin/sh
# Runs the designs on several versions of Postgres:
#
#	matrix.sh [VERSION…]   13, 15, 17 and 18 unless versions are named
#
# For each version it runs, on a server that takes only TLS (checked as verify-full) and SCRAM: the suite of backends and
# generated programs, directly; programs, ended server processes and a restarted bouncer, through PgBouncer; and, on a server that
# it starts and kills, short chaos on each design. It prints a line for each, and exits with 1 if one fails.
#
# The servers are Debian's packages, unpacked once below PULLEY_MATRIX_DIR (default: /var/tmp/pulley-matrix), not in
# containers: that needs root, debootstrap, patchelf and openssl, and 500 MB a version. PULLEY_MATRIX_PARTS names parts:
# conformance, language, pooler, chaos.
set -eu
cd "$(dirname "$0")/.."

dir=${PULLEY_MATRIX_DIR:-/var/tmp/pulley-matrix}
parts=${PULLEY_MATRIX_PARTS:-conformance language pooler chaos}
account=postgres
mkdir -p "$dir/out"
chmod 755 "$dir"

say() { echo "matrix: $*" >&2; }

for program in debootstrap patchelf openssl; do
	command -v $program >/dev/null 2>&1 || {
		say "$program is missing: apt-get install debootstrap patchelf openssl"
		exit 2
	}
done
[ "$(id -u)" = 0 ] && id "$account" >/dev/null 2>&1 || {
	say "run it as root, on a machine with the account $account (apt-get install postgresql-common)"
	exit 2
}

release_of() {
	case $1 in
	13) echo bullseye ;;
	15) echo bookworm ;;
	17) echo trixie ;;
	18) echo sid ;;
	*)
		say "there is no Debian release with PostgreSQL $1 here: choose 13, 15, 17 or 18"
		exit 2
		;;
	esac
}

# unpack makes the root of a release, whose programs then run outside of it: with its libraries and their loader.
unpack() {
	root=$dir/$1
	exec 9>"$dir/lock" # of several runs one unpacks, and the others wait
	flock 9
	if [ -e "$root.ok" ]; then
		exec 9>&-
		return 0
	fi
	rm -rf "$root"
	mirror=$(sed -n -e 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
	say "unpacking $1"
	nice debootstrap --variant=minbase --include=postgresql,pgbouncer "$1" "$root" ${mirror:+"$mirror"} >"$dir/out/$1.log" 2>&1 || {
		tail -n 5 "$dir/out/$1.log" >&2
		exit 2
	}
	loader=$(find "$root"/lib/*-linux-gnu* "$root"/usr/lib/*-linux-gnu* -maxdepth 1 \( -name 'ld-linux*.so*' -o -name 'ld-[0-9]*.so' \) | head -n 1)
	loader=$(chroot "$root" readlink -f "${loader#"$root"}")
	libraries=$(echo "$root"/lib/*-linux-gnu):$(echo "$root"/usr/lib/*-linux-gnu)
	for program in "$root"/usr/lib/postgresql/*/bin/* "$root/usr/sbin/pgbouncer"; do
		patchelf --set-interpreter "$root$loader" --force-rpath --set-rpath "$libraries" "$program" 2>/dev/null || true # scripts
	done
	touch "$root.ok"
	exec 9>&-
}

# certify makes an authority, and a certificate for this machine. PgBouncer may not resolve localhost, so addresses are used.
certify() {
	[ ! -e "$dir/ca.pem" ] || return 0
	openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj "/CN=pulley matrix" -keyout "$dir/ca.key" -out "$dir/ca.new" 2>/dev/null
	openssl req -newkey rsa:2048 -nodes -subj "/CN=localhost" -keyout "$dir/server.key" -out "$dir/server.csr" 2>/dev/null
	echo "subjectAltName = DNS:localhost, IP:127.0.0.1" >"$dir/names"
	openssl x509 -req -in "$dir/server.csr" -CA "$dir/ca.new" -CAkey "$dir/ca.key" -CAcreateserial -days 3650 -extfile "$dir/names" -out "$dir/server.pem" 2>/dev/null
	chown "$account" "$dir/server.key"
	chmod 600 "$dir/server.key"
	chmod 644 "$dir/ca.new" "$dir/server.pem"
	mv "$dir/ca.new" "$dir/ca.pem"
}

as_account() { setpriv --reuid "$account" --regid "$account" --clear-groups "$@"; }

# start starts a server that takes only TLS and SCRAM, and sets dsn.
start() {
	data=$dir/data-$1
	port=$((54300 + $1))
	password=matrix-$(openssl rand -hex 8)
	rm -rf "$data"
	mkdir "$data"
	chown "$account" "$data"
	printf '%s\n' "$password" >"$data.password"
	chown "$account" "$data.password"
	(cd / && as_account "$bin/initdb" -D "$data" -U matrix --auth=scram-sha-256 --pwfile="$data.password" --encoding=UTF8 --locale=C.UTF-8 >"$dir/out/$1.initdb" 2>&1) || {
		tail -n 5 "$dir/out/$1.initdb" >&2
		exit 2
	}
	sed -i 's/^host /hostssl /' "$data/pg_hba.conf"
	cat >>"$data/postgresql.conf" <<-END
		listen_addresses = '127.0.0.1'
		port = $port
		unix_socket_directories = ''
		ssl = on
		ssl_cert_file = '$dir/server.pem'
		ssl_key_file = '$dir/server.key'
		max_connections = 400
		fsync = off
		full_page_writes = off
		jit = off
	END
	(cd / && exec setpriv --reuid "$account" --regid "$account" --clear-groups --pdeathsig KILL "$bin/postgres" -D "$data" >"$dir/out/$1.server" 2>&1) &
	server=$!
	dsn="postgres://matrix:$password@127.0.0.1:$port/postgres?sslmode=verify-full&sslrootcert=$dir/ca.pem"
	tries=0
	until "$pulley" doctor --dsn "$dsn" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || {
			say "the server of version $1 does not answer; see $dir/out/$1.server"
			exit 2
		}
		sleep 0.2
	done
}

stop() {
	[ -z "$server" ] || kill -INT "$server" 2>/dev/null || true
	[ -z "$server" ] || wait "$server" 2>/dev/null || true
	server=
}

failed=0
# part runs a command, and prints how it ended.
part() {
	name=$1
	shift
	log=$dir/out/$version-$(echo "$name" | tr ' :=,' '----').log
	begun=$(date +%s)
	if "$@" >"$log" 2>&1; then
		result=holds
	else
		result="FAILS (see $log)"
		failed=1
	fi
	cases=$(grep -c -- '--- PASS' "$log" || true)
	[ "$cases" != 0 ] && counted="$cases cases" || counted="1 run"
	echo "PostgreSQL $full | $name | $result | $counted | $(($(date +%s) - begun)) s"
}

wants() { case " $parts " in *" $1 "*) return 0 ;; esac && return 1; }

certify
unpack trixie
bouncer=$dir/trixie/usr/sbin/pgbouncer # which keeps track of prepared statements
pulley=$dir/pulley
"${GO:-go}" build -o "$pulley" ./cmd/pulley
server=
trap stop EXIT
trap 'exit 130' INT TERM
[ $# -gt 0 ] || set -- 13 15 17 18
for version in "$@"; do
	release=$(release_of "$version")
	unpack "$release"
	bin=$(echo "$dir/$release"/usr/lib/postgresql/*/bin)
	full=$("$bin/postgres" -V | sed 's/^[^0-9]*\([0-9.]*\).*/\1/')
	start "$version"
	export PULLEY_TEST_SERVER="$dsn"
	# shellcheck disable=SC2015
	wants conformance && part "conformance, TLS and SCRAM" "${GO:-go}" test -count=1 -v -timeout 30m ./engine/backend/postgres/push ./engine/backend/postgres/journal ./engine/backend/postgres/pull ./engine/backend/postgres/eager -run '^TestConformance$' || true
	wants language && part "language, TLS and SCRAM" "${GO:-go}" test -count=1 -v -timeout 30m ./engine/backend/differ || true
	wants pooler && part "through PgBouncer, TLS and SCRAM" env PULLEY_TEST_PGBOUNCER="$bouncer" PULLEY_TEST_DEPTH=night \
		"${GO:-go}" test -count=1 -v -timeout 30m ./internal/pgbouncer -run 'Workflows|Reconnects|Polls|Refusals|Detects' || true
	unset PULLEY_TEST_SERVER
	stop
	if wants chaos; then
		for design in push journal pull:scan=app pull:scan=sql eager; do
			part "chaos $design" env PATH="$bin:$PATH" "$pulley" chaos chain fanout spread --backend "$design" --duration 15s --shrink 0s --out "$dir/out/chaos-$version-$design" --progress none
		done
	fi
done
exit $failed
