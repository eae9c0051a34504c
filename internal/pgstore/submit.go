package pgstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
)

// Started is a submission that can be stored.
type Started struct {
	Place      int32 // index in the call
	Workflow   int32 // its program's number
	Submission *backend.Submission
	Plan       plan.Plan // of its start
}

// Ord implements Member.
func (s Started) Ord() int32 { return s.Place }

// Of implements Member.
func (s Started) Of() uuid.UUID { return s.Submission.ID }

// Submit stores instances with commit, shard by shard and sorted by id; see backend.Backend. It answers invalid submissions. Once
// some are committed, failing ones are answered, too; before, their error is returned.
func (s *Store) Submit(ctx context.Context, subs []backend.Submission, grant backend.Grant, commit func(shard int, started []Started, o *Outcomes) error) (backend.Committed, error) {
	if err := grant.Check(); err != nil {
		return backend.Committed{}, err
	}
	o := NewOutcomes(len(subs))
	byShard, err := s.started(ctx, subs, o)
	if err != nil {
		return backend.Committed{}, postgres.Explain(err)
	}
	committed := false
	for shard, started := range byShard {
		if len(started) == 0 {
			continue
		}
		err := commit(shard, started, o)
		if err != nil && !committed {
			return backend.Committed{}, postgres.Explain(err)
		}
		if err != nil {
			Again(o, started, err)
		}
		committed = true
	}
	return o.Committed(), nil
}

func (s *Store) started(ctx context.Context, subs []backend.Submission, o *Outcomes) ([][]Started, error) {
	byShard := make([][]Started, s.shards)
	seen := make(map[uuid.UUID]bool, len(subs))
	for i := range subs {
		sub, ord := &subs[i], int32(i)
		if seen[sub.ID] {
			o.Answer(ord, backend.Duplicate)
			continue
		}
		if sub.Program == nil {
			o.Refuse(ord, fmt.Errorf("instance %s: a submission without its program", sub.ID))
			continue
		}
		begun, err := sub.Program.Start(sub.Input)
		if err != nil {
			o.Refuse(ord, err)
			continue
		}
		seen[sub.ID] = true
		number, err := s.Number(ctx, sub.Program)
		if err != nil {
			return nil, err
		}
		shard := backend.ShardOf(sub.ID, s.shards)
		byShard[shard] = append(byShard[shard], Started{Place: ord, Workflow: number, Submission: sub, Plan: begun})
	}
	for _, started := range byShard {
		slices.SortFunc(started, func(a, b Started) int { return bytes.Compare(a.Submission.ID[:], b.Submission.ID[:]) })
	}
	return byShard, nil
}
