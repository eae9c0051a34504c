package pgsim

import (
	"maps"
	"slices"
	"testing"

	"pulley/engine/backend/postgres"
	"pulley/sim/internal/fingerprint"
)

func TestStatements(t *testing.T) {
	fingerprint.Unchanged(t, "testdata/statements.txt", postgres.SQL, slices.Sorted(maps.Keys(sharedSQL)))
}
