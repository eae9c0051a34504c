#!/bin/sh
# Builds pulley and the adapter of each system in adapters/, which are modules of their own, into a folder.
# Says how long each took. One that does not build does not stop the others.
set -u
cd "$(dirname "$0")/.." || exit 1
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 1

# build FOLDER PROGRAM PACKAGE
build() {
	begun=$(date +%s)
	if (cd "$1" && "$root/scripts/go.sh" build -o "$out/$2" "$3"); then
		echo "$2: built in $(($(date +%s) - begun)) s"
	else
		echo "$2: not built" >&2
		status=1
	fi
}

root=$PWD
status=0
build . pulley ./cmd/pulley
for module in adapters/*/go.mod; do
	folder=$(dirname "$module")
	build "$folder" "pulley-adapter-$(basename "$folder")" .
done
exit $status
