#!/usr/bin/env bash
# Gives the module another path, so that `go get` finds it where its repository lives: module.sh PATH [FOLDER].
# It rewrites the go.mod files, the imports and every other place that names a package by its path, and then checks that all
# packages load. It writes nothing where the path is not one that Go accepts.
set -euo pipefail
new=${1-}
cd "${2:-$(dirname "$0")/..}"

# Go asks for a host with a dot in the first element, unless the module is never fetched; and for these characters.
if ! [[ $new =~ ^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(/[A-Za-z0-9_~]([A-Za-z0-9._~-]*[A-Za-z0-9_~-])?)*$ ]]; then
	echo "module.sh: \"$new\" is no module path; say make module MODULE=example.org/team/pulley" >&2
	exit 2
fi
old=$(go list -m)
[ "$old" != "$new" ] || { echo "module.sh: the path is $new already"; exit 0; }

export OLD=$old NEW=$new
# A package's path follows a quote, a blank or an opening bracket; a file's path that ends the same way follows a slash. A line
# that keeps the path by itself says so in a comment.
git ls-files -z -- '*.go' '*.mod' '*.md' '*.sh' '*.yaml' '*.yml' '*Makefile' '*.tmpl' ':!CHANGELOG.md' ':!scripts/module.sh' |
	xargs -0 perl -pi -e '
		next if m{^//go:embed}; # folders
		s{(?<=["`\s=,(\[])\Q$ENV{OLD}\E(?=/[a-z]|\.\()}{$ENV{NEW}}g;
		s{^\Q$ENV{OLD}\E(?=/([a-z]+)/)}{-d $1 ? $ENV{NEW} : $ENV{OLD}}e; # a profile in a text
		s{"\Q$ENV{OLD}\E(?=/?")}{"$ENV{NEW}} if m{// the module.s path};
		s{^module \Q$ENV{OLD}\E(?=\s|/|$)}{module $ENV{NEW}} if $ARGV =~ /go\.mod$/;
		s{^((?:require|replace)\s+|\s+)\Q$ENV{OLD}\E(?=\s)}{$1$ENV{NEW}} if $ARGV =~ /go\.mod$/;
	'
git ls-files -z -- '*.go' | xargs -0 gofmt -w # imports are sorted by their paths
go list -deps ./... >/dev/null
echo "module.sh: the module is $new (it was $old)"
