package bench_test

import (
	"strings"
	"testing"
	"time"

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
	now := time.Unix(0, 0)
	var lines strings.Builder
	print := bench.ProgressPrinter(&lines, false, func() time.Time { return now })
	for i := range 4 {
		print(bench.Progress{Done: i, Total: 4, Case: "chain 10", Backend: "push", Mode: record.ModeAlone, Run: 1})
		now = now.Add(2 * time.Second)
		print(bench.Progress{Done: i + 1, Total: 4, Case: "chain 10", Backend: "push", Mode: record.ModeAlone, Run: 1, Sample: &record.Sample{Valid: i != 1, NodesPerS: 1234, Warnings: []string{"it rained"}}})
	}
	want := `[1/4] chain 10 on push, alone, run 1: 1234 nodes/s
[2/4] chain 10 on push, alone, run 1: INVALID: it rained
[3/4] chain 10 on push, alone, run 1: 1234 nodes/s, about 2s left
[4/4] chain 10 on push, alone, run 1: 1234 nodes/s
`
	if lines.String() != want {
		t.Errorf("got\n%swant\n%s", lines.String(), want)
	}
	var terminal strings.Builder
	print = bench.ProgressPrinter(&terminal, true, func() time.Time { return now })
	print(bench.Progress{Total: 1, Case: "chain 10", Backend: "push", Mode: record.ModeAlone})
	print(bench.Progress{Total: 1, Case: "chain 10", Backend: "push", Mode: record.ModeAlone, Run: 1})
	print(bench.Progress{Done: 1, Total: 1, Case: "chain 10", Backend: "push", Mode: record.ModeAlone, Run: 1, Sample: &record.Sample{Valid: true}})
	if got := terminal.String(); strings.Contains(got, "\n") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("the line on a terminal is not kept to one, or not cleared: %q", got)
	}
}
