package histogram_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pulley/bench/histogram"
	"pulley/reports/record"
)

func TestPercentiles(t *testing.T) {
	h := histogram.New()
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
		one, merged := histogram.New(), histogram.New()
		workers := []*histogram.Hist{histogram.New(), histogram.New(), histogram.New()}
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
	h := histogram.New()
	for _, d := range []time.Duration{-1, 0, 1, time.Second, 61 * time.Minute} {
		h.Record(d)
	}
	want := []string{"3 of 5 latencies lay outside of 1 ns … 1 h and were clipped"}
	if diff := cmp.Diff(want, h.Warnings()); diff != "" {
		t.Error(diff)
	}
}

func TestLogCanBeRead(t *testing.T) {
	h := histogram.New()
	for i := range 1000 {
		h.Record(time.Duration(i+1) * time.Microsecond)
	}
	start := time.UnixMilli(1_700_000_000_000)
	var log bytes.Buffer
	err := histogram.WriteLog(&log, []string{"hop latency\nof a run"}, slices.Values([]histogram.Tagged{
		{Tag: "hop/fan out/pull:scan=app,x", Start: start, End: start.Add(2 * time.Second), Hist: h},
		{Tag: "empty", Start: start, End: start, Hist: histogram.New()},
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

func TestLogIsReadAsItWasWritten(t *testing.T) {
	key := record.Key{Scenario: "fan out", Backend: "pull:scan=sql,x", Size: 7, Mode: "alone"}
	h := histogram.New()
	for i := range 5000 {
		h.Record(time.Duration(i*i*i) * time.Nanosecond)
	}
	var log bytes.Buffer
	at := time.UnixMilli(1_700_000_000_000)
	if err := histogram.WriteLog(&log, []string{"a comment"}, slices.Values([]histogram.Tagged{
		{Tag: histogram.HopTag(key), Start: at, End: at, Hist: h}, {Tag: histogram.InstanceTag(key), Start: at, End: at, Hist: histogram.New()},
	})); err != nil {
		t.Fatal(err)
	}
	text := log.String()
	got, err := histogram.ReadLog(strings.NewReader(text))
	if err != nil || len(got) != 2 {
		t.Fatalf("%d distributions, %v", len(got), err)
	}
	d := got[histogram.HopTag(key)]
	if diff := cmp.Diff(h.Distribution(), d); diff != "" {
		t.Error(diff)
	}
	if err := (&record.Load{
		Schema: record.SchemaVersion, Scenario: "a", Backend: "b", Valid: true, Latencies: d, Phases: record.LoadPhases{MeasureNS: 1, DrainNS: 1, SpanNS: 1},
	}).Validate(); err != nil {
		t.Error(err)
	}
	for _, at := range []struct {
		share float64
		want  int64
	}{{0.5, h.Percentiles().P50}, {0.99, h.Percentiles().P99}} {
		if ns, ok := d.Quantile(at.share); !ok || ns != at.want {
			t.Errorf("quantile %v is %d, want %d", at.share, ns, at.want)
		}
	}
	if empty := got[histogram.InstanceTag(key)]; empty == nil || empty.Count() != 0 {
		t.Errorf("empty: %+v", empty)
	}
}

func TestADamagedLogIsRefused(t *testing.T) {
	h := histogram.New()
	for i := range 1000 {
		h.Record(time.Duration(i))
	}
	var log bytes.Buffer
	if err := histogram.WriteLog(&log, nil, slices.Values([]histogram.Tagged{{Tag: "a", Hist: h}})); err != nil {
		t.Fatal(err)
	}
	text := log.String()
	rapid.Check(t, func(t *rapid.T) {
		damaged := []byte(text)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			damaged[rapid.IntRange(0, len(damaged)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "to")
		}
		_, _ = histogram.ReadLog(bytes.NewReader(damaged[:rapid.IntRange(0, len(damaged)).Draw(t, "cut")])) // does not panic
	})
	i := strings.Index(text, "HISTFAAA") + 40
	if _, err := histogram.ReadLog(strings.NewReader(text[:i] + "AAAA" + text[i+4:])); err == nil {
		t.Error("a changed histogram is read")
	}
	short := hdrhistogram.New(1, 1000, 2)
	payload, err := short.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := histogram.ReadLog(strings.NewReader("Tag=a,0.0,1.0,1.0," + string(payload) + "\n")); err == nil || !strings.Contains(err.Error(), "2 significant digits") {
		t.Errorf("a histogram of other buckets: %v", err)
	}
}
