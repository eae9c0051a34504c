package eager

import (
	"context"
	"fmt"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
)

// Submit implements backend.Backend. Instances of several shards are committed shard by shard.
func (b *Backend) Submit(ctx context.Context, subs []backend.Submission, grant backend.Grant) (backend.Committed, error) {
	if err := grant.Check(); err != nil {
		return backend.Committed{}, err
	}
	out := outcomes{answers: make([]backend.Outcome, len(subs))}
	byShard := make([][]*event, b.Shards())
	seen := map[[16]byte]bool{}
	for i := range subs {
		s := &subs[i]
		if seen[s.ID] {
			out.answers[i] = backend.Outcome{Answer: backend.Duplicate}
			continue
		}
		if s.Program == nil {
			out.answers[i] = backend.Outcome{Answer: backend.Refused, Err: fmt.Errorf("instance %s: a submission without its program", s.ID)}
			continue
		}
		started, err := s.Program.Start(s.Input)
		if err != nil {
			out.answers[i] = backend.Outcome{Answer: backend.Refused, Err: err}
			continue
		}
		seen[s.ID] = true
		number, err := b.store.Number(ctx, s.Program)
		if err != nil {
			return backend.Committed{}, postgres.Explain(err)
		}
		shard := backend.ShardOf(s.ID, b.Shards())
		byShard[shard] = append(byShard[shard], &event{ord: int32(i), instance: s.ID, program: s.Program, shape: b.shape(s.Program), workflow: number, submission: s, plan: started})
	}
	committed := false
	for shard, events := range byShard {
		if len(events) == 0 {
			continue
		}
		slices.SortStableFunc(events, func(a, b *event) int { return a.key().Compare(b.key()) })
		err := b.commit(ctx, shard, events, grant, &out)
		if err != nil && !committed {
			return backend.Committed{}, postgres.Explain(err)
		}
		if err != nil {
			out.again(events, err)
		}
		committed = true
	}
	return out.committed(), nil
}
