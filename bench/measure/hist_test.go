package measure_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pulley/bench/measure"
	"pulley/reports/record"
)

func TestPercentiles(t *testing.T) {
	h := measure.NewHist()
	if h.Percentiles() != nil || h.InstancePercentiles() != nil || h.Warnings() != nil {
		t.Error("an empty histogram has figures")
	}
	for i := 1; i <= 10_000; i++ {
		h.Record(time.Duration(i))
	}
	got := h.Percentiles()
	for name, v := range map[string][2]int64{
		"p50": {got.P50, 5000}, "p99": {got.P99, 9900}, "p99.9": {got.P999, 9990}, "max": {got.Max, 10_000},
	} {
		if v[0] < v[1] || float64(v[0]) > float64(v[1])*1.001 {
			t.Errorf("%s: got %d, want %d to 0.1 %% above", name, v[0], v[1])
		}
	}
	want := &record.InstancePercentiles{P50: got.P50, P99: got.P99, Max: got.Max}
	if diff := cmp.Diff(want, h.InstancePercentiles()); diff != "" || h.Count() != 10_000 {
		t.Error(diff)
	}
}

func TestMergeIsLikeRecordingInOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durations := rapid.SliceOfN(rapid.Int64Range(-5, int64(2*time.Hour)), 1, 200).Draw(t, "durations")
		one, merged := measure.NewHist(), measure.NewHist()
		workers := []*measure.Hist{measure.NewHist(), measure.NewHist(), measure.NewHist()}
		clipped := int64(0)
		for i, d := range durations {
			one.Record(time.Duration(d))
			workers[i%3].Record(time.Duration(d))
			if d < 1 || d > int64(time.Hour) {
				clipped++
			}
		}
		for _, w := range workers {
			merged.Merge(w)
		}
		if diff := cmp.Diff(one.Percentiles(), merged.Percentiles()); diff != "" {
			t.Fatal(diff)
		}
		if merged.Count() != int64(len(durations)) || merged.Dropped() != 0 || merged.Clipped() != clipped {
			t.Fatalf("count %d, dropped %d, clipped %d; want %d, 0, %d", merged.Count(), merged.Dropped(), merged.Clipped(),
				len(durations), clipped)
		}
		if p := merged.Percentiles(); p.Max > int64(time.Hour) || p.P999 > p.Max || p.P50 < 1 {
			t.Fatalf("out of range: %+v", p)
		}
	})
}

func TestClippedIsSaid(t *testing.T) {
	h := measure.NewHist()
	for _, d := range []time.Duration{-1, 0, 1, time.Second, 61 * time.Minute} {
		h.Record(d)
	}
	want := []string{"3 of 5 latencies lay outside of 1 ns … 1 h and were clipped"}
	if diff := cmp.Diff(want, h.Warnings()); diff != "" {
		t.Error(diff)
	}
}

func TestHLogCanBeRead(t *testing.T) {
	h := measure.NewHist()
	for i := range 1000 {
		h.Record(time.Duration(i+1) * time.Microsecond)
	}
	start := time.UnixMilli(1_700_000_000_000)
	var log bytes.Buffer
	err := measure.WriteHLog(&log, []string{"hop latency\nof a run"}, slices.Values([]measure.Tagged{
		{Tag: "hop/fan out/pull:scan=app,x", Start: start, End: start.Add(2 * time.Second), Hist: h},
		{Tag: "empty", Start: start, End: start, Hist: measure.NewHist()},
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"#[Histogram log format version 1.3]", "# hop latency of a run\n", "# Values are nanoseconds."} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("want %q in\n%.400s", want, log.String())
		}
	}
	reader := hdrhistogram.NewHistogramLogReader(&log)
	got, err := reader.NextIntervalHistogram()
	if err != nil {
		t.Fatal(err)
	}
	if got.Tag() != "hop/fan_out/pull:scan=app_x" || got.TotalCount() != 1000 || got.StartTimeMs() != start.UnixMilli() {
		t.Errorf("tag %q, count %d, start %d", got.Tag(), got.TotalCount(), got.StartTimeMs())
	}
	if p99 := got.ValueAtPercentile(99); p99 != h.Percentiles().P99 {
		t.Errorf("p99 %d, want %d", p99, h.Percentiles().P99)
	}
	if empty, err := reader.NextIntervalHistogram(); err != nil || empty.Tag() != "empty" || empty.TotalCount() != 0 {
		t.Errorf("second: %v, %v", empty, err)
	}
	if h.Count() != 1000 {
		t.Error("writing changed the histogram")
	}
}
