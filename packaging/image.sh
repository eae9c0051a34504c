#!/bin/sh
# Makes a container image of pulley on Debian, without a registry of images:
#
#	packaging/image.sh [NAME]   pulley unless another name is given
#
# It needs Go, a Docker engine (docker), and, as root, debootstrap, and takes two minutes. PULLEY_IMAGE_RELEASE names a release of
# Debian (default: trixie), PULLEY_IMAGE_PACKAGES more packages that the image gets, with commas, such as what actions run
# (python3,curl). The image runs pulley under tini, which ends what actions leave behind, as a user without rights.
set -eu
cd "$(dirname "$0")/.."

name=${1:-pulley}
release=${PULLEY_IMAGE_RELEASE:-trixie}
packages=ca-certificates,tini${PULLEY_IMAGE_PACKAGES:+,$PULLEY_IMAGE_PACKAGES}
account=65532

say() { echo "image: $*" >&2; }

for program in "${GO:-go}" docker debootstrap tar; do
	command -v "$program" >/dev/null 2>&1 || {
		say "$program is missing; apt-get install golang docker.io debootstrap tar"
		exit 2
	}
done
[ "$(id -u)" = 0 ] || {
	say "run it as root, which debootstrap needs"
	exit 2
}
docker version >/dev/null 2>&1 || {
	say "the Docker engine does not answer; start it, or set DOCKER_HOST"
	exit 2
}

work=$(mktemp -d "${TMPDIR:-/tmp}/pulley-image.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say "compiling"
CGO_ENABLED=0 "${GO:-go}" build -trimpath -o "$work/pulley" ./cmd/pulley

say "unpacking Debian $release with $packages"
mirror=$(sed -n -e 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
debootstrap --variant=minbase --include="$packages" "$release" "$work/root" ${mirror:+"$mirror"} >"$work/log" 2>&1 || {
	say "debootstrap failed:"
	tail -n 20 "$work/log" >&2
	exit 1
}
rm -rf "$work/root/var/cache/apt" "$work/root/var/lib/apt/lists" "$work/root/var/log" "$work/root/usr/share/doc" "$work/root/usr/share/man" "$work/root/usr/share/locale"
: >"$work/root/etc/apt/sources.list" # of this machine
install -m 755 "$work/pulley" "$work/root/usr/local/bin/pulley"
echo "pulley:x:$account:$account::/nonexistent:/usr/sbin/nologin" >>"$work/root/etc/passwd"
echo "pulley:x:$account:" >>"$work/root/etc/group"
install -d -m 755 "$work/root/etc/pulley"

say "importing $name"
tar --create --one-file-system --directory="$work/root" --numeric-owner --file="$work/image.tar" . # not into a pipe, which hides a failure
docker import --change 'ENTRYPOINT ["tini", "--", "pulley"]' --change 'CMD ["help"]' --change "USER $account:$account" \
	--change 'WORKDIR /etc/pulley' --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
	"$work/image.tar" "$name" >/dev/null
docker image inspect --format "image: $name has {{.Size}} bytes" "$name" >&2
