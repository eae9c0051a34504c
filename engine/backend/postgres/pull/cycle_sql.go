package pull

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// found is a node run that the anti-join gave.
type found struct {
	instance uuid.UUID
	program  *plan.Program
	run      graph.Run
	required int
	arrived  int
	args     *string
	finish   *string
	ord      int32
	inbox    plan.Inbox
}

// runSQL finds what is runnable with the anti-join. Barriers among it are opened in memory and marked,
// and it looks again until it finds none; the rest goes into the ledger.
func (c *cycling) runSQL(ctx context.Context, tx pgx.Tx) error {
	over := map[uuid.UUID]bool{}
	pending := map[backend.Key]bool{} // found before, to be entered at the end
	for {
		all, err := c.runnable(ctx, tx)
		if err != nil {
			return err
		}
		if c.missing != nil {
			return errNewWorkflow
		}
		var barriers []*found
		for _, r := range all {
			key := backend.Key{Instance: r.instance, Run: r.run}
			switch {
			case over[r.instance] || pending[key]:
			case r.finish != nil:
				var end plan.End
				if err := json.Unmarshal([]byte(*r.finish), &end); err != nil {
					return err
				}
				over[r.instance] = true
				if err := c.end(r.instance, &end); err != nil {
					return err
				}
			case r.arrived > r.required:
				over[r.instance] = true
				message := fmt.Sprintf("%s has %d arrivals of %d", r.program.RunName(r.run), r.arrived, r.required)
				if err := c.end(r.instance, &plan.End{Failure: &plan.Failure{Type: "LedgerError", Message: message}}); err != nil {
					return err
				}
			case r.args != nil:
				pending[key] = true
				c.enter(r.program, r.instance, r.run, *r.args)
			default:
				barriers = append(barriers, r)
			}
		}
		if len(barriers) == 0 {
			break
		}
		if err := c.openAll(ctx, tx, barriers, pending); err != nil {
			return err
		}
	}
	c.dropEnded(over)
	return c.write(ctx, tx)
}

// runnable asks the anti-join.
func (c *cycling) runnable(ctx context.Context, tx pgx.Tx) ([]*found, error) {
	rows, err := tx.Query(ctx, runnableSQL, c.shard)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []*found
	for rows.Next() {
		r := &found{ord: int32(len(out))}
		var id [16]byte
		var workflow, node int32
		var path string
		if err := rows.Scan(&id, &workflow, &node, &path, &r.required, &r.arrived, &r.args, &r.finish); err != nil {
			return nil, err
		}
		r.instance, r.run = id, graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}
		if r.program = c.program(workflow); r.program != nil {
			out = append(out, r)
		}
	}
	return out, rows.Err()
}

// openAll reads what the barriers need, lets the core open them, and writes down what follows.
func (c *cycling) openAll(ctx context.Context, tx pgx.Tx, barriers []*found, pending map[backend.Key]bool) error {
	if err := c.read(ctx, tx, barriers); err != nil {
		return err
	}
	var f effects
	var m entries
	for _, r := range barriers {
		pl, err := r.program.Step(plan.Event{Run: r.run, Fired: true}, r.inbox, 0)
		if err != nil {
			pl = plan.Plan{End: &plan.End{Failure: &plan.Failure{Type: "LedgerError", Message: err.Error()}}}
		}
		itself := false
		kept := pl.Enqueues[:0]
		for _, q := range pl.Enqueues {
			if q.Run != r.run {
				kept = append(kept, q)
				continue
			}
			// An action that waited: the run that its barrier opens is its own.
			itself = true
			args, err := assemble(q, pl, r.inbox)
			if err != nil {
				return err
			}
			pending[backend.Key{Instance: r.instance, Run: r.run}] = true
			c.enter(r.program, r.instance, r.run, string(args))
		}
		pl.Enqueues = kept
		if !itself && pl.End == nil {
			m.instance = append(m.instance, r.instance)
			m.node = append(m.node, int32(r.run.Node))
			m.path = append(m.path, string(r.run.Path))
		}
		if pl.End != nil {
			// The row of the output tells the end, and a barrier may be the output itself.
			text, err := encode(pl.End)
			if err != nil {
				return err
			}
			f.arrive(r.instance, graph.Run{Node: output(r.program)}, "end", 0, nil, &text)
			continue
		}
		if err := f.add(r.program, r.instance, sourceOf(r.run), pl, r.inbox); err != nil {
			return err
		}
	}
	batch := &pgx.Batch{}
	f.queue(batch, c.shard)
	if len(m.instance) > 0 {
		batch.Queue(markSQL, c.shard, m.instance, m.node, m.path)
	}
	return tx.SendBatch(ctx, batch).Close()
}

