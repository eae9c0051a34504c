#!/bin/sh
# Makes the root of an image of Postgres from Debian's packages, where no registry of images can be
# reached:
#
#	build.sh DIRECTORY
#
# makes DIRECTORY/root and prints the major version of its Postgres. It needs root and debootstrap,
# and takes about a minute.
set -eu

work=${1:?usage: build.sh DIRECTORY}
here=$(cd "$(dirname "$0")" && pwd)

# shellcheck source=/dev/null
. /etc/os-release
mirror=$(sed -n -e 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)

debootstrap --variant=minbase --include=postgresql "$VERSION_CODENAME" "$work/root" ${mirror:+"$mirror"} >"$work/log" 2>&1 || {
	tail -n 20 "$work/log" >&2
	exit 1
}
bin=$(cd "$work/root" && echo usr/lib/postgresql/*/bin)
major=${bin#usr/lib/postgresql/}
major=${major%/bin}

install -m 0755 "$here/docker-entrypoint.sh" "$work/root/usr/local/bin/docker-entrypoint.sh"

# The cluster that the package made, and what the server does without: manuals, the compiler of JIT.
rm -rf "$work/root/var/lib/postgresql/$major" "$work"/root/var/cache/apt/* "$work"/root/var/lib/apt/lists/* \
	"$work"/root/usr/share/doc/* "$work"/root/usr/share/man/* "$work"/root/usr/lib/*/libLLVM* \
	"$work/root/usr/lib/postgresql/$major/lib/bitcode" "$work/root/usr/lib/postgresql/$major/lib/llvmjit.so"

echo "$major"
