package explore

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/eager"
	"pulley/engine/backend/postgres/journal"
	"pulley/engine/backend/postgres/pull"
	"pulley/engine/backend/postgres/push"
)

var update = flag.Bool("update", false, "take the statements as they are to be what the simulated ones were written for")

// TestStatements wants the simulated statements of designs to have been written for the text that the real ones have: who
// changes one has to look at the other.
func TestStatements(t *testing.T) {
	for _, c := range []struct {
		file  string
		sql   func(string) (string, error)
		names []string
	}{
		{"journal", journal.SQL, append(slices.Sorted(maps.Keys(journalSQL)), "append", "mark", "submit_pending")},
		{"push", push.SQL, append(slices.Sorted(maps.Keys(pushSQL)), "apply")},
		{"eager", eager.SQL, append(slices.Sorted(maps.Keys(eagerSQL)), "apply")},
		{"pull", pull.SQL, slices.Sorted(maps.Keys(pullSQL))},
		{"shared", postgres.SQL, slices.Sorted(maps.Keys(sharedSQL))},
	} {
		unchanged(t, "testdata/"+c.file+"_statements.txt", c.sql, c.names)
	}
}

func unchanged(t *testing.T, file string, sql func(string) (string, error), names []string) {
	t.Helper()
	var now strings.Builder
	for _, name := range names {
		text, err := sql(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&now, "%s %x\n", name, sha256.Sum256([]byte(text)))
	}
	if *update {
		if err := os.WriteFile(file, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	then, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Split(string(then), "\n")
	for line := range strings.Lines(now.String()) {
		if !slices.Contains(old, strings.TrimSuffix(line, "\n")) {
			name, _, _ := strings.Cut(line, " ")
			t.Errorf("%s.sql has changed: look whether the simulated statement still does the same, and run this test with -update", name)
		}
	}
}
