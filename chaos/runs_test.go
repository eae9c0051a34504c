package chaos

import (
	"os"
	"slices"
	"strings"
	"testing"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/chaos/world"
	"pulley/engine/backend/designs"
	"pulley/internal/depth"
)

// durable are all designs on Postgres: push first, then the journal.
var durable = func() (names []string) {
	for _, design := range designs.Durable() {
		names = append(names, design.String())
	}
	return names
}()

// onEach are the kinds that hit each design before every change. The others are distributed among the designs.
var onEach = []string{"wire.cut", lostCommits, "process.kill"}

// lostCommits is the kind that loses replies to commits repeatedly for a time.
const lostCommits = "wire.commits"

// TestEveryKindOfFault applies each kind of fault to at least one design, and a cut, a kill and repeatedly lost COMMIT replies to
// each. It checks that each lost commit is resolved, rightly. At night every kind hits every design, and replies are lost for
// longer.
func TestEveryKindOfFault(t *testing.T) {
	lacking, err := world.Lacking(t.Context(), cases.Case{}, fault.Kinds(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("not here: %v", lacking)
	for name, why := range lacking {
		if os.Getenv("CI") == "true" && !strings.HasPrefix(name, "container.") && !strings.HasPrefix(name, "host.") && !strings.HasPrefix(name, "worker.") { // these have tests of their own
			t.Errorf("CI must be able to have %s: %s", name, why)
		}
	}
	for i, design := range durable {
		var kinds []fault.Kind
		for j, k := range fault.Kinds() {
			if k.Unvisited == nil && lacking[k.Name] == "" && (depth.Night() || j%len(durable) == i || slices.Contains(onEach, k.Name)) {
				kinds = append(kinds, k)
			}
		}
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			c := easy(shortCase(design))
			c.Seed = uint64(i + 1)
			c.Faults = c.Plan(kinds, 0)
			for i := range c.Faults {
				if f := &c.Faults[i]; f.Kind == lostCommits {
					f.K, f.HoldMS = 10, depth.Of(1000, 20_000)
				}
			}
			res := runCase(t, c)
			if res.Verdict != Pass {
				t.Errorf("the verdict is %s by %v, want pass: %v", res.Verdict, res.Invariants(), res.Why)
			}
			for _, k := range kinds {
				if res.Faults[k.Name] < 1 {
					t.Errorf("%s did not happen", k.Name)
				}
				if !k.HasHappened(nil, res.States[k.Name]) {
					t.Errorf("no statement failed by %s", k.Name)
				}
			}
			if seen := res.Timeline.Samples; seen == nil || len(seen.Open) == 0 || len(seen.Waits) == 0 {
				t.Errorf("open instances and waits were not sampled: %+v", seen)
			}
			if l := res.Lost; l.Commits == 0 || l.Wrong > 0 || l.AtOnce+l.Resolved+l.NoAnswer+l.Background != l.Commits {
				t.Errorf("of commits whose reply was lost: %+v", l)
			}
		})
	}
}

// TestEveryMessage applies exhaustive faults until every operation was cut or killed. At night it continues for minutes on every
// design; reaching all of their messages takes longer and is left to pulley chaos.
func TestEveryMessage(t *testing.T) {
	for _, design := range depth.Of(durable[:1], durable) {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			c := easy(shortCase(design))
			c.Cancel, c.MessagesMS = 3, 240_000
			for _, kind := range []string{"wire.every", "process.every", "process.start"} {
				c.Faults = append(c.Faults, fault.Fault{Kind: kind, K: 5, HoldMS: 1000})
			}
			enough := func(seen fault.Coverage) bool { return len(missingIn(seen)) == 0 }
			if depth.Night() {
				enough = nil
			}
			res := runUntil(t, c, enough)
			if len(res.Violations) > 0 || res.Verdict == Pass != (len(res.Messages.Unvisited) == 0) {
				t.Errorf("the verdict is %s by %v with %d messages left: %v", res.Verdict, res.Invariants(), len(res.Messages.Unvisited), res.Why)
			}
			for _, what := range missingIn(res.Messages) {
				t.Error(what)
			}
		})
	}
}

// operations are those at whose messages something must be done. Some, such as a reclaim without an expired lease, need not occur
// before the first fault; the first alwaysCome always do.
var operations = []string{"submit", fault.Claiming, "complete", fault.Starting, fault.Reclaiming, "group commit", "retry", "cancel"}

const alwaysCome = 4

// missingIn says at which operations a run of exhaustive faults did nothing.
func missingIn(seen fault.Coverage) (what []string) {
	for i, name := range operations {
		o := seen.Operations[name]
		switch {
		case o.Client+o.Server == 0 && i < alwaysCome:
			what = append(what, name+": no message came before the first fault")
		case o.Client+o.Server > 0 && o.Covered[fault.Before]+o.Covered[fault.After]+o.Covered[fault.Kill] == 0:
			what = append(what, name+": nothing was done at any message")
		}
	}
	for _, way := range []fault.Way{fault.Before, fault.After, fault.Kill} {
		if seen.Covered[way] == 0 {
			what = append(what, "no message of the baseline was "+string(way))
		}
	}
	return what
}
