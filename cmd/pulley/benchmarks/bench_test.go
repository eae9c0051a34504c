package benchmarks

import (
	"errors"
	"testing"

	"pulley/bench/load"
	"pulley/cmd/pulley/console"
	"pulley/reports/record"
)

// TestBenchEnds wants the exit status that each verdict has.
func TestBenchEnds(t *testing.T) {
	finding := func(kind string) []record.LoadFinding { return []record.LoadFinding{{Kind: kind, Text: kind}} }
	held, missed := []record.LoadObjective{{Held: true}}, []record.LoadObjective{{Held: true}, {}}
	for name, c := range map[string]struct {
		run  record.Load
		want int
	}{
		"valid":                  {record.Load{Valid: true}, 0},
		"objectives hold":        {record.Load{Valid: true, Objectives: held}, 0},
		"one does not":           {record.Load{Valid: true, Objectives: missed}, console.ExitFailed},
		"invalid":                {record.Load{Findings: finding(load.KindLag)}, console.ExitInconclusive},
		"invalid, one does not":  {record.Load{Findings: finding(load.KindLag), Objectives: missed}, console.ExitInconclusive},
		"overload":               {record.Load{Findings: finding(load.KindOverload), Overloaded: true}, console.ExitInconclusive},
		"overload, one does not": {record.Load{Findings: finding(load.KindOverload), Overloaded: true, Objectives: missed}, console.ExitFailed},
		"wrong":                  {record.Load{Findings: append(finding(load.KindLag), finding(load.KindWrong)...)}, console.ExitFailed},
	} {
		code := 0
		if err := verdictOf(&c.run); err != nil {
			var s *console.Status
			if !errors.As(err, &s) {
				t.Fatalf("%s: %v", name, err)
			}
			code = s.Code
		}
		if code != c.want {
			t.Errorf("%s: exit status %d, want %d", name, code, c.want)
		}
	}
}
