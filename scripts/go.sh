#!/bin/sh
# Runs go with its arguments, and removes go's temporary files whatever ends it. By itself, go leaves them behind
# where it is interrupted while it builds. GO names another go than the first in PATH.
set -eu
dir=$(mktemp -d "${GOTMPDIR:-${TMPDIR:-/tmp}}/pulley-build-XXXXXX")
# A compiler that has the signal, too, may still write into the directory.
trap 'rm -rf "$dir" || { sleep 1; rm -rf "$dir"; }' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
GOTMPDIR=$dir "${GO:-go}" "$@"
