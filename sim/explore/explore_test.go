package explore

import (
	"path/filepath"
	"testing"

	"pulley/sim/cases"
)

// TestPastBugs plays the cases of bugs that were found, each named after what it showed. Where a case says which bug that was,
// it shows it again with that planted.
func TestPastBugs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no cases: %v", err)
	}
	for _, file := range files {
		c, err := cases.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		for planted := c.Bug != ""; ; planted, c.Bug = false, "" {
			r, _, err := Replay(c)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case planted && (len(r.Violations) == 0 || cases.InvariantOf(r.Violations[0]) != cases.InvariantOf(c.Why)):
				t.Errorf("%s shows %q with %s; want %q", file, r.Violations, c.Bug, c.Why)
			case !planted && len(r.Violations) > 0:
				t.Errorf("%s, which showed %q: %s", file, c.Why, r.Violations[0])
			}
			if !planted {
				break
			}
		}
	}
}
