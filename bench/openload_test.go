package bench_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"pulley/bench"
	"pulley/bench/load"
	"pulley/internal/depth"
	"pulley/reports/record"
	"pulley/scenarios/arrivals"
)

var slow = map[string]string{
	"slow.yaml": "about: slow\nprogram: slow.ir\nactions: {work: {service: 20ms, gives: 7}}\ninput: {}\narrivals: poisson:20/s\nobjective: {p50: 1h}\n" +
		"run: {workers: 3, engines: 2, measure: 2s, drain: 30s}\n",
	"slow.ir": "fn main(input: [], output: [x]):\n    x = @work()\n",
}

// One worker of 20 ms is overloaded on any machine. The testbed must be clean afterwards.
func TestOverload(t *testing.T) {
	k := cases(t, bench.CaseOptions{Scenarios: []string{own(t, "slow.yaml", slow)}})[0]
	limits := anyMachine
	limits.GrowthShare = 0.05
	for _, name := range depth.Of([]string{"memory"}, few("push", "journal", "pull", "eager")) {
		bed := testbed(t, bench.TestbedSpec{Case: k, Backend: specs(t, name)[0], DSN: dsn(t, name), Workers: 1, Engines: 1, InFlight: 1000})
		found := put(t, bed, "constant:200/s", bench.OpenRun{WarmUpFixed: true, Measure: time.Second, Drain: time.Millisecond, Percentile: 50, Limits: limits})
		w := found.Whole
		if !found.Overloaded || found.Valid || w.Unfinished < 100 || w.Intended != 200 || w.Sent != 200 {
			t.Errorf("%s: %+v %+v", name, w, found.Findings)
		}
		clean := put(t, bed, "closed:1", bench.OpenRun{WarmUpFixed: true, Measure: time.Second, Drain: drainPatience, Percentile: 50})
		if c := clean.Whole; clean.Overloaded || c.Unfinished > 0 || c.Ended == 0 || c.Ended > 50 || *clean.LatencyNS.P50 < int64(20*time.Millisecond) {
			t.Errorf("%s, after it: %+v %+v", name, c, clean.Findings)
		}
	}
}

func TestBoundInFlight(t *testing.T) {
	k := cases(t, bench.CaseOptions{Scenarios: []string{own(t, "slow.yaml", slow)}})[0]
	bed := testbed(t, bench.TestbedSpec{Case: k, Backend: specs(t, "memory")[0], Workers: 10, InFlight: 4})
	found := put(t, bed, "burst:10,100ms", bench.OpenRun{WarmUpFixed: true, Measure: time.Second, Drain: drainPatience, Percentile: 50})
	if w := found.Whole; w.Intended != 100 || w.Dropped < 60 || w.Ended+w.Dropped != 100 || !found.Overloaded {
		t.Errorf("%+v %+v", w, found.Findings)
	}
}

func TestWrongResultsOppose(t *testing.T) {
	k := cases(t, bench.CaseOptions{Scenarios: []string{own(t, "slow.yaml", slow)}})[0]
	k.Workload.Expected = []byte("8")
	k.Workload.Ends = nil
	bed := testbed(t, bench.TestbedSpec{Case: k, Backend: specs(t, "memory")[0]})
	found := put(t, bed, "constant:20/s", bench.OpenRun{WarmUpFixed: true, Measure: time.Second, Drain: drainPatience, Percentile: 50})
	if found.Valid || found.Findings[0].Kind != load.KindWrong || !strings.Contains(found.Findings[0].Text, "the result is 7, not 8") {
		t.Errorf("%+v", found.Findings)
	}
}

func TestRunIsEnded(t *testing.T) {
	k := cases(t, bench.CaseOptions{Scenarios: []string{own(t, "slow.yaml", slow)}})[0]
	bed := testbed(t, bench.TestbedSpec{Case: k, Backend: specs(t, "memory")[0]})
	for _, text := range []string{"constant:20/s", "closed:2"} {
		because := errors.New("because")
		ctx, cancel := context.WithCancelCause(t.Context())
		a, err := arrivals.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = bed.Run(ctx, bench.OpenRun{Arrivals: a, Measure: time.Hour, Progress: func(bench.OpenProgress) { cancel(because) }})
		if !errors.Is(err, because) {
			t.Errorf("%s: %v", text, err)
		}
		cancel(nil)
	}
}

