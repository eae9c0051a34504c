#!/bin/sh
# Makes sure that what the make targets need is here, and installs it if it may:
#
#	setup.sh postgres   some way to a Postgres: a DSN, binaries, Docker, or a download
#	setup.sh binaries   the binaries of a Postgres, whatever other ways there are
#	setup.sh compiler   a C compiler, which the race detector needs
#	setup.sh scripts    with CI=true, shellcheck, which reads the scripts; otherwise nothing
#	setup.sh ci         with CI=true, what a test would fail without: a Postgres' binaries, debootstrap, which makes
#	                    the image of the tests that use Docker, python3 and perl, which run actions and read metrics, chromium, which
#	                    opens reports, and pgbouncer, which engines connect through; otherwise nothing
#
# It is quick where nothing is missing, and may be run again at any time. It installs the system's own
# packages, as root or through sudo where that asks for no password; PULLEY_NO_INSTALL=1 forbids it.
# A server that comes with a package is neither started nor given a cluster.
set -eu
cd "$(dirname "$0")/.."

say() { echo "setup: $*" >&2; }

have() { command -v "$1" >/dev/null 2>&1; }

# as_root runs a command as root. It fails where that would need a password.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif have sudo; then
		sudo -n -- "$@"
	else
		return 1
	fi
}

may_install() {
	[ "${PULLEY_NO_INSTALL:-}" != 1 ] || return 1
	[ "$(id -u)" = 0 ] || { have sudo && sudo -n true 2>/dev/null; }
}

updated=

# apt_update reads the lists of packages once.
apt_update() {
	[ -z "$updated" ] || return 0
	apt_get update && updated=1
}

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >/dev/null; }

# Debian's package would make a cluster and start it. A file keeps it from that; its earlier text is
# put back afterwards.
apt_postgres() {
	apt_update || return 1
	apt_get install -y --no-install-recommends postgresql-common || return 1
	conf=/etc/postgresql-common/createcluster.conf
	if [ -e "$conf" ]; then
		as_root cp -p "$conf" "$conf.pulley"
		# shellcheck disable=SC2016 # $ is the last line
		as_root sed -i -e '/^[# ]*create_main_cluster/d' -e '$a create_main_cluster = false' "$conf"
	fi
	status=0
	apt_get install -y --no-install-recommends postgresql || status=1
	if [ -e "$conf.pulley" ]; then
		as_root mv -f "$conf.pulley" "$conf"
	fi
	return $status
}

install_postgres() {
	if have brew; then # as the user that owns it, never as root
		[ "${PULLEY_NO_INSTALL:-}" != 1 ] && [ "$(id -u)" != 0 ] || return 1
		say "no Postgres is at hand: installing postgresql@17 with brew"
		brew install postgresql@17 >&2
		return
	fi
	may_install || return 1
	if have apt-get; then
		say "no Postgres is at hand: installing the package postgresql with apt-get"
		apt_postgres
	elif have dnf; then
		say "no Postgres is at hand: installing the package postgresql-server with dnf"
		as_root dnf -q -y install postgresql-server postgresql-contrib >&2
	elif have apk; then
		say "no Postgres is at hand: installing the package postgresql with apk"
		as_root apk add -q postgresql postgresql-contrib >&2
	else
		return 1
	fi
}

install_compiler() {
	may_install || return 1
	if have apt-get; then
		say "no C compiler is at hand: installing the package gcc with apt-get"
		apt_update && apt_get install -y --no-install-recommends gcc libc6-dev
	elif have dnf; then
		say "no C compiler is at hand: installing the package gcc with dnf"
		as_root dnf -q -y install gcc glibc-devel >&2
	elif have apk; then
		say "no C compiler is at hand: installing the package gcc with apk"
		as_root apk add -q gcc musl-dev >&2
	else
		return 1
	fi
}

# local_binaries looks for a server where pulley does, without starting anything.
local_binaries() {
	have postgres && have initdb && return 0
	for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* /usr/lib/postgresql*/bin \
		/opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin /home/linuxbrew/.linuxbrew/opt/postgresql*/bin \
		/Applications/Postgres.app/Contents/Versions/*/bin /Library/PostgreSQL/*/bin /usr/local/pgsql/bin; do
		[ -x "$dir/postgres" ] && [ -x "$dir/initdb" ] && return 0
	done
	return 1
}

# The program itself knows best, but it has to be compiled, and looks at Docker and the network.
any_way() { scripts/go.sh run ./cmd/pulley doctor --quiet >/dev/null 2>&1; }

