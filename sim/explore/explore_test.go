package explore

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusedCases wants a case that makes no sense to be named.
func TestRefusedCases(t *testing.T) {
	var d drawn
	load, err := d.workload(0, "push")
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Case){
		"engines is 0": func(c *Case) { c.Engines = 0 },
		"lease_us is":  func(c *Case) { c.LeaseUS = 1 },
		"arrival 0":    func(c *Case) { c.Arrivals = []Arrival{{Engine: 9}} },
		"fault 0":      func(c *Case) { c.Faults = []Fault{{Kind: ""}} },
	} {
		c := draw(0, "push", load)
		if change(&c); c.Validate() == nil || !strings.Contains(c.Validate().Error(), want) {
			t.Errorf("the error is %v; want %q", c.Validate(), want)
		}
	}
}

// TestPastBugs plays the cases of bugs that were found, each named after what it showed. Where a case says which bug that was,
// it shows it again with that planted.
func TestPastBugs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no cases: %v", err)
	}
	for _, file := range files {
		c, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		for planted := c.Bug != ""; ; planted, c.Bug = false, "" {
			r, _, err := Replay(c)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case planted && (len(r.Violations) == 0 || InvariantOf(r.Violations[0]) != InvariantOf(c.Why)):
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