// Runs of an hour are stopped. One after its warm-up returns what was measured and decides nothing; one within it returns
// nothing.
func TestARunThatIsEndedSaysWhatItShowed(t *testing.T) {
	k := cases(t, bench.CaseOptions{Scenarios: []string{own(t, "slow.yaml", slow)}})[0]
	bed := testbed(t, bench.TestbedSpec{Case: k, Backend: specs(t, "memory")[0]})
	for _, c := range []struct {
		arrivals string
		warmUp   time.Duration
		told     bool
	}{{"constant:20/s", 100 * time.Millisecond, true}, {"closed:2", 100 * time.Millisecond, true}, {"constant:20/s", 30 * time.Minute, false}} {
		because := errors.New("because")
		ctx, cancel := context.WithCancelCause(t.Context())
		a, err := arrivals.Parse(c.arrivals, nil)
		if err != nil {
			t.Fatal(err)
		}
		var last bench.OpenProgress
		found, err := bed.Observe(ctx, bench.OpenRun{
			Arrivals: a, WarmUp: c.warmUp, WarmUpFixed: true, Measure: time.Hour, Percentile: 50, Limits: anyMachine,
			Progress: func(p bench.OpenProgress) { last = p; cancel(because) },
		})
		if !errors.Is(err, because) || (found != nil) != c.told {
			t.Fatalf("%s, %v of warm-up: %v, told is %v", c.arrivals, c.warmUp, err, found != nil)
		}
		if !c.told {
			continue
		}
		if found.Valid || found.Overloaded || found.Findings[0].Kind != load.KindCut || !strings.Contains(found.Findings[0].Text, "of 1h0m0.1s") {
			t.Errorf("%s: valid is %v, %+v", c.arrivals, found.Valid, found.Findings)
		}
		w, end := found.Whole, time.Duration(found.Phases.MeasureNS)
		if w.Sent < last.Sent || w.Ended == 0 || w.Dropped > 0 || w.Intended != w.Sent || end < last.Elapsed || end > time.Hour/2 || found.LatencyNS.P50 == nil {
			t.Errorf("%s: %+v until %v, after %+v", c.arrivals, w, end, last)
		}
		if err := found.Write(t.TempDir()); err != nil {
			t.Error(err)
		}
	}
}

