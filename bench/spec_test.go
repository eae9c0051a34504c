package bench_test

import (
	"strings"
	"testing"
	"time"

	"pulley/bench"
	"pulley/reports/record"
)

func TestParseBackend(t *testing.T) {
	for text, want := range map[string]string{
		"push":                       "push",
		" push ":                     "push",
		"push:batch=1":               "push:batch=1",
		"push:shards=2:batch=1":      "push:batch=1:shards=2",
		"journal:shards=2:batch=1":   "journal:batch=1:shards=2",
		"pull:scan=sql":              "pull:scan=sql",
		"pull:connections=4":         "pull:connections=4",
		"eager:shards=2:batch=1":     "eager:batch=1:shards=2",
		"memory:shards=3":            "memory:shards=3",
		"pull:batch=7:scan=app":      "pull:scan=app:batch=7",
		"push:connections=2:batch=5": "push:batch=5:connections=2",
	} {
		got, err := bench.ParseBackend(text)
		if err != nil || got.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
			continue
		}
		again, err := bench.ParseBackend(got.String())
		if err != nil || again.String() != got.String() {
			t.Errorf("%q is not read back: %v", got, err)
		}
	}
}

func TestParseBackendRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                     `no backend ""; there are push, journal, pull, eager, memory`,
		"river":                `no backend "river"; there are push, journal, pull, eager, memory`,
		"push:scan=sql":        `backend "push:scan=sql": no option "scan=sql"; it takes push:batch=1…10000, push:shards=1…1024, push:connections=2…1000`,
		"push:batch":           `backend "push:batch": no option "batch"; it takes push:batch=1…10000, push:shards=1…1024, push:connections=2…1000`,
		"pull:scan=regex":      `backend "pull:scan=regex": scan is "regex"; choose app or sql`,
		"push:batch=0":         `backend "push:batch=0": batch is "0"; choose a number from 1 to 10000`,
		"push:batch=many":      `backend "push:batch=many": batch is "many"; choose a number from 1 to 10000`,
		"push:batch=1:":        `backend "push:batch=1:": no option ""; it takes push:batch=1…10000, push:shards=1…1024, push:connections=2…1000`,
		"push:batch=1:batch=2": `backend "push:batch=1:batch=2": the option batch is there twice`,
	} {
		if _, err := bench.ParseBackend(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
	if _, err := bench.ParseBackends([]string{"push", "push"}); err == nil {
		t.Error("a backend that is named twice is taken")
	}
}

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
