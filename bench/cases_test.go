package bench_test

import (
	"strings"
	"testing"

	"pulley/bench"
	"pulley/reports/record"
)

func TestCasesRefuses(t *testing.T) {
	for want, o := range map[string]bench.CaseOptions{
		`there is no scenario "fanuot"`:                         {Scenarios: []string{"fanuot"}},
		`sizes "10,x": "x" is not a size`:                       {Sizes: []string{"10,x"}},
		`sizes "10,10": 10 is there twice`:                      {Sizes: []string{"10,10"}},
		`sizes "-1": "-1" is not a size`:                        {Sizes: []string{"-1"}},
		`sizes for loop: the scenario is not among those`:       {Scenarios: []string{"chain"}, Sizes: []string{"loop=3"}},
		`a trace is given, but the scenario trace is not among`: {Scenarios: []string{"chain"}, Traces: []string{"x.json"}},
		`sizes for chain are there twice`:                       {Scenarios: []string{"chain"}, Sizes: []string{"chain=1", "chain=2"}},
		`sizes for all scenarios are there twice`:               {Scenarios: []string{"chain"}, Sizes: []string{"1", "2"}},
		"no such file": {Scenarios: []string{"trace"}, Traces: []string{"testdata/none.json"}},
	} {
		_, err := bench.Cases(o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v\nwant one line with %q", err, want)
		}
	}
}

func TestProgressLines(t *testing.T) {
	p := bench.Progress{Done: 2, Total: 4, Case: "chain 10", Backend: "push", Mode: record.ModeAlone, Run: 1}
	if got := p.Outcome(); got != "" {
		t.Errorf("before a run has ended, there is %q", got)
	}
	for want, s := range map[string]record.Sample{
		"[2/4] chain 10 on push, alone, run 1: 1234 nodes/s":       {Valid: true, NodesPerS: 1234},
		"[2/4] chain 10 on push, alone, run 1: INVALID: it rained": {Warnings: []string{"it rained"}},
	} {
		p.Sample = &s
		if got := p.Outcome(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for want, p := range map[string]bench.Progress{
		"chain 10 on push, alone, how long a run is": {Case: "chain 10", Backend: "push", Mode: record.ModeAlone},
		"raw SQL: append": {Ceiling: "append"},
	} {
		if got := p.What(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