func TestRefusedRuns(t *testing.T) {
	k := cases(t, bench.CaseOptions{Scenarios: []string{own(t, "slow.yaml", slow)}})[0]
	memory, push := specs(t, "memory")[0], specs(t, "push")[0]
	for want, spec := range map[string]bench.TestbedSpec{
		"backend push needs a Postgres":  {Case: k, Backend: push},
		"20000 workers; choose from 1":   {Case: k, Backend: memory, Workers: 20_000},
		"65 engines; choose from 1 to 6": {Case: k, Backend: memory, Engines: 65},
		"-1 instances in flight; choose": {Case: k, Backend: memory, InFlight: -1},
	} {
		if _, err := bench.OpenTestbed(t.Context(), spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	bed := testbed(t, bench.TestbedSpec{Case: k, Backend: memory})
	a := arrivals.Constant(10)
	for want, o := range map[string]bench.OpenRun{
		"no arrivals; say how instances come": {Measure: time.Second},
		"0s to measure; choose up to a week":  {Arrivals: a},
		"-1ns to warm up; choose":             {Arrivals: a, Measure: time.Second, WarmUp: -1},
		"-1ns to drain; choose":               {Arrivals: a, Measure: time.Second, Drain: -1},
		"the percentile is 20; choose from 5": {Arrivals: a, Measure: time.Second, Percentile: 20},
		"requests in 1h0m0s; a run has 20000": {Arrivals: arrivals.Constant(1e6), Measure: time.Hour},
	} {
		if _, err := bed.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The record, the log of intervals (with the library's own reader), and the tables of percentiles are read back.
func TestLoadIsWritten(t *testing.T) {
	k := cases(t, bench.CaseOptions{Scenarios: []string{own(t, "slow.yaml", slow)}})[0]
	bed := testbed(t, bench.TestbedSpec{Case: k, Backend: specs(t, "memory")[0]})
	found := put(t, bed, "constant:100/s", bench.OpenRun{WarmUp: 300 * time.Millisecond, WarmUpFixed: true, Measure: 700 * time.Millisecond, Drain: drainPatience, Percentile: 50})
	dir := t.TempDir()
	if err := found.Write(dir); err != nil {
		t.Fatal(err)
	}
	read, err := record.ReadLoad(filepath.Join(dir, record.LoadFile))
	if err != nil {
		t.Fatal(err)
	}
	if read.Whole != found.Whole || len(read.Stages) != 5 || read.Stages[3].Name != "finished" || *read.Stages[3].NS.P50 < int64(20*time.Millisecond) || read.Stages[3].NS.Count < 65 {
		t.Errorf("%+v %+v", read.Whole, read.Stages)
	}
	counts := map[string]int64{}
	log, err := os.Open(filepath.Join(dir, bench.LoadLogFile))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	reader := hdrhistogram.NewHistogramLogReader(log)
	sum := hdrhistogram.New(1, int64(time.Hour), 3)
	for {
		h, err := reader.NextIntervalHistogram()
		if err != nil || h == nil {
			break
		}
		counts[h.Tag()] += h.TotalCount()
		if h.Tag() == "latency" && h.StartTimeMs() >= found.StartedAt.Add(300*time.Millisecond).UnixMilli() {
			sum.Merge(h)
		}
	}
	if counts["latency"] != 100 || counts["service"] != 100 {
		t.Errorf("the log has %v", counts)
	}
	for file, times := range map[string]record.LoadTimes{bench.LatencyTableFile: found.LatencyNS, bench.ServiceTableFile: found.ServiceNS} {
		p50, total := tableOf(t, filepath.Join(dir, file))
		if total != 70 || math.Abs(p50*1e6-float64(*times.P50)) > 0.002*float64(*times.P50) {
			t.Errorf("%s has %d values, and %v ms as the median of %v ns", file, total, p50, *times.P50)
		}
	}
	if got := sum.ValueAtPercentile(50); math.Abs(float64(got-*found.LatencyNS.P50)) > 0.002*float64(got) || sum.TotalCount() != 70 {
		t.Errorf("the median of %d latencies in the log is %d, not %d", sum.TotalCount(), got, *found.LatencyNS.P50)
	}
}

func tableOf(t *testing.T, file string) (p50 float64, total int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 4 || strings.HasPrefix(line, "#") {
			continue
		}
		value, err1 := strconv.ParseFloat(fields[0], 64)
		percentile, err2 := strconv.ParseFloat(fields[1], 64)
		if err := errors.Join(err1, err2); err != nil {
			continue
		}
		if percentile <= 0.5 {
			p50 = value
		}
		if total, err = strconv.Atoi(fields[2]); err != nil {
			t.Error(err)
		}
	}
	return p50, total
}

// Pressure that was not there would make closing the testbed fail.
func TestPressureUnderLoad(t *testing.T) {
	files := map[string]string{"slow.ir": slow["slow.ir"], "slow.yaml": slow["slow.yaml"] + "pressure: {held_transaction: true, readers: 1, connections: 2, round_trip: 1ms, sleepers: 5}\n"}
	k := cases(t, bench.CaseOptions{Scenarios: []string{own(t, "slow.yaml", files)}})[0]
	bed := testbed(t, bench.TestbedSpec{Case: k, Backend: specs(t, "push")[0], DSN: dsn(t, "push")})
	found := put(t, bed, "poisson:20/s", bench.OpenRun{WarmUpFixed: true, Measure: time.Second, Drain: drainPatience, Percentile: 50, Objectives: k.Objectives})
	// A submission and a completion are a round trip each, of at least a millisecond, and the action takes 20.
	if w := found.Whole; w.Ended != w.Intended || w.Ended == 0 || *found.LatencyNS.P50 < int64(22*time.Millisecond) || found.Workers != 3 || found.Engines != 2 {
		t.Errorf("%+v %+v", w, found.LatencyNS)
	}
	if o := found.Objectives; len(o) != 1 || !o[0].Held || o[0].Percentile != 50 {
		t.Errorf("%+v", o)
	}
}

// On Postgres, the record has what the sessions waited for; in memory, there is nothing to wait for.
func TestWaitsUnderLoad(t *testing.T) {
	k := cases(t, bench.CaseOptions{Scenarios: []string{own(t, "slow.yaml", slow)}})[0]
	for _, name := range []string{"memory", "push"} {
		bed := testbed(t, bench.TestbedSpec{Case: k, Backend: specs(t, name)[0], DSN: dsn(t, name)})
		found := put(t, bed, "constant:50/s", bench.OpenRun{WarmUpFixed: true, Measure: 2 * time.Second, Drain: drainPatience, Percentile: 50})
		if found.Latencies.Ended() != int64(found.LatencyNS.Count) || found.Latencies.Ended() == 0 {
			t.Errorf("%s: %d latencies, of %d", name, found.Latencies.Ended(), found.LatencyNS.Count)
		}
		if name == "memory" {
			if found.Waits != nil {
				t.Errorf("in memory: %+v", found.Waits)
			}
			continue
		}
		looks := 0
		for _, v := range found.Intervals {
			looks += v.WaitLooks
		}
		if w := found.Waits; w == nil || w.Looks == 0 || w.Looks != looks || w.Looks > 25 || w.TookNS <= 0 {
			t.Errorf("%s: %+v, and %d looks in the intervals", name, w, looks)
		}
		if err := found.Validate(); err != nil && !strings.Contains(err.Error(), "schema") {
			t.Error(err)
		}
	}
}
