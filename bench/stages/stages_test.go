package stages_test

import (
	"testing"
	"time"

	"pulley/bench/stages"
	"pulley/engine/graph"
)

// near allows for the histograms' rounding.
func near(a, b time.Duration) bool { return a >= b && float64(a) <= float64(b)*1.01 }

func TestStages(t *testing.T) {
	r := stages.New(time.Second, 3, 2)
	var p, none *stages.Page
	recorded := 0
	for i := range 10_000 {
		if page := r.Page(i); page != nil {
			p = page
			recorded++
		}
	}
	if recorded < 4500 || recorded > 5500 {
		t.Fatalf("%d of 10,000 instances are recorded, not about half", recorded)
	}
	none.Store(1)
	const ms = int64(time.Millisecond)
	first, second := graph.Run{Node: 1}, graph.Run{Node: 2, Path: "7"}
	p.Lease(first, 10*ms) // before the notice that the instance is stored
	p.Store(11 * ms)
	p.Start(first, 12*ms)
	p.Finish(first, 15*ms)
	p.Commit(first, 19*ms)
	p.Lease(second, 24*ms)
	p.Start(second, 30*ms)
	p.Lease(second, 1000*ms)
	p.Start(second, 1007*ms)
	p.Finish(second, 1015*ms)
	p.Commit(second, 1024*ms)
	p.Commit(second, 1025*ms) // stale, or a repetition: it counts once
	for s, want := range map[stages.Stage][2]int64{
		stages.Leased: {0, 981}, stages.Started: {2, 7}, stages.Finished: {3, 8}, stages.Committed: {4, 9},
	} {
		for interval, ms := range want {
			m, ok := r.Median(s, interval)
			if w := time.Duration(ms) * time.Millisecond; !ok || !near(m, w) {
				t.Errorf("%s in interval %d took %v (%v), not %v", s, interval, m, ok, w)
			}
		}
		if _, ok := r.Median(s, 2); ok {
			t.Errorf("%s: there is something in an empty interval", s)
		}
		if o := r.Over(s, 0, 3); o.Count != 2 || !near(o.Max, time.Duration(want[1])*time.Millisecond) {
			t.Errorf("%s: %+v", s, o)
		}
		if o := r.Over(s, 1, 2); o.Count != 1 {
			t.Errorf("%s: %+v", s, o)
		}
	}
}

// Instances end and others begin while one continues: the pages must not mix.
func TestPagesDoNotMeet(t *testing.T) {
	const ms = int64(time.Millisecond)
	r := stages.New(time.Second, 1, 1)
	run := graph.Run{Node: 1}
	long := r.Page(0)
	for i := range 3 {
		ended := r.Page(i + 1)
		ended.Lease(run, 10*ms)
		ended.Start(run, 11*ms)
		ended.Finish(run, 12*ms)
		ended.Commit(run, 13*ms)
		long.Lease(run, 20*ms)
		ended.Lease(run, 5*ms)
		long.Start(run, 21*ms)
		long.Finish(run, 22*ms)
		long.Commit(run, 23*ms)
	}
	if o := r.Over(stages.Started, 0, 1); o.Count != 6 || !near(o.Max, time.Millisecond) {
		t.Errorf("%+v", o)
	}
}
