package explore

import (
	"maps"
	"slices"
	"testing"

	"pulley/engine/backend/postgres"
)

func TestStatementsShared(t *testing.T) {
	unchanged(t, "testdata/shared_statements.txt", postgres.SQL, slices.Sorted(maps.Keys(sharedSQL)))
}