// read fills the inboxes of barriers.
func (c *cycling) read(ctx context.Context, tx pgx.Tx, barriers []*found) error {
	var s slots
	byOrd := map[int32]*plan.Inbox{}
	var g struct {
		ord, variable []int32
		instance      [][16]byte
		path          []string
	}
	for _, r := range barriers {
		byOrd[r.ord] = &r.inbox
		needs := r.program.Needs(plan.Event{Run: r.run, Fired: true})
		s.add(r.ord, r.instance, needs.Slots)
		if needs.Elements {
			g.ord = append(g.ord, r.ord)
			g.variable = append(g.variable, int32(r.program.Graph().Nodes[r.run.Node].Var))
			g.instance = append(g.instance, r.instance)
			g.path = append(g.path, string(r.run.Path))
		}
	}
	batch := &pgx.Batch{}
	if len(s.ord) > 0 {
		batch.Queue(readSQL, c.shard, s.ord, s.instance, s.variable, s.path).Query(func(rows pgx.Rows) error {
			return takeValues(rows, byOrd)
		})
	}
	if len(g.ord) > 0 {
		batch.Queue(gatherSQL, c.shard, g.ord, g.instance, g.variable, g.path).Query(func(rows pgx.Rows) error {
			defer rows.Close()
			for rows.Next() {
				var ord, element int32
				var value []byte
				if err := rows.Scan(&ord, &element, &value); err != nil {
					return err
				}
				byOrd[ord].Elements = append(byOrd[ord].Elements, plan.Element{Index: int(element), Value: value})
			}
			return rows.Err()
		})
	}
	return tx.SendBatch(ctx, batch).Close()
}

// dropEnded takes out what was to be entered for instances that are over.
func (c *cycling) dropEnded(over map[uuid.UUID]bool) {
	old := c.entries
	c.entries = entries{program: old.program}
	for i, id := range old.instance {
		if !over[id] {
			run := graph.Run{Node: graph.NodeID(old.node[i]), Path: graph.Path(old.path[i])}
			c.enter(old.program[backend.Key{Instance: id, Run: run}], id, run, old.args[i])
		}
	}
}

// slots are the parameters of read.sql.
type slots struct {
	ord, variable []int32
	instance      [][16]byte
	path          []string
}

func (s *slots) add(ord int32, instance uuid.UUID, list []plan.Slot) {
	for _, slot := range list {
		s.ord = append(s.ord, ord)
		s.variable = append(s.variable, int32(slot.Var))
		s.instance = append(s.instance, instance)
		s.path = append(s.path, string(slot.Scope))
	}
}

// takeValues puts what was read into inboxes.
func takeValues(rows pgx.Rows, byOrd map[int32]*plan.Inbox) error {
	defer rows.Close()
	for rows.Next() {
		var ord, variable int32
		var path string
		var value []byte
		if err := rows.Scan(&ord, &variable, &path, &value); err != nil {
			return err
		}
		inbox := byOrd[ord]
		if inbox.Values == nil {
			inbox.Values = map[plan.Slot]json.RawMessage{}
		}
		inbox.Values[plan.Slot{Var: graph.VarID(variable), Scope: graph.Path(path)}] = value
	}
	return rows.Err()
}
