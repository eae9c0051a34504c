package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulley/cmd/pulley/console"
	"pulley/cmd/pulley/simulate"
	"pulley/internal/depth"
	"pulley/reports/record"
	"pulley/scenarios/wfformat"
)

func forecasted(t *testing.T, args ...string) (f simulate.Forecast, dir string) {
	t.Helper()
	dir = t.TempDir()
	got := call(t, nil, append(append([]string{"forecast"}, args...), "--format", "json", "--out", dir)...)
	if got.code != 0 {
		t.Fatalf("%v: exit status %d: %s", args, got.code, got.err)
	}
	if err := json.Unmarshal([]byte(got.out), &f); err != nil {
		t.Fatalf("%v: %v: %s", args, err, got.out)
	}
	if written, err := os.ReadFile(filepath.Join(dir, "forecast.json")); err != nil || string(written) != got.out {
		t.Errorf("%v: forecast.json is not what was printed: %v", args, err)
	}
	return f, dir
}

func TestMakespan(t *testing.T) {
	t.Parallel()
	all := [][]string{
		{depth.Of("fanout=20", "fanout=50")}, {"loop=4"}, {depth.Of("trace=20", "trace=60"), "--shape", "layered"},
		{"spread=10"}, {"chain=9"}, {"diamond=2"}, {"pipeline=8"},
	}
	for _, args := range all[:depth.Of(3, len(all))] {
		f, dir := forecasted(t, append(args, "--workers", "4", "--service", "lognormal:10ms,1", "--runs", "6")...)
		if f.Runs != 6 || f.Completed != 1 || len(f.Warnings) > 0 || f.Bounds.UpperMS == nil || f.Bounds.CriticalPathMS == nil {
			t.Fatalf("%v: %+v", args, f)
		}
		if f.MakespanMS.Lo < f.Bounds.LowerMS.Lo || f.MakespanMS.Hi > f.Bounds.UpperMS.Hi || f.MakespanMS.Lo <= 0 {
			t.Errorf("%v: a makespan of %+v within %+v", args, f.MakespanMS, f.Bounds)
		}
		if f.Utilisation.Median <= 0 || f.Utilisation.Hi > 1 || f.SpeedUp.Hi > 4 {
			t.Errorf("%v: utilisation %+v, speed-up %+v", args, f.Utilisation, f.SpeedUp)
		}
		rows := forecastRows(t, dir)
		if len(rows) != f.Attempts+1 || rows[0][0] != "instance" || rows[1][9] != "applied" {
			t.Errorf("%v: %d lines in schedule.csv, the first %v", args, len(rows), rows[0])
		}
		for _, name := range []string{"gantt.svg", "gantt.png"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 1000 {
				t.Errorf("%v: %s: %v", args, name, err)
			}
		}
	}
}

func forecastRows(t *testing.T, dir string) [][]string {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, "schedule.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestMakespanQueue(t *testing.T) {
	t.Parallel()
	f, _ := forecasted(t, "chain=1", "--workers", "1", "--service", "exp:10ms", "--arrivals", "50/s", "--instances", depth.Of("600", "2000"), "--runs", "8")
	if w := f.Waiting.Mean; w.Lo > 10 || w.Hi < 10 || w.Lo < 5 || w.Hi > 20 {
		t.Errorf("a mean wait of %+v ms; theory says 10", w)
	}
	if u := f.Utilisation.Median; u < 0.45 || u > 0.55 {
		t.Errorf("a utilisation of %v; theory says 0.5", u)
	}
	f, _ = forecasted(t, "chain=1", "--workers", "1", "--service", "const:10ms", "--arrivals", "const:5ms", "--instances", "100", "--runs", "1")
	if f.MakespanMS.Median != 1000 || !strings.Contains(strings.Join(f.Warnings, " "), "grows") {
		t.Errorf("a queue that grows: %+v, %v", f.MakespanMS, f.Warnings)
	}
}

func TestMakespanInputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, file := filepath.Join(dir, "p.ir"), filepath.Join(dir, "t.json")
	text := "fn main(input: [n], output: [x]):\n    ys = spread range(n):i -> @double(value=i)\n    sleep 1\n    x = @sum(values=ys)\n"
	if err := os.WriteFile(program, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	trace, err := wfformat.Generate(wfformat.Scatter, 12, 1)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := wfformat.Write(out, trace); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	f, _ := forecasted(t, program, "--input", `{"n": 8}`, "--workers", "4", "--service", "double=const:10ms", "--service", "const:100ms", "--runs", "1")
	if f.MakespanMS.Median != 2*10+1000+100 || f.Attempts != 9 {
		t.Errorf("a program: %+v", f)
	}
	f, _ = forecasted(t, "trace", "--trace", file, "--workers", "20", "--runs", "1", "--time-scale", "0.001")
	if want := trace.CriticalPathSeconds(); f.MakespanMS.Median < want-0.01 || f.MakespanMS.Median > want+0.01 || f.Bounds.CriticalPathMS.Median != f.MakespanMS.Median {
		t.Errorf("a trace takes %v ms; its critical path is %v s", f.MakespanMS.Median, want)
	}
	f, _ = forecasted(t, "fanout=9", "--workers", "2", "--service", "samples:"+file, "--latency", "uniform:1ms..3ms")
	if f.Bounds.UpperMS != nil || f.MakespanMS.Median < f.Bounds.LowerMS.Median || len(f.Warnings) != 1 {
		t.Errorf("calls that take time: %+v", f)
	}
	got := call(t, nil, "forecast", "fanout=9", "--workers", "2", "--service", "exp:1ms", "--out", dir)
	if got.code != 0 || !strings.Contains(got.out, "no greedy one is longer") || !strings.Contains(got.err, "gantt.svg") {
		t.Errorf("exit status %d: %s%s", got.code, got.out, got.err)
	}
}

