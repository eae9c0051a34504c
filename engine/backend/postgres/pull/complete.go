package pull

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// event is a completion, judged.
type event struct {
	ord   int32
	lease backend.Lease
	ended plan.Event
	retry *plan.Retry

	// alone says that it may end its instance or call off what runs beside it: completions of the instance
	// that came earlier are committed before it, and those that came later after the cycle that follows.
	alone bool

	off     *plan.Clear // what its error calls off
	program *plan.Program
	plan    plan.Plan // of scan=sql, without a retry
	inbox   plan.Inbox
	unfit   error // it cannot be applied, whatever is done
}

// Complete implements backend.Backend: the ends of attempts go into the ledger, and in the same transaction a cycle
// finds what follows from them.
func (b *Backend) Complete(ctx context.Context, shard int, completions []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	if err := b.check(shard, grant); err != nil {
		return backend.Committed{}, err
	}
	out := backend.Committed{Outcomes: make([]backend.Outcome, len(completions))}
	events, err := b.planned(ctx, shard, b.judged(shard, completions, out.Outcomes), out.Outcomes)
	if err != nil {
		return backend.Committed{}, postgres.Explain(err)
	}
	for i, part := range inParts(events) {
		if i > 0 { // what was planned before may have changed
			part, err = b.planned(ctx, shard, part, out.Outcomes)
		}
		if err == nil {
			err = b.commit(ctx, shard, distinct(part, out.Outcomes), grant, &out)
		}
		if err != nil && i == 0 {
			return backend.Committed{}, postgres.Explain(err)
		}
		if err != nil {
			again(events, err, out.Outcomes)
			break
		}
		retries(part, b.store.Clock.Now(), &out)
	}
	return out, nil
}

// retries notes when what is to be tried again will be due.
func retries(part []*event, now time.Time, out *backend.Committed) {
	for _, e := range part {
		if out.Outcomes[e.ord].Answer == backend.Applied && e.retry != nil {
			out.NextDue = earlier(out.NextDue, now.Add(e.retry.After))
		}
	}
}

// judged makes events of completions, and answers those that can be none.
func (b *Backend) judged(shard int, completions []backend.Completion, outcomes []backend.Outcome) []*event {
	var events []*event
	for i, c := range completions {
		key := c.Lease.Key
		switch {
		case c.Program == nil:
			outcomes[i] = backend.Outcome{Answer: backend.Refused, Err: fmt.Errorf("instance %s: a completion without its program", key.Instance)}
			continue
		case backend.ShardOf(key.Instance, b.Shards()) != shard || !postgres.Storable(key.Run.Path):
			outcomes[i] = backend.Outcome{Answer: backend.Stale}
			continue
		}
		e := &event{ord: int32(i), lease: c.Lease, program: c.Program}
		ev := plan.Event{Run: key.Run, Attempt: c.Attempt, Result: c.Result, Failure: c.Failure}
		if e.ended, e.retry, e.unfit = c.Program.Settle(ev, b.store.Jitter()); e.unfit == nil && e.retry == nil && e.ended.Failure != nil {
			e.off = callsOff(c.Program.Graph(), key.Run, e.ended.Failure.Type)
			e.alone = e.off != nil || c.Program.Fatal(e.ended)
		}
		events = append(events, e)
	}
	return events
}

// planned plans, in scan=sql, what follows from completions, and answers those that are unfit: whoever
// holds the lease hears why, and for anyone else it is stale.
func (b *Backend) planned(ctx context.Context, shard int, events []*event, outcomes []backend.Outcome) ([]*event, error) {
	if b.scan == ScanSQL {
		if err := b.planAll(ctx, shard, events); err != nil {
			return nil, err
		}
	}
	var fit []*event
	for _, e := range events {
		if e.unfit == nil {
			fit = append(fit, e)
			continue
		}
		var l postgres.Leases // one at a time, as Extend
		l.Add(e.ord, e.lease)
		held, err := b.store.Held(ctx, ledger, shard, &l)
		switch {
		case err != nil:
			return nil, err
		case held[e.ord]:
			err := fmt.Errorf("instance %s, %s: %w", e.lease.Key.Instance, e.program.RunName(e.lease.Key.Run), e.unfit)
			outcomes[e.ord] = backend.Outcome{Answer: backend.Refused, Err: err}
		default:
			outcomes[e.ord] = backend.Outcome{Answer: backend.Stale}
		}
	}
	return fit, nil
}

