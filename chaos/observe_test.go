package chaos

import (
	"testing"

	"pulley/reports/record"
)

// Windows have means; one without a sample, or without an answer of the server, is unknown; what waits are rare is summed up.
func TestSamplesByWindow(t *testing.T) {
	second := int64(1e9)
	seen := []observation{
		{at: 5 * second, open: 99, waits: map[string]int64{"before": 9}},
		{at: 10*second + 1, open: 4, waits: map[string]int64{record.WaitRunning: 8, "a": 7, "b": 6, "c": 5, "d": 4, "e": 3, "f": 2, "g": 1}},
		{at: 10*second + 2, open: 6, waits: map[string]int64{record.WaitRunning: 2}},
		{at: 11 * second, open: 8},
		{at: 13 * second, open: 1, waits: map[string]int64{}},
	}
	got := samplesOf(seen, 10*second)
	if got == nil || got.WindowMS != 1000 || len(got.Open) != 4 || len(got.Waits) != observeWaits+1 {
		t.Fatalf("%+v", got)
	}
	is := func(what string, got *float64, want float64) {
		t.Helper()
		switch {
		case want < 0 && got != nil:
			t.Errorf("%s: %v, want nothing", what, *got)
		case want >= 0 && (got == nil || *got != want):
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for i, want := range []float64{5, 8, -1, 1} {
		is("open", got.Open[i], want)
	}
	for i, want := range []float64{5, -1, -1, 0} {
		is("running", got.Waits[0].Sessions[i], want)
	}
	if last := got.Waits[observeWaits]; last.Name != record.WaitOther {
		t.Errorf("the last is %q", last.Name)
	} else {
		is("others", last.Sessions[0], 1.5) // f and g, over two samples
	}
	if samplesOf(seen, 14*second) != nil {
		t.Error("samples of nothing")
	}
}
