package pull

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
)

// Submit implements backend.Backend. The instances of a shard are stored in one transaction with the cycle that
// finds their first node runs.
func (b *Backend) Submit(ctx context.Context, subs []backend.Submission, grant backend.Grant) (backend.Committed, error) {
	out := backend.Committed{Outcomes: make([]backend.Outcome, len(subs))}
	if err := grant.Check(); err != nil {
		return backend.Committed{}, err
	}
	byShard := make([]newInstances, b.Shards())
	seen := map[uuid.UUID]bool{}
	for i, s := range subs {
		out.Outcomes[i] = backend.Outcome{Answer: backend.Duplicate}
		if seen[s.ID] {
			continue
		}
		started, err := s.Program.Start(s.Input)
		if err != nil {
			out.Outcomes[i] = backend.Outcome{Answer: backend.Refused, Err: err}
			continue
		}
		seen[s.ID] = true
		number, err := b.store.Number(ctx, s.Program)
		if err != nil {
			return backend.Committed{}, postgres.Explain(err)
		}
		byShard[backend.ShardOf(s.ID, b.Shards())].add(i, s, number, started)
	}
	stored := false
	for shard := range byShard {
		n := &byShard[shard]
		if len(n.place) == 0 {
			continue
		}
		err := b.begin(ctx, shard, n, grant, &out)
		if err != nil && !stored {
			return backend.Committed{}, postgres.Explain(err)
		}
		if err != nil {
			for _, at := range n.place {
				out.Outcomes[at] = backend.Outcome{Answer: backend.Again, Err: postgres.Explain(err)}
			}
			continue
		}
		stored = true
	}
	return out, nil
}

// newInstances are the parameters of submit.sql.
type newInstances struct {
	place    []int
	instance [][16]byte
	workflow []int32
	input    []string
	program  []*plan.Program
	plan     []plan.Plan
}

func (n *newInstances) add(place int, s backend.Submission, workflow int32, started plan.Plan) {
	n.place = append(n.place, place)
	n.instance = append(n.instance, s.ID)
	n.workflow = append(n.workflow, workflow)
	n.input = append(n.input, string(s.Input))
	n.program = append(n.program, s.Program)
	n.plan = append(n.plan, started)
}

// begin stores the instances of one shard, with their cycle.
func (b *Backend) begin(ctx context.Context, shard int, n *newInstances, grant backend.Grant, out *backend.Committed) error {
	c, err := b.attempt(ctx, shard, func(known *reading) *cycling {
		c := b.cycling(shard, grant, out, known)
		c.submitted, c.ids = n, sorted(n.instance)
		return c
	})
	if err != nil {
		return err
	}
	for i, id := range n.instance {
		if c.fresh[id] {
			out.Outcomes[n.place[i]] = backend.Outcome{Answer: backend.Applied}
		}
	}
	b.tell(ctx, c, grant, out)
	return nil
}

// start writes the first steps of the instances that are new.
func (c *cycling) start(f *effects) error {
	n := c.submitted
	for i, id := range n.instance {
		if !c.fresh[id] {
			continue
		}
		if err := f.add(n.program[i], id, "start", n.plan[i]); err != nil {
			return err
		}
	}
	return nil
}

// sorted gives ids in order, each once.
func sorted(ids [][16]byte) [][16]byte {
	out := slices.Clone(ids)
	slices.SortFunc(out, func(a, b [16]byte) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(out)
}