// TestLargeTrace compares counted readiness of a large trace with the bounds. It is not parallel, since it changes for all
// tests which traces are large.
func TestLargeTrace(t *testing.T) {
	defer func(most int) { simulate.PlannedMost = most }(simulate.PlannedMost)
	simulate.PlannedMost = depth.Of(200, simulate.PlannedMost)
	tasks := simulate.PlannedMost + 1
	f, dir := forecasted(t, fmt.Sprintf("trace=%d", tasks), "--workers", depth.Of("20", "500"), "--service", "exp:1s", "--runs", "1")
	if f.Attempts != tasks || f.MakespanMS.Median > f.Bounds.UpperMS.Median || len(forecastRows(t, dir)) != tasks+1 {
		t.Errorf("%+v", f)
	}
}

// What was measured must be of the same workload, and the page has both, with what they do not share.
func TestForecastBesideMeasurements(t *testing.T) {
	t.Parallel()
	const records = "../../reports/testdata/records/"
	f, dir := forecasted(t, "fanout=20", "--workers", "4", "--service", "exp:1ms", "--arrivals", "100/s", "--instances", "200", "--runs", "2", "--measured", records+"bench-9")
	if m := f.Measured; m == nil || len(m.Rows) != 1 || m.Rows[0].Name != "push" || m.Rows[0].P50MS == nil || *m.Rows[0].P50MS != 12.088571 || len(m.Differs) != 2 || !strings.Contains(m.Differs[0], "2000 workers there") || !strings.Contains(m.Differs[1], "not valid") {
		t.Errorf("%+v", m)
	}
	html, err := os.ReadFile(filepath.Join(dir, record.ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	wantParts(t, string(html), "Simulated beside measured", "2000 workers there")
	got := call(t, nil, "forecast", "fanout=100", "--workers", "4", "--service", "exp:1ms", "--runs", "2", "--measured", records+"compare-9", "--out", t.TempDir())
	wantParts(t, got.out, "measured in "+records+"compare-9", "journal, alone, p99", "× the simulated", "keeps a number of instances open")
	for want, args := range map[string][]string{
		"it measured fanout=20, and fanout=30 is simulated": {"fanout=30", "--measured", records + "bench-9"},
		"and chain=10 is simulated":                         {"chain=10", "--measured", records + "compare-9"},
		"there is no load.json of pulley bench":             {"chain=10", "--measured", records},
		"there are records of scenarios only":               {"trace=20", "--measured", records + "bench-9"},
	} {
		got := call(t, nil, append(append([]string{"forecast"}, args...), "--workers", "2", "--service", "exp:1ms", "--out", t.TempDir())...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%v: exit status %d, %q", args, got.code, got.out)
		}
		wantLine(t, got.err, want)
	}
}

func TestMakespanMistakes(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"say how long actions take":    {"fanout"},
		"name what is to be simulated": {"--service", "exp:1s"},
		"there is no scenario":         {"fanuot", "--service", "exp:1s"},
		"is no distribution":           {"fanout", "--service", "gauss"},
		"no such action; there are":    {"fanout", "--service", "x=exp:1s"},
		"no time for action":           {"fanout", "--service", "sum=exp:1s"},
		"is there twice":               {"fanout", "--service", "exp:1s", "--service", "exp:2s"},
		"only the scenario trace":      {"fanout", "--service", "trace"},
		"give a rate":                  {"fanout", "--service", "exp:1s", "--arrivals=-1/s"},
		"or give a rate such as 50/s":  {"fanout", "--service", "exp:1s", "--arrivals", "soon"},
		"no process \"poison\"":        {"fanout", "--service", "exp:1s", "--arrivals", "poison:50/s"},
		"is no duration":               {"fanout", "--service", "exp:1s", "--arrivals", "exp:fast"},
		"--set is for a scenario":      {"x.ir", "--service", "exp:1s", "--set", "a=1"},
		"has no parameters":            {"fanout", "--service", "exp:1s", "--set", "a=1"},
		"--latency":                    {"fanout", "--service", "exp:1s", "--latency", "x"},
		"--runs -1":                    {"fanout", "--service", "exp:1s", "--runs=-1"},
		"\"x\" is no size":             {"fanout=x", "--service", "exp:1s"},
		"--input is for a program":     {"fanout", "--service", "exp:1s", "--input", "{}"},
		"are for the scenario trace":   {"fanout", "--service", "exp:1s", "--shape", "layered"},
		"has its own size":             {"trace=9", "--trace", "x.json"},
		"cannot read the trace":        {"trace", "--trace", "missing.json"},
		"there is no shape":            {"trace", "--shape", "round"},
		"--time-scale":                 {"trace", "--time-scale", "-1"},
		"missing.ir":                   {"missing.ir", "--service", "exp:1s"},
		"choose from 1 to 1000000":     {"fanout", "--instances=-4", "--service", "exp:1s"},
	} {
		got := call(t, nil, append(append([]string{"forecast"}, args...), "--workers", "2", "--out", t.TempDir())...)
		if got.code != console.ExitUsage || !strings.Contains(got.err, want) || strings.Count(got.err, "\n") != 1 || got.out != "" {
			t.Errorf("%v: exit status %d: %s; want %q", args, got.code, got.err, want)
		}
	}
	if got := call(t, nil, "forecast", "fanout", "--workers=-1"); got.code != console.ExitUsage {
		t.Errorf("--workers -1: exit status %d: %s", got.code, got.err)
	}
}
