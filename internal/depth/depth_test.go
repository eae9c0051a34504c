package depth

import (
	"flag"
	"testing"
	"time"
)

var checks = flag.Int("rapid.checks", 100, "what stands for package rapid's")

func TestVariableChoosesTheSize(t *testing.T) {
	t.Setenv(Variable, "")
	if Night() || Of(3, 300) != 3 {
		t.Error("without the variable, tests go deep")
	}
	t.Setenv(Variable, "night")
	if !Night() || Of(3, 300) != 300 {
		t.Errorf("with %s=night, tests do not go deep", Variable)
	}
}

func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		value string
		goes  bool
	}{{"", true}, {"1", false}} {
		on := false
		t.Run("alone="+c.value, func(t *testing.T) {
			t.Setenv(AloneVariable, c.value)
			t.Cleanup(func() {
				if on != c.goes || t.Skipped() == c.goes {
					t.Errorf("the test continued: %t, and was skipped: %t", on, t.Skipped())
				}
			})
			Needs(t, "a server")
			on = true
		})
	}
}

func TestChecks(t *testing.T) {
	t.Run("for a test", func(t *testing.T) {
		t.Setenv(Variable, "")
		if Checks(t, 7, 700); *checks != 7 {
			t.Errorf("there are %d cases; want 7", *checks)
		}
		if Checks(t, 9, 900); *checks != 7 {
			t.Errorf("what was asked for became %d", *checks)
		}
	})
	if *checks != 100 {
		t.Errorf("after the test there are %d cases; want 100", *checks)
	}
}

func TestSeed(t *testing.T) {
	t.Setenv(SeedVariable, "17")
	if got := Seed(t); got != 17 {
		t.Errorf("the seed is %d; want that of the variable", got)
	}
	t.Setenv(SeedVariable, "")
	if a, b := Seed(t), Seed(t); a == 0 || b == 0 {
		t.Error("without the variable, there is none")
	}
}

func TestWithin(t *testing.T) {
	ctx, cancel := Within(t.Context(), t, time.Second)
	defer cancel()
	if ends, ok := ctx.Deadline(); !ok || time.Until(ends) > time.Second {
		t.Errorf("a second ends at %v", ends)
	}
	all, ok := t.Deadline()
	if !ok {
		return // -timeout=0
	}
	late, cancel := Within(t.Context(), t, 1000*time.Hour)
	defer cancel()
	if ends, ok := late.Deadline(); !ok || !ends.Before(all) {
		t.Errorf("it ends at %v, and all tests at %v", ends, all)
	}
}
