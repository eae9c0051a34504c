package fingerprint_test

import (
	"os"
	"testing"

	"pulley/sim/internal/fingerprint"
)

// The test of a simulated design fails when a statement changes that it was written for.
func ExampleUnchanged() {
	test := func(t *testing.T) { // TestStatements, of one's own
		sql := func(name string) (string, error) {
			text, err := os.ReadFile("sql/" + name + ".sql")
			return string(text), err
		}
		fingerprint.Unchanged(t, "testdata/statements.txt", sql, []string{"claim", "complete", "renew"})
	}
	testing.Main(nil, []testing.InternalTest{{Name: "TestStatements", F: test}}, nil, nil)
}
