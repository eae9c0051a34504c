package cases

import (
	"strings"
	"testing"
)

// TestRefusedCases checks that the mistake in an invalid case is named.
func TestRefusedCases(t *testing.T) {
	var d Programs
	load, err := d.Of(0, "push")
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Case){
		"engines is 0": func(c *Case) { c.Engines = 0 },
		"lease_us is":  func(c *Case) { c.LeaseUS = 1 },
		"arrival 0":    func(c *Case) { c.Arrivals = []Arrival{{Engine: 9}} },
		"fault 0":      func(c *Case) { c.Faults = []Fault{{Kind: ""}} },
	} {
		c := Draw(0, "push", load)
		if change(&c); c.Validate() == nil || !strings.Contains(c.Validate().Error(), want) {
			t.Errorf("the error is %v; want %q", c.Validate(), want)
		}
	}
}
