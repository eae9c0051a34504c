package chaos

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pulley/chaos/fault"
	"pulley/chaos/process"
	"pulley/engine/backend"
	"pulley/internal/depth"
)

// plants are bugs by name. An engine's process plants the one that its environment names.
var plants = map[string]func(process.Store) process.Store{
	"forgets":           func(s process.Store) process.Store { return &forgets{Store: s} },
	"applies twice":     func(s process.Store) process.Store { return appliesTwice{s} },
	"answers early":     func(s process.Store) process.Store { return answersEarly{s} },
	"gives nothing out": func(s process.Store) process.Store { return givesNothingOut{s} },
	"leaves goroutines": func(s process.Store) process.Store { return leavesGoroutines{s} },
	"shares no limits":  func(s process.Store) process.Store { return sharesNoLimits{s, s.(backend.Limiter)} },
}

// forgets answers every third call as applied, and drops its completions. A run on a busy machine may have a few calls only.
type forgets struct {
	process.Store
	calls atomic.Int64
}

func (f *forgets) Complete(ctx context.Context, shard int, done []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	if f.calls.Add(1)%3 == 0 {
		return allApplied(done), nil
	}
	return f.Store.Complete(ctx, shard, done, grant)
}

func allApplied(done []backend.Completion) backend.Committed {
	return backend.Committed{Outcomes: slices.Repeat([]backend.Outcome{{Answer: backend.Applied}}, len(done))}
}

type appliesTwice struct{ process.Store }

func (a appliesTwice) Complete(ctx context.Context, shard int, done []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	out, err := a.Store.Complete(ctx, shard, done, grant)
	for i := range out.Outcomes {
		if out.Outcomes[i].Answer == backend.Stale {
			out.Outcomes[i].Answer = backend.Applied
		}
	}
	return out, err
}

type answersEarly struct{ process.Store }

func (a answersEarly) Complete(ctx context.Context, shard int, done []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	done = slices.Clone(done)
	grant.Max = 0
	ctx = context.WithoutCancel(ctx)
	time.AfterFunc(300*time.Millisecond, func() { _, _ = a.Store.Complete(ctx, shard, done, grant) })
	return allApplied(done), nil
}

// givesNothingOut never hands out what was leased to a dead engine.
type givesNothingOut struct{ process.Store }

func (d givesNothingOut) Claim(context.Context, int, backend.Grant) (backend.Committed, error) {
	return backend.Committed{}, nil
}

// leavesGoroutines leaves some behind with every call.
type leavesGoroutines struct{ process.Store }

func (l leavesGoroutines) Complete(ctx context.Context, shard int, done []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	for range 10 {
		go func() { select {} }()
	}
	return l.Store.Complete(ctx, shard, done, grant)
}

// sharesNoLimits says that what engines have of limits was saved, and saves nothing: each engine has all of it.
type sharesNoLimits struct {
	process.Store
	backend.Limiter
}

func (sharesNoLimits) SaveLimits(_ context.Context, saves []backend.LimitSave) ([]bool, error) {
	return slices.Repeat([]bool{true}, len(saves)), nil
}

// TestPlantedBugsAreCaught checks that planted bugs are found by their invariants. Before each change there are two; the oracles'
// own tests cover the others.
func TestPlantedBugsAreCaught(t *testing.T) {
	kills := slices.Repeat([]fault.Fault{{Kind: "process.kill", When: fault.When{Event: "answered", N: 10}}}, 6)
	type planted struct {
		bug        string
		invariants []string // one of them is violated
		faults     []fault.Fault
	}
	all := []planted{
		{"forgets", []string{"I8", "I3"}, nil}, // a forgotten failure that is retried is applied twice
		{"applies twice", []string{"I3"}, []fault.Fault{{Kind: "process.repeat", K: 100, HoldMS: 300}}},
		{"answers early", []string{"I8"}, kills},
		{"gives nothing out", []string{"I9"}, kills[:1]},
	}
	for _, p := range depth.Of(all[:2], all) {
		t.Run(p.bug, func(t *testing.T) {
			t.Parallel()
			c := shortCase("push")
			c.Faults = p.faults
			if p.bug == "gives nothing out" {
				c.Workloads = c.Workloads[:2] // without retries, which also need Claim: the load would not come about
			}
			res := runCase(t, c, plantVariable+"="+p.bug)
			found := slices.ContainsFunc(res.Invariants(), func(i string) bool { return slices.Contains(p.invariants, i) })
			if res.Verdict != Fail || !found {
				t.Errorf("the verdict is %s by %v, want fail by one of %v", res.Verdict, res.Invariants(), p.invariants)
			}
		})
	}
}
