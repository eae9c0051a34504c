package backendtest_test

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

// languageMutants are planted bugs in what the whole language needs of a store. Deep ones are made by a change of the program: a
// store that receives a spread without its limit behaves like one that ignores limits.
var languageMutants = []mutant{
	{name: "clears forgotten", catch: "error/siblings_are_cancelled", plant: program(noRegions)},
	{name: "rounds left behind", catch: "clear/a_loop_holds_no_more_for_more_rounds", store: func(s *backendtest.Store) {
		rows := 0
		s.StoredCounts = func(context.Context) (map[string]int, error) {
			rows++
			return map[string]int{"queue": rows}, nil
		}
	}},
	{name: "clears beside their path", catch: "error/element_of_a_spread", plant: func(b *bug) {
		b.complete = func(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
			for _, c := range cs { // the siblings of all elements go with those of the first
				if c.Failure != nil {
					out, err := b.Backend.Complete(ctx, shard, allFail(b, cs), g)
					out.Outcomes = out.Outcomes[:min(len(cs), len(out.Outcomes))]
					return out, err
				}
			}
			return b.Backend.Complete(ctx, shard, cs, g)
		}
	}},
	{name: "cancelled and handed out", catch: "error/siblings_are_cancelled", plant: handOutAgain},
	{name: "cancelled and completed", catch: "error/siblings_in_one_batch", plant: func(b *bug) {
		b.after = answer(backend.Stale, backend.Applied)
	}},
	{name: "cancelled and still held", catch: "error/siblings_are_cancelled", plant: func(b *bug) {
		b.extend = func(_ context.Context, _ int, leases []backend.Lease, _ backend.Grant) ([]bool, error) {
			return slices.Repeat([]bool{true}, len(leases)), nil
		}
	}},
	{name: "first handler for every error", catch: "error/retries_come_first", plant: program(func(g *graph.Graph) {
		for _, e := range g.Edges {
			e.Types = nil
		}
	})},
	{name: "limit ignored", catch: "limit/in_flight", plant: program(noLimits)},
	{name: "limit of a function ignored", catch: "limit/over_a_function", plant: program(noLimits)},
	{name: "limit never refilled", catch: "limit/in_flight", plant: func(b *bug) {
		b.complete = func(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
			g.Max = 0
			return b.Backend.Complete(ctx, shard, cs, g)
		}
		b.claim = func(ctx context.Context, shard int, g backend.Grant) (backend.Committed, error) {
			g.Max = min(g.Max, 1)
			return b.Backend.Claim(ctx, shard, g)
		}
	}},
	{name: "sleeps without waiting", catch: "sleep/not_before_its_time", plant: program(func(g *graph.Graph) {
		for _, n := range g.Nodes {
			if n.Kind == graph.Sleep {
				n.Expr = &ir.Expr{Pos: n.Expr.Pos, Text: "0"}
			}
		}
	})},
	{name: "end of a sleep not told", catch: "sleep/not_before_its_time", plant: func(b *bug) {
		b.after = func(out *backend.Committed) { out.NextDue = time.Time{} }
	}},
	{name: "sleep never over", catch: "sleep/survives", plant: func(b *bug) {
		b.after = func(out *backend.Committed) {
			out.Tasks = slices.DeleteFunc(out.Tasks, func(t backend.Task) bool { return t.Action == "" })
		}
	}},
	{name: "appended values not read", catch: "append/read_whole", plant: func(b *bug) {
		b.after = func(out *backend.Committed) {
			for i, t := range out.Tasks {
				if open := bytes.IndexByte(t.Args, '['); open >= 0 {
					out.Tasks[i].Args = append(bytes.Clone(t.Args[:open]), "[]}"...)
				}
			}
		}
	}},
	{name: "late end of a timeout applied", catch: "timeout/the_late_end_is_stale", plant: ignoreToken},
	{name: "attempts counted in memory", catch: "retry/counted_across_a_crash", plant: func(b *bug) {
		b.after = func(out *backend.Committed) {
			for i := range out.Tasks {
				out.Tasks[i].Attempt = 1
			}
		}
	}},
	{name: "canceled in words only", catch: "cancel/queued_and_running", plant: func(b *bug) {
		b.cancel = func(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
			out, err := b.Backend.Lookup(ctx, ids)
			for i := range out {
				out[i].Status, out[i].Failure = backend.Canceled, &plan.Failure{Type: backend.CanceledType, Message: reason}
			}
			return out, err
		}
	}},
	{name: "canceled after the end", catch: "cancel/ended,_unknown,_twice", plant: func(b *bug) {
		b.cancel = func(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
			out, err := b.Backend.(backend.Canceler).Cancel(ctx, ids, reason)
			for i := range out {
				out[i].Status, out[i].Failure = backend.Canceled, &plan.Failure{Type: backend.CanceledType, Message: reason}
			}
			return out, err
		}
	}},
	{name: "canceled and not fenced", catch: "cancel/queued_and_running", plant: func(b *bug) {
		b.after = answer(backend.Stale, backend.Applied)
	}},
	{name: "canceled and left behind", catch: "cancel/queued_and_running", store: func(s *backendtest.Store) {
		s.Leftovers = func(context.Context) (map[string]int, error) { return map[string]int{"inbox": 3}, nil }
	}},
}

func program(change func(*graph.Graph)) func(*bug) {
	return func(b *bug) {
		b.submit = func(ctx context.Context, subs []backend.Submission, g backend.Grant) (backend.Committed, error) {
			subs = slices.Clone(subs)
			for i := range subs {
				changed, err := graph.Decode(subs[i].Program.Definition())
				if err != nil {
					return backend.Committed{}, err
				}
				change(changed)
				definition, err := graph.Encode(changed)
				if err != nil {
					return backend.Committed{}, err
				}
				if changed, err = graph.Decode(definition); err != nil {
					return backend.Committed{}, err
				}
				if subs[i].Program, err = plan.Compile(changed); err != nil {
					return backend.Committed{}, err
				}
			}
			return b.Backend.Submit(ctx, subs, g)
		}
	}
}

// noRegions removes the regions, so that a failure cancels nothing.
func noRegions(g *graph.Graph) {
	g.Regions = nil
	for _, n := range g.Nodes {
		n.Region = 0
	}
}

func noLimits(g *graph.Graph) {
	for _, n := range g.Nodes {
		n.Limit = 0
	}
}

// handOutAgain hands out, with what a failure makes ready, a node run that was handed out before.
func handOutAgain(b *bug) {
	b.complete = func(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
		out, err := b.Backend.Complete(ctx, shard, cs, g)
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(cs) == 1 && cs[0].Failure != nil && len(b.tasks) > 1 {
			out.Tasks = append(out.Tasks, b.tasks[1])
		}
		return out, err
	}
}

func allFail(b *bug, cs []backend.Completion) []backend.Completion {
	b.mu.Lock()
	defer b.mu.Unlock()
	cs = slices.Clone(cs)
	for _, t := range b.tasks {
		if !slices.ContainsFunc(cs, func(c backend.Completion) bool { return c.Lease.Key == t.Lease.Key }) {
			cs = append(cs, backend.Completion{Lease: t.Lease, Program: t.Program, Attempt: t.Attempt, Failure: &plan.Failure{Type: "Bad"}})
		}
	}
	return cs
}
