#!/bin/sh
# Makes an image of Postgres from Debian's packages, where no registry of images can be reached:
#
#	build.sh TAG
#
# It needs root, debootstrap and Docker, and takes about a minute. It does nothing if the image is
# already there.
set -eu

tag=${1:?usage: build.sh TAG}
here=$(cd "$(dirname "$0")" && pwd)

docker image inspect "$tag" >/dev/null 2>&1 && exit 0

# shellcheck source=/dev/null
. /etc/os-release
mirror=$(sed -n -e 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
# mktemp closes the directory to others; it becomes the root of the image, which postgres must enter.
chmod 0755 "$work"

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

tar -C "$work/root" --exclude=./proc/* --exclude=./sys/* -c . | docker import \
	--change "ENV PATH=/$bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
	--change "ENV PG_MAJOR=$major" \
	--change 'ENV PGDATA=/var/lib/postgresql/data' \
	--change 'ENV LANG=C.UTF-8' \
	--change 'VOLUME /var/lib/postgresql/data' \
	--change 'ENTRYPOINT ["docker-entrypoint.sh"]' \
	--change 'CMD ["postgres"]' \
	--change 'EXPOSE 5432' \
	- "$tag" >/dev/null
