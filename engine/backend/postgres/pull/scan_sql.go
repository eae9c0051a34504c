package pull

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

type ready struct {
	key      backend.Key
	program  *plan.Program
	required int
	arrived  int
	reached  int  // up to which arrival a watched barrier was continued
	watched  bool // a barrier that starts something before it is full
	resumed  bool // no barrier: a traversal stopped here to read
	args     *string
	wait     *int64
	finish   *string
}

type stepping struct {
	*ready
	event plan.Event
	inbox plan.Inbox
}

// findSQL finds runnable node runs with the anti-join. It plans continuations at once and repeats the query until there are none;
// other runs are entered into the ledger.
func (c *scanTx) findSQL(ctx context.Context) error {
	pending := map[backend.Key]bool{} // found before
	for {
		found, err := c.runnable(ctx)
		if err != nil || c.missing != nil {
			return err
		}
		var waited []*ready
		for _, r := range found {
			switch {
			case r.program == nil || c.endedInstances[r.key.Instance] || pending[r.key]:
			case r.finish != nil:
				c.finish(r)
			case r.args != nil:
				pending[r.key] = true
				c.enterFound(r)
			case r.arrived > r.required:
				c.endCorrupt(r.key.Instance, fmt.Errorf("%w: %s has %d arrivals of %d", backend.ErrOverflow, r.program.RunName(r.key.Run), r.arrived, r.required))
			default:
				waited = append(waited, r)
			}
		}
		if len(waited) == 0 {
			return nil
		}
		if err := c.planContinuations(ctx, waited, pending); err != nil {
			return err
		}
	}
}

func (c *scanTx) runnable(ctx context.Context) ([]*ready, error) {
	rows, err := c.conn.Query(ctx, runnableSQL, c.shard, c.ids)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*ready, error) {
		r := &ready{}
		var id [16]byte
		var workflow, node int32
		var path string
		err := row.Scan(&id, &workflow, &node, &path, &r.required, &r.arrived, &r.reached, &r.watched, &r.resumed, &r.args, &r.wait, &r.finish)
		r.key = keyOf(id, node, path)
		r.program = c.program(workflow)
		return r, err
	})
}

func (r *ready) steps() []*stepping {
	events := []plan.Event{{Run: r.key.Run, Fired: true}}
	if r.watched {
		events = r.program.BarrierEvents(r.key.Run, r.required, r.reached, r.arrived)
	}
	out := make([]*stepping, len(events))
	for i, ev := range events {
		out[i] = &stepping{ready: r, event: ev}
	}
	return out
}

func (c *scanTx) finish(r *ready) {
	var end plan.End
	if err := json.Unmarshal([]byte(*r.finish), &end); err != nil {
		c.endCorrupt(r.key.Instance, fmt.Errorf("the end of the instance cannot be read: %w", err))
		return
	}
	c.end(r.key.Instance, &end)
}

func (c *scanTx) enterFound(r *ready) {
	e := entry{key: r.key, program: r.program}
	var err error
	if e.args, err = backend.DecodeArgs([]byte(*r.args)); err != nil {
		c.endCorrupt(r.key.Instance, err)
		return
	}
	if r.wait != nil {
		e.wait = time.Duration(*r.wait) * time.Microsecond
	}
	c.entries = append(c.entries, e)
}

func (c *scanTx) planContinuations(ctx context.Context, waited []*ready, pending map[backend.Key]bool) error {
	var f effects
	var steps []*stepping
	for _, r := range waited {
		f.handled(r)
		steps = append(steps, r.steps()...)
	}
	if err := c.readAll(ctx, steps); err != nil {
		return err
	}
	for _, s := range steps {
		if !c.endedInstances[s.key.Instance] {
			c.step(&f, s, pending)
		}
	}
	batch := &pgx.Batch{}
	f.queue(batch, c.shard)
	return c.conn.SendBatch(ctx, batch).Close()
}

func (c *scanTx) step(f *effects, s *stepping, pending map[backend.Key]bool) {
	id := s.key.Instance
	pl, err := s.program.Step(s.event, s.inbox, 0)
	switch {
	case err != nil:
		c.endCorrupt(id, err)
		return
	case pl.End != nil:
		c.end(id, pl.End)
		return
	}
	full := s.event.Run == s.key.Run && !s.resumed
	itself := func(q plan.Enqueue) bool { return full && q.Run == s.key.Run }
	// A barrier that is an action opens its own run.
	if i := slices.IndexFunc(pl.Enqueues, itself); i >= 0 {
		e := entry{key: s.key, program: s.program, args: pl.Enqueues[i].Args, wait: pl.Enqueues[i].After}
		kept, err := backend.EncodeArgs(e.args)
		if err != nil {
			c.endCorrupt(id, err)
			return
		}
		text := string(kept)
		e.storedArgs = &text
		pending[s.key] = true
		c.entries = append(c.entries, e)
		pl.Enqueues = slices.Delete(pl.Enqueues, i, i+1)
	} else if full {
		f.openedBarriers.add(s.key)
	}
	if err := f.add(s.program, id, sourceOf(s.event.Run), pl); err != nil {
		c.endCorrupt(id, err)
	}
	for _, cl := range pl.Clears {
		c.dropCancelled(s.program, id, cl)
	}
}

func (c *scanTx) dropCancelled(p *plan.Program, id uuid.UUID, cl plan.Clear) {
	if !cl.AtWork {
		return // then no run there was open
	}
	g := p.Graph()
	c.entries = slices.DeleteFunc(c.entries, func(e entry) bool {
		return e.key.Instance == id && g.Within(g.Nodes[e.key.Run.Node].Region, cl.Region) && e.key.Run.Path.Under(cl.Path)
	})
}

func (c *scanTx) readAll(ctx context.Context, steps []*stepping) error {
	var wanted, lists pgstore.Keys
	for i, s := range steps {
		needs := s.program.Needs(s.event)
		wanted.AddSlots(int32(i), s.key.Instance, needs.Slots)
		if needs.Elements {
			run := s.event.Run
			lists.Add(int32(i), s.key.Instance, int32(s.program.Graph().Nodes[run.Node].Var), run.Path)
		}
	}
	if err := read(ctx, c.conn, c.shard, &wanted, func(ord int32) *plan.Inbox { return &steps[ord].inbox }); err != nil || len(lists.Ord) == 0 {
		return err
	}
	rows, err := c.conn.Query(ctx, gatherSQL, lists.Parameters(c.shard)...)
	if err != nil {
		return err
	}
	var ord, element int32
	var value []byte
	_, err = pgx.ForEachRow(rows, []any{&ord, &element, &value}, func() error {
		inbox := &steps[ord].inbox
		inbox.Elements = append(inbox.Elements, plan.Element{Index: int(element), Value: value})
		return nil
	})
	return err
}

func read(ctx context.Context, from pgstore.Querier, shard int, slots *pgstore.Keys, inbox func(ord int32) *plan.Inbox) error {
	if len(slots.Ord) == 0 {
		return nil
	}
	rows, err := from.Query(ctx, readSQL, slots.Parameters(shard)...)
	if err != nil {
		return err
	}
	return pgstore.CollectValues(rows, inbox)
}
