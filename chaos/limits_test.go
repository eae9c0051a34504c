package chaos

import (
	"slices"
	"testing"
	"time"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/chaos/process"
	"pulley/engine/limit"
	"pulley/engine/oracle"
	"pulley/internal/depth"
)

// limitedCase has actions that take some milliseconds.
func limitedCase(backend string) cases.Case {
	c := shortCase(backend)
	c.Workloads, c.Engines, c.InFlight, c.Cancel = []cases.Workload{{Scenario: "shop"}, {Scenario: "fanout", Size: 20}}, 3, 20, 0
	c.LimitConcurrency = 2
	return c
}

// Engines keep a limit that they share, and nothing is lost of instances with priorities, while engines
// are killed, stand still, lose their connections, and have wrong clocks.
func TestLimitsHold(t *testing.T) {
	for _, design := range depth.Of([]string{"push"}, []string{"push", "journal"}) {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			c := limitedCase(design)
			c.LimitRate, c.Priorities, c.Fair = "200/s", 9, true
			for i, kind := range []string{"process.kill", "process.pause", "wire.cut", "process.clock", "process.kill"} {
				c.Faults = append(c.Faults, fault.Fault{Kind: kind, Engine: i % c.Engines, K: 1, HoldMS: 1500, When: fault.When{Event: "answered", N: 20}})
			}
			res := runCase(t, c)
			if res.Verdict != Pass {
				t.Errorf("the verdict is %s by %v: %v", res.Verdict, res.Invariants(), res.Why)
			}
			if use := res.Limit; use == nil || use.Attempts < 20 || use.AtOnce < 1 || use.AtOnce > c.LimitConcurrency || use.Kept <= 0 || use.Kept > 1.05 {
				t.Errorf("%+v", use)
			}
		})
	}
}

func TestLimitsThatAreNotSharedAreFound(t *testing.T) {
	t.Parallel()
	res := runCase(t, limitedCase("push"), plantVariable+"=shares no limits")
	if res.Verdict != Fail || !slices.Equal(res.Invariants(), []string{"limit"}) {
		t.Errorf("the verdict is %s by %v, want fail by limit", res.Verdict, res.Invariants())
	}
}

// An attempt counts until its engine's permits have ended, or its process; without permits, until its own end.
func TestAttemptsThatCount(t *testing.T) {
	x := newExecutions()
	permitted := func(source string, begun, until int64) {
		x.note(source, process.Message{Say: process.SayPermitted, AtNS: begun, UntilNS: until})
	}
	began := func(source string, n int, at int64) {
		x.note(source, process.Message{Say: process.SayActionBegan, N: n, AtNS: at})
	}
	ended := func(source string, n int, at int64) {
		x.note(source, process.Message{Say: process.SayActionEnded, N: n, AtNS: at})
	}
	const now = int64(time.Second)
	permitted("a", 0, 10)
	permitted("a", 8, 18)
	permitted("a", 30, 40)
	began("a", 1, 5)
	ended("a", 1, 7)
	began("a", 2, 6) // its permits end at 18, though the engine has others later
	ended("a", 2, 35)
	began("a", 3, 20) // without any; this is the first that it does after they have ended
	ended("a", 3, 35)
	began("a", 4, 31) // has not ended; its permits have
	permitted("c", 0, 10)
	began("c", 1, 12)
	ended("c", 1, 13)
	began("c", 2, 12+int64(decidedBefore)+1)
	permitted("b", 0, 50)
	began("b", 1, 1)
	began("b", 2, 2)
	ended("b", 2, 3)
	x.leave("b", 9)
	x.note("b", process.Message{Say: process.SayActionBegan, N: 3, AtNS: 4, Wrong: true})
	all, leftOut := x.attempts(now, time.Unix(0, now))
	var got [][2]int64
	for _, a := range all {
		got = append(got, [2]int64{a.Start.UnixNano(), a.End.UnixNano()})
	}
	slices.SortFunc(got, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
	want := [][2]int64{{1, 9}, {2, 3}, {5, 7}, {6, 18}, {12, 12}, {20, 20}, {31, 40}, {12 + int64(decidedBefore) + 1, now}}
	if !slices.Equal(got, want) || leftOut != 1 {
		t.Errorf("%v, and %d left out, want %v, and 1", got, leftOut, want)
	}
	if n := mostAtOnce(all); n != 3 {
		t.Errorf("at most %d at once, want 3", n)
	}
	if err := (limit.Limit{Name: "l", Actions: []string{anyAction}, Concurrency: 2}).Check(all); err == nil {
		t.Error("three of two at once are no violation")
	}
}

// Over five periods, as many attempts may begin as in six.
func TestRatesAreJudged(t *testing.T) {
	for n, want := range map[int]Verdict{60: Pass, 61: Fail} {
		c := limitedCase("push")
		c.LimitConcurrency, c.LimitRate = 0, "10/s"
		r := &run{Case: c, watch: newWatch(), result: newResult(c)}
		begun := oracle.MachineClock() - int64(time.Minute)
		r.watch.executions.note("a", process.Message{Say: process.SayPermitted, AtNS: begun, UntilNS: begun + int64(time.Minute)})
		for i := range n {
			at := begun + int64(i)*int64(5*time.Second)/61
			r.watch.executions.note("a", process.Message{Say: process.SayActionBegan, N: i, AtNS: at})
			r.watch.executions.note("a", process.Message{Say: process.SayActionEnded, N: i, AtNS: at + 1})
		}
		r.judgeLimit()
		if r.result.conclude(); r.result.Verdict != want {
			t.Errorf("%d attempts in less than five seconds: %s, %v, want %s", n, r.result.Verdict, r.result.Violations, want)
		}
	}
}
