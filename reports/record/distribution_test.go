package record_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pulley/reports/record"
)

func TestDistributionHoldsTheTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		resolution := rapid.IntRange(0, 16).Draw(t, "bits")
		times := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 5000), rapid.Int64Range(0, math.MaxInt64)), 1, 50).Draw(t, "times")
		endless := rapid.Int64Range(0, 5).Draw(t, "endless")
		d := record.NewDistribution(resolution, times, endless)
		if d.Ended() != int64(len(times)) || d.Count() != int64(len(times))+endless {
			t.Fatalf("%d ended of %d, want %d and %d more", d.Ended(), d.Count(), len(times), endless)
		}
		l := goodLoad()
		l.Latencies = d
		if err := l.Validate(); err != nil {
			t.Fatal(err)
		}
		for i := range d.FromNS {
			from, to, _ := d.Bucket(i)
			if from > to || float64(to-from) > float64(from)*math.Pow(2, -float64(resolution)) {
				t.Fatalf("a bucket from %d to %d of %d bits", from, to, resolution)
			}
		}
		slices.Sort(times)
		for _, share := range []float64{0, 0.25, 0.5, 0.99, 1} {
			rank := max(int(math.Ceil(share*float64(d.Count()))), 1)
			got, ok := d.Quantile(share)
			if ok != (rank <= len(times)) {
				t.Fatalf("quantile %v: %v of %d times", share, ok, len(times))
			}
			if !ok {
				continue
			}
			want := times[rank-1]
			if got < want || float64(got-want) > float64(want)*math.Pow(2, -float64(resolution)) {
				t.Fatalf("quantile %v is %d, want %d", share, got, want)
			}
		}
	})
}

func TestNothingIsDistributed(t *testing.T) {
	var none *record.Distribution
	for name, d := range map[string]*record.Distribution{"nil": none, "empty": record.NewDistribution(2, nil, 0), "endless": record.NewDistribution(2, nil, 3)} {
		if ns, ok := d.Quantile(0.5); ok || d.Ended() != 0 {
			t.Errorf("%s: the median is %d, of %d", name, ns, d.Ended())
		}
	}
	if diff := cmp.Diff(&record.Distribution{Bits: 2, FromNS: []int64{0}, Counts: []int64{2}}, record.NewDistribution(2, []int64{-5, 0}, 0)); diff != "" {
		t.Error(diff)
	}
}

func TestDistributionsAreValidated(t *testing.T) {
	for name, d := range map[string]record.Distribution{
		"bits":                  {Bits: 17},
		"fewer counts":          {Bits: 2, FromNS: []int64{1, 2}, Counts: []int64{1}},
		"a negative count":      {Bits: 2, FromNS: []int64{1}, Counts: []int64{-1}},
		"a negative end":        {Bits: 2, Endless: -1},
		"a bucket of no grid":   {Bits: 2, FromNS: []int64{9}, Counts: []int64{1}},
		"a negative time":       {Bits: 2, FromNS: []int64{-4}, Counts: []int64{1}},
		"a descent":             {Bits: 2, FromNS: []int64{8, 4}, Counts: []int64{1, 1}},
		"more than can be told": {Bits: 2, FromNS: []int64{4, 8}, Counts: []int64{math.MaxInt64, 1}},
	} {
		for _, l := range []record.Load{{Latencies: &d}, {Intervals: []record.LoadInterval{{Latencies: &d}}}} {
			good := goodLoad()
			good.Latencies, good.Intervals = l.Latencies, l.Intervals
			if good.Validate() == nil {
				t.Errorf("%s: the record is believed", name)
			}
		}
	}
}

func goodLoad() record.Load {
	return record.Load{
		Schema: record.SchemaVersion, Scenario: "orders", Backend: "push", Valid: true,
		Phases: record.LoadPhases{WarmUpNS: 1, MeasureNS: 2, DrainNS: 3, SpanNS: 1},
	}
}

func TestWaitsOfALoadAreValidated(t *testing.T) {
	good := goodLoad()
	good.Waits = &record.LoadWaits{Names: []string{record.WaitRunning, record.WaitOther}}
	good.Intervals = []record.LoadInterval{{}, {WaitLooks: 3, Waits: []int64{1, 2}}}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	good.Intervals[1].Waits = []int64{1}
	if good.Validate() == nil {
		t.Error("a count without a name is believed")
	}
	good.Waits = nil
	if good.Validate() == nil {
		t.Error("counts without names are believed")
	}
}
