package pgsim

import (
	"maps"
	"slices"
	"testing"

	"pulley/internal/pgstore"
	"pulley/sim/internal/fingerprint"
)

func TestStatements(t *testing.T) {
	fingerprint.Unchanged(t, "testdata/statements.txt", pgstore.SQL, slices.Sorted(maps.Keys(sharedSQL)))
}
