package fingerprint

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "take the statements as they are to be what the simulated ones were written for")

// Unchanged checks that a design's real statements still have the texts that were simulated. When one changes, its simulation
// must be reviewed.
func Unchanged(t *testing.T, file string, sql func(string) (string, error), names []string) {
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
			t.Errorf("%s.sql has changed: check that the simulated statement still does the same, and run this test with -update", name)
		}
	}
}
