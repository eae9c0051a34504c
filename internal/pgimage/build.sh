#!/bin/sh
# Makes the root of an image of Postgres, where no registry of images can be reached:
#
#	build.sh DIRECTORY
#
# makes DIRECTORY/root and prints the major version of its Postgres. With Debian's postgresql installed
# it copies that and what it needs from this machine, in seconds. Otherwise, and with
# PULLEY_IMAGE_FROM=debootstrap, it installs Debian's packages with debootstrap, as root, in a minute.
set -eu

work=${1:?usage: build.sh DIRECTORY}
here=$(cd "$(dirname "$0")" && pwd)
root=$work/root

# installed prints the major version of a Postgres that Debian's package installed here; nothing without one.
installed() {
	[ "${PULLEY_IMAGE_FROM:-}" != debootstrap ] && command -v dpkg >/dev/null || return 0
	for bin in /usr/lib/postgresql/*/bin/initdb; do
		found=${bin#/usr/lib/postgresql/}
		found=${found%/bin/initdb}
		if dpkg -s "postgresql-$found" "postgresql-client-$found" >/dev/null 2>&1; then
			echo "$found"
			return 0
		fi
	done
}

# files prints what the packages consist of, without what a server does without: manuals, the compiler of JIT.
files() {
	for package in "postgresql-$1" "postgresql-client-$1" dash coreutils util-linux libc-bin tzdata; do
		dpkg -L "$package"
	done | grep -Ev '^/etc/|^/usr/share/(doc|man|locale|lintian|bash-completion|zoneinfo/right)/|/bitcode/|/llvmjit' | sort -u | while read -r file; do
		if [ -h "$file" ] || [ -f "$file" ]; then
			echo "$file"
		fi
	done
}

# libraries prints the shared libraries that the files load, as they are named and as they are stored.
libraries() {
	grep -E '/s?bin/|\.so$' | xargs ldd 2>/dev/null | sed -n -e 's/.* => \(\/[^ ]*\) .*/\1/p' -e 's/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' |
		sort -u | while read -r library; do
		echo "$library"
		readlink -f "$library"
	done | sort -u
}

copy_installed() {
	mkdir -p "$root/usr" "$root/etc" "$root/tmp" "$root/run" "$root/proc" "$root/sys" "$root/dev" "$root/var/lib/postgresql"
	for name in bin sbin lib lib32 lib64; do
		if [ -h "/$name" ]; then
			mkdir -p "$root/usr/$name"
			ln -s "usr/$name" "$root/$name"
		fi
	done
	files "$1" >"$work/files"
	libraries <"$work/files" >"$work/libraries"
	sort -u "$work/files" "$work/libraries" | sed 's|^/||' >"$work/copied"
	tar --create --file="$work/copied.tar" --directory=/ --no-recursion --files-from="$work/copied" # not into a pipe, which hides a failure
	tar --extract --file="$work/copied.tar" --directory="$root" --keep-directory-symlink
	rm "$work/copied.tar"
	cp /etc/ld.so.cache /etc/nsswitch.conf "$root/etc/"
	printf 'root:x:0:0:root:/root:/bin/sh\npostgres:x:999:999::/var/lib/postgresql:/bin/sh\n' >"$root/etc/passwd"
	printf 'root:x:0:\npostgres:x:999:\n' >"$root/etc/group"
	chmod 1777 "$root/tmp"
	mkdir -p "$root/usr/local/bin"
}

debootstrap_root() {
	# shellcheck source=/dev/null
	. /etc/os-release
	mirror=$(sed -n -e 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)

	debootstrap --variant=minbase --include=postgresql "$VERSION_CODENAME" "$root" ${mirror:+"$mirror"} >"$work/log" 2>&1 || {
		tail -n 20 "$work/log" >&2
		exit 1
	}
	bin=$(cd "$root" && echo usr/lib/postgresql/*/bin)
	major=${bin#usr/lib/postgresql/}
	major=${major%/bin}

	# The cluster that the package made, and what the server does without: manuals, the compiler of JIT.
	rm -rf "$root/var/lib/postgresql/$major" "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* \
		"$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/usr/lib/*/libLLVM* \
		"$root/usr/lib/postgresql/$major/lib/bitcode" "$root/usr/lib/postgresql/$major/lib/llvmjit.so"
}

major=$(installed)
if [ -n "$major" ]; then
	copy_installed "$major"
else
	debootstrap_root
fi
install -m 0755 "$here/docker-entrypoint.sh" "$root/usr/local/bin/docker-entrypoint.sh"

echo "$major"
