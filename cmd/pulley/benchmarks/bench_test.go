package benchmarks

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulley/bench"
	"pulley/bench/load"
	"pulley/cmd/pulley/console"
	"pulley/reports/record"
)

func TestBenchKeepsWhatItHas(t *testing.T) {
	interrupted := &console.Status{Code: 130}
	var printed strings.Builder
	c := &console.Console{Out: &printed, Err: io.Discard}
	var cmd BenchCmd
	cmd.Out, cmd.Format = t.TempDir(), "text"
	if err := cmd.finish(c, nil, interrupted); err != interrupted || printed.Len() > 0 {
		t.Errorf("%v; printed %q", err, printed.String())
	}
	found := &bench.OpenResult{Load: load.Analyze(load.Run{
		Requests: []load.Request{{Intended: 1, Sent: 1, Stored: 1, Ended: 2}}, End: time.Second, Drained: time.Second, Asked: time.Hour, Percentile: 50,
	})}
	found.Scenario, found.Backend = "chain", "memory"
	if err := cmd.finish(c, found, interrupted); err != interrupted || !strings.Contains(printed.String(), "interrupted after 1s of 1h0m0s") {
		t.Errorf("%v; printed %q", err, printed.String())
	}
	if l, err := record.ReadLoad(filepath.Join(cmd.Out, record.LoadFile)); err != nil || l.Valid {
		t.Errorf("%+v, %v", l, err)
	}
}

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
