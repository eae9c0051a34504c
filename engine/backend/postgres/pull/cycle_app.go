package pull

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// scanned is an instance with all that stands in the ledger.
type scanned struct {
	id          uuid.UUID
	workflow    int32
	input       []byte
	completions []completion
	waiting     []graph.Run // in the ledger, and not completed
	known       map[graph.Run]bool
	broken      error // a row that says nothing
}

// findApp finds what is runnable by replaying every instance.
func (c *cycling) findApp(ctx context.Context, tx pgx.Tx) error {
	found, err := c.scan(ctx, tx)
	if err != nil {
		return err
	}
	for _, in := range found {
		c.meet(in.id)
		if p := c.program(in.workflow); p != nil {
			c.judge(in, p)
		}
	}
	return nil
}

// scan reads the ledger of all running instances of the shard.
func (c *cycling) scan(ctx context.Context, tx pgx.Tx) ([]*scanned, error) {
	rows, err := tx.Query(ctx, scanSQL, c.shard, c.span.first, c.span.last)
	if err != nil {
		return nil, err
	}
	var found []*scanned
	var id [16]byte
	var workflow int32
	var input, result, failure []byte
	var node *int32
	var path *string
	var done *int64
	_, err = pgx.ForEachRow(rows, []any{&id, &workflow, &input, &node, &path, &done, &result, &failure}, func() error {
		if len(found) == 0 || found[len(found)-1].id != id {
			found = append(found, &scanned{id: id, workflow: workflow, input: input, known: map[graph.Run]bool{}})
		}
		if node != nil {
			run := graph.Run{Node: graph.NodeID(*node), Path: graph.Path(*path)}
			found[len(found)-1].add(run, done, result, failure)
		}
		return nil
	})
	return found, err
}

// add notes a row of the ledger.
func (in *scanned) add(run graph.Run, done *int64, result, failure []byte) {
	in.known[run] = true
	if done == nil {
		in.waiting = append(in.waiting, run)
		return
	}
	c := completion{run: run, done: *done, result: result}
	if failure != nil {
		c.failure = &plan.Failure{}
		if err := json.Unmarshal(failure, c.failure); err != nil {
			in.broken = fmt.Errorf("the failure of node %d at %q in the ledger: %w", run.Node, run.Path, err)
		}
	}
	in.completions = append(in.completions, c)
}

// judge replays an instance and finds what it can run now that is not in the ledger yet, and what is in
// the ledger and was called off.
func (c *cycling) judge(in *scanned, p *plan.Program) {
	if in.broken != nil {
		c.spoil(in.id, in.broken)
		return
	}
	r, err := rebuild(p, in.input, in.completions)
	switch {
	case err != nil:
		c.spoil(in.id, err)
		return
	case r.end != nil:
		c.end(in.id, r.end)
		return
	}
	c.replays[in.id] = r
	for _, run := range r.order {
		if q, open := r.open(run); open && !in.known[run] {
			c.entries = append(c.entries, entry{key: backend.Key{Instance: in.id, Run: run}, program: p, args: q.Args, wait: q.After})
		}
	}
	slices.SortFunc(in.waiting, func(a, b graph.Run) int { return backend.Key{Run: a}.Compare(backend.Key{Run: b}) })
	for _, run := range in.waiting {
		if _, open := r.open(run); !open {
			c.gone.add(backend.Key{Instance: in.id, Run: run})
		}
	}
}