setup_postgres() {
	if [ -n "${PULLEY_DSN:-}" ] || local_binaries || any_way; then
		return 0
	fi
	setup_binaries
}

setup_binaries() {
	if local_binaries || { install_postgres && local_binaries; }; then
		return 0
	fi
	say "no Postgres is at hand and none could be installed. Do one of these and try again:"
	case $(uname -s) in
	Darwin) say "  brew install postgresql@17" ;;
	*) say "  apt-get install postgresql, dnf install postgresql-server, or apk add postgresql" ;;
	esac
	say "  start Docker"
	say "  export PULLEY_DSN=postgres://user:password@host:5432/database"
	return 1
}

# compiles reports whether the C compiler works, its headers included, which a package may lack.
compiles() {
	cc=$(go env CC 2>/dev/null) || cc=cc
	# shellcheck disable=SC2086 # it may hold flags
	have "${cc%% *}" && echo '#include <stdlib.h>' | $cc -E -x c - >/dev/null 2>&1
}

setup_compiler() {
	if compiles || { install_compiler && compiles; }; then
		return 0
	fi
	say "the race detector needs a C compiler and none could be installed. Do this and try again:"
	case $(uname -s) in
	Darwin) say "  xcode-select --install" ;;
	*) say "  apt-get install gcc libc6-dev, dnf install gcc, or apk add gcc musl-dev" ;;
	esac
	return 1
}

# has_prometheus looks where tests do: Debian's package is for Debian's Python, which may not come first.
has_prometheus() { python3 -c 'import prometheus_client' 2>/dev/null || /usr/bin/python3 -c 'import prometheus_client' 2>/dev/null; }

# has_tools reports whether programs that tests run are here.
has_tools() { have debootstrap && have python3 && has_prometheus && have perl && perl -MJSON::PP -e 1 2>/dev/null; }

# has_browser reports whether a browser of the tests is here. Its fonts come with it, since a browser may be there without any.
has_browser() { have chromium || have chromium-browser || have google-chrome || have google-chrome-stable || have chrome; }

# has_pooler looks where tests do: the program is in a directory that PATH often lacks.
has_pooler() { have pgbouncer || [ -x /usr/sbin/pgbouncer ]; }

# setup_pooler installs PgBouncer. Its package would start it; a masked unit is not started.
setup_pooler() {
	has_pooler && return 0
	may_install && have apt-get && apt_update || return 1
	unit=/etc/systemd/system/pgbouncer.service
	masked=
	if [ -d /etc/systemd/system ] && [ ! -e "$unit" ] && [ ! -L "$unit" ]; then
		as_root ln -s /dev/null "$unit"
		masked=1
	fi
	status=0
	apt_get install -y --no-install-recommends pgbouncer || status=1
	[ -z "$masked" ] || as_root rm -f "$unit"
	return $status
}

setup_ci() {
	[ "${CI:-}" = true ] || return 0
	setup_binaries || return 1
	setup_pooler && has_pooler || {
		say "pgbouncer is missing, which engines connect through in tests, and could not be installed"
		return 1
	}
	lacks=
	has_tools || lacks="debootstrap ca-certificates python3 python3-prometheus-client perl"
	has_browser || lacks="$lacks chromium fonts-liberation"
	[ -n "$lacks" ] || return 0
	# shellcheck disable=SC2086 # they are several packages
	may_install && have apt-get && apt_update && apt_get install -y --no-install-recommends $lacks && has_tools && has_browser && return 0
	say "debootstrap, python3 with prometheus_client, perl with JSON::PP or chromium is missing, and could not be installed: tests make an image for Docker, run actions, read metrics, and open reports"
	return 1
}

setup_scripts() {
	[ "${CI:-}" = true ] || return 0
	have shellcheck && return 0
	may_install && have apt-get && apt_update && apt_get install -y --no-install-recommends shellcheck && return 0
	say "shellcheck is missing, which reads the scripts, and could not be installed"
	return 1
}

have go || {
	say "Go is missing: install it from https://go.dev/dl/"
	exit 1
}
[ $# -gt 0 ] || set -- postgres compiler
for what in "$@"; do
	case $what in
	postgres) setup_postgres ;;
	binaries) setup_binaries ;;
	compiler) setup_compiler ;;
	scripts) setup_scripts ;;
	ci) setup_ci ;;
	*)
		say "usage: setup.sh [postgres] [binaries] [compiler] [scripts] [ci]"
		exit 2
		;;
	esac
done