// planAll reads what the completions need and plans what follows from them.
func (b *Backend) planAll(ctx context.Context, shard int, events []*event) error {
	var wanted slots
	byOrd := map[int32]*event{}
	for _, e := range events {
		if byOrd[e.ord] = e; e.unfit == nil && e.retry == nil {
			e.inbox = plan.Inbox{}
			wanted.add(e.ord, e.lease.Key.Instance, e.program.Needs(e.ended).Slots)
		}
	}
	if err := wanted.read(ctx, b.store.Pool, shard, func(ord int32) *plan.Inbox { return &byOrd[ord].inbox }); err != nil {
		return err
	}
	for _, e := range events {
		if e.unfit != nil || e.retry != nil {
			continue
		}
		ev := e.ended
		ev.Attempt = finalAttempt // whether there is a retry has been decided
		e.plan, e.unfit = e.program.Step(ev, e.inbox, 0)
		e.alone = e.alone || e.plan.End != nil || slices.ContainsFunc(e.plan.Clears, func(c plan.Clear) bool { return c.AtWork })
	}
	return nil
}

// callsOff gives what an error calls off that is caught outside of a spread or parallel around its node, and
// nil if there is no such handler.
func callsOff(g *graph.Graph, run graph.Run, typ string) *plan.Clear {
	i := slices.IndexFunc(g.Out(run.Node), func(e *graph.Edge) bool {
		return e.Kind == graph.Exception && (len(e.Types) == 0 || slices.Contains(e.Types, typ) || slices.Contains(e.Types, "Exception"))
	})
	if i < 0 {
		return nil
	}
	to := g.Nodes[g.Out(run.Node)[i].To]
	out := plan.Clear{}
	for r := g.Nodes[run.Node].Region; !g.Within(to.Region, r); r = g.Regions[r].Parent {
		out.Region = r
		out.AtWork = out.AtWork || !g.Regions[r].Loop
	}
	if !out.AtWork {
		return nil
	}
	depth := g.Regions[out.Region].Depth
	if g.Regions[out.Region].Loop { // all its rounds
		depth--
	}
	out.Path = run.Path.Cut(depth)
	return &out
}

// inParts divides completions so that one which is to be alone is the only one of its instance in its part.
func inParts(events []*event) [][]*event {
	type open struct {
		part int
		used bool // by another of the instance
	}
	var parts [][]*event
	instances := map[uuid.UUID]open{}
	for _, e := range events {
		in := instances[e.lease.Key.Instance]
		if e.alone && in.used {
			in.part++
		}
		for len(parts) <= in.part {
			parts = append(parts, nil)
		}
		parts[in.part] = append(parts[in.part], e)
		if in.used = !e.alone; e.alone {
			in.part++
		}
		instances[e.lease.Key.Instance] = in
	}
	return parts
}

// distinct sorts, and leaves one of several completions of the same attempt; the others are stale
// whatever happens to the one.
func distinct(events []*event, outcomes []backend.Outcome) []*event {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b *event) int { return a.lease.Key.Compare(b.lease.Key) })
	kept := events[:0]
	for _, e := range events {
		if len(kept) > 0 && kept[len(kept)-1].lease == e.lease {
			outcomes[e.ord] = backend.Outcome{Answer: backend.Stale}
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

func again(events []*event, err error, outcomes []backend.Outcome) {
	for _, e := range events {
		if outcomes[e.ord].Answer == "" {
			outcomes[e.ord] = backend.Outcome{Answer: backend.Again, Err: postgres.Explain(err)}
		}
	}
}
