package load_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pulley/bench/load"
	"pulley/reports/record"
)

func TestWaitsAreRecordedByInterval(t *testing.T) {
	w := load.NewWaits(100*time.Millisecond, time.Second, 3*time.Second)
	w.Add(-time.Second, 1, map[string]int64{"early": 9})
	w.Add(500*time.Millisecond, time.Millisecond, map[string]int64{record.WaitRunning: 2, "IO:WALSync": 5})
	w.Add(600*time.Millisecond, time.Millisecond, map[string]int64{"IO:WALSync": 4})
	rare := map[string]int64{}
	for i := range 9 {
		rare[fmt.Sprintf("LWLock:%d", i)] = 1
	}
	w.Add(2500*time.Millisecond, time.Millisecond, rare)
	w.Add(3*time.Second, time.Hour, map[string]int64{"late": 9})
	got := load.Analyze(load.Run{Closed: true, End: 3 * time.Second, Drained: 3 * time.Second, Span: time.Second, Percentile: 99, Waits: w})
	want := &record.LoadWaits{
		EveryNS: 1e8, Looks: 3, TookNS: 3e6,
		Names: []string{"IO:WALSync", record.WaitRunning, "LWLock:0", "LWLock:1", "LWLock:2", "LWLock:3", "LWLock:4", record.WaitOther},
	}
	if diff := cmp.Diff(want, got.Waits); diff != "" {
		t.Error(diff)
	}
	var looks []int
	var counts [][]int64
	for _, v := range got.Intervals {
		looks, counts = append(looks, v.WaitLooks), append(counts, v.Waits)
	}
	if diff := cmp.Diff([]int{2, 0, 1}, looks); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]int64{{9, 2, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 1, 1, 1, 1, 1, 4}}, counts); diff != "" {
		t.Error(diff)
	}
	if without := load.Analyze(load.Run{Closed: true, End: time.Second, Drained: time.Second, Percentile: 99}); without.Waits != nil {
		t.Errorf("without samples: %+v", without.Waits)
	}
}
