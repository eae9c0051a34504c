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
	"pulley/internal/pgstore"
)

type commitEvent struct {
	ord   int32
	lease backend.Lease
	ended plan.Event
	retry *plan.Retry

	// alone: it may end its instance or cancel other node runs. Earlier completions of the instance are committed before it,
	// later ones after its scan.
	alone bool

	cancels *plan.Clear // what its error cancels, or nil
	program *plan.Program
	plan    plan.Plan // of scan=sql, without a retry
	inbox   plan.Inbox
	unfit   error // why it can never be applied
}

// Ord and Of implement pgstore.Member.
func (e *commitEvent) Ord() int32    { return e.ord }
func (e *commitEvent) Of() uuid.UUID { return e.lease.Key.Instance }

// Complete implements backend.Backend.
func (b *Backend) Complete(ctx context.Context, shard int, completions []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	if err := b.store.Check(shard, grant); err != nil {
		return backend.Committed{}, err
	}
	out := pgstore.NewOutcomes(len(completions))
	events, err := b.planned(ctx, shard, b.judged(shard, completions, out), out)
	if err != nil {
		return backend.Committed{}, postgres.Explain(err)
	}
	for i, part := range inParts(events) {
		if i > 0 { // the plans may be out of date
			part, err = b.planned(ctx, shard, part, out)
		}
		if err == nil {
			part = inOrder(part)
			part = pgstore.Distinct(out, part, func(e *commitEvent) backend.Lease { return e.lease })
			err = b.commitBatch(ctx, shard, part, grant, out)
		}
		if err != nil && i == 0 {
			return backend.Committed{}, postgres.Explain(err)
		}
		if err != nil {
			pgstore.Again(out, events, err)
			break
		}
		retries(part, b.store.Clock.Now(), out)
	}
	return out.Committed(), nil
}

func retries(part []*commitEvent, now time.Time, out *pgstore.Outcomes) {
	for _, e := range part {
		if out.Answers[e.ord].Answer == backend.Applied && e.retry != nil {
			out.Result.DueAt(now.Add(e.retry.After))
		}
	}
}

func (b *Backend) judged(shard int, completions []backend.Completion, out *pgstore.Outcomes) []*commitEvent {
	var events []*commitEvent
	for i := range completions {
		c := &completions[i]
		if !out.Accept(i, c, shard, b.Shards()) {
			continue
		}
		e := &commitEvent{ord: int32(i), lease: c.Lease, program: c.Program}
		ev := plan.Event{Run: c.Lease.Key.Run, Attempt: c.Attempt, Result: c.Result, Failure: c.Failure}
		if e.ended, e.retry, e.unfit = c.Program.JudgeAttempt(ev, b.store.Jitter()); e.unfit == nil && e.retry == nil && e.ended.Failure != nil {
			e.cancels = cancelledScope(c.Program.Graph(), c.Lease.Key.Run, e.ended.Failure.Type)
			e.alone = e.cancels != nil || c.Program.Fatal(e.ended)
		}
		events = append(events, e)
	}
	return events
}

// planned plans completions in scan=sql, and answers those that are unfit: with the reason, or Stale if the lease is not held.
func (b *Backend) planned(ctx context.Context, shard int, events []*commitEvent, out *pgstore.Outcomes) ([]*commitEvent, error) {
	if b.scan == ScanSQL {
		if err := b.planAll(ctx, shard, events); err != nil {
			return nil, err
		}
	}
	var fit []*commitEvent
	for _, e := range events {
		if e.unfit == nil {
			fit = append(fit, e)
			continue
		}
		var l pgstore.Leases // one lock at a time, as in Renew
		l.Add(e.ord, e.lease)
		held, err := b.store.HeldLeases(ctx, ledger, shard, &l)
		if err != nil {
			return nil, err
		}
		out.Answer(e.ord, backend.Stale)
		if held[e.ord] {
			out.Refuse(e.ord, fmt.Errorf("instance %s, %s: %w", e.lease.Key.Instance, e.program.RunName(e.lease.Key.Run), e.unfit))
		}
	}
	return fit, nil
}

func (b *Backend) planAll(ctx context.Context, shard int, events []*commitEvent) error {
	var wanted pgstore.Keys
	byOrd := map[int32]*commitEvent{}
	for _, e := range events {
		if byOrd[e.ord] = e; e.unfit == nil && e.retry == nil {
			e.inbox = plan.Inbox{}
			wanted.AddSlots(e.ord, e.lease.Key.Instance, e.program.Needs(e.ended).Slots)
		}
	}
	if err := read(ctx, b.store.Pool, shard, &wanted, func(ord int32) *plan.Inbox { return &byOrd[ord].inbox }); err != nil {
		return err
	}
	for _, e := range events {
		if e.unfit != nil || e.retry != nil {
			continue
		}
		ev := e.ended
		ev.Attempt = finalAttempt // the retry is decided already
		e.plan, e.unfit = e.program.Step(ev, e.inbox, 0)
		e.alone = e.alone || e.plan.End != nil || slices.ContainsFunc(e.plan.Clears, func(c plan.Clear) bool { return c.AtWork })
	}
	return nil
}

// cancelledScope returns what an error cancels: the region that it leaves before it is caught, if that is in a spread or
// parallel; otherwise nil.
func cancelledScope(g *graph.Graph, run graph.Run, typ string) *plan.Clear {
	handler := g.Handler(run.Node, typ)
	if handler == nil {
		return nil
	}
	to := g.Nodes[handler.To]
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

// inParts divides completions so that one marked alone is the only one of its instance in its part.
func inParts(events []*commitEvent) [][]*commitEvent {
	type open struct {
		part int
		used bool // has another event of the instance
	}
	var parts [][]*commitEvent
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

// inOrder sorts events in locking order.
func inOrder(events []*commitEvent) []*commitEvent {
	return slices.SortedStableFunc(slices.Values(events), func(a, b *commitEvent) int { return a.lease.Key.Compare(b.lease.Key) })
}
