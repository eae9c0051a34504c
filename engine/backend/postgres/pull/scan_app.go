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
	"pulley/engine/graph"
	"pulley/engine/plan"
)

type scanned struct {
	id          uuid.UUID
	workflow    int32
	input       []byte
	completions []completion
	waiting     []graph.Run // not completed
	broken      error       // a corrupt row
}

func (c *scanTx) findApp(ctx context.Context, scanned bool) error {
	if !scanned {
		batch := &pgx.Batch{}
		c.queueScan(batch, c.ids)
		if err := c.conn.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
	}
	for _, in := range c.found {
		if in == nil {
			continue
		}
		if p := c.program(in.workflow); p != nil {
			c.judge(in, p)
		}
	}
	return nil
}

func (c *scanTx) queueScan(batch *pgx.Batch, ids [][16]byte) {
	found := make([]*scanned, len(ids))
	c.found = found
	batch.Queue(inputsSQL, c.shard, ids).Query(func(rows pgx.Rows) error {
		var ord, workflow int32
		var input []byte
		_, err := pgx.ForEachRow(rows, []any{&ord, &workflow, &input}, func() error {
			found[ord-1] = &scanned{id: ids[ord-1], workflow: workflow, input: slices.Clone(input)}
			return nil
		})
		return err
	})
	batch.Queue(scanSQL, c.shard, ids).Query(func(rows pgx.Rows) error {
		var result, failure []byte
		var ord, node int32
		var path string
		var done *int64
		_, err := pgx.ForEachRow(rows, []any{&ord, &node, &path, &done, &result, &failure}, func() error {
			if in := found[ord-1]; in != nil {
				in.add(graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}, done, result, failure)
			}
			return nil
		})
		return err
	})
}

func (in *scanned) add(run graph.Run, done *int64, result, failure []byte) {
	if done == nil {
		in.waiting = append(in.waiting, run)
		return
	}
	c := completion{run: run, done: *done, result: slices.Clone(result)}
	if failure != nil {
		c.failure = &plan.Failure{}
		if err := json.Unmarshal(failure, c.failure); err != nil {
			in.broken = fmt.Errorf("the failure of node %d at %q in the ledger: %w", run.Node, run.Path, err)
		}
	}
	in.completions = append(in.completions, c)
}

// judge replays an instance. It notes runnable runs that the ledger lacks, and cancelled runs that it has.
func (c *scanTx) judge(in *scanned, p *plan.Program) {
	if in.broken != nil {
		c.endCorrupt(in.id, in.broken)
		return
	}
	r, err := rebuild(in.id, p, in.input, in.completions)
	if err != nil {
		c.endCorrupt(in.id, err)
		return
	}
	c.ignore(in.id, r.ignored)
	if r.end != nil {
		if len(in.waiting) == 0 {
			put(&c.notOpen, in.id, true)
		}
		c.end(in.id, r.end)
		return
	}
	c.replays[in.id] = r
	slices.SortFunc(in.waiting, func(a, b graph.Run) int { return backend.Key{Run: a}.Compare(backend.Key{Run: b}) })
	known := make(map[graph.Run]bool, len(in.waiting))
	for _, run := range in.waiting {
		known[run] = true
		if _, open := r.open(run); !open {
			c.cancelledRows.add(backend.Key{Instance: in.id, Run: run})
		}
	}
	for _, q := range r.inst.RunsInOrder() {
		if !known[q.Key] { // Due is the wait, since the replay's clock is zero
			c.entries = append(c.entries, entry{key: backend.Key{Instance: in.id, Run: q.Key}, program: p, args: q.Args, wait: time.Duration(q.Due)})
		}
	}
}

// ignore makes completions of this transaction stale that the replay ignored: an earlier one cancelled them or ended their
// instance.
func (c *scanTx) ignore(id uuid.UUID, runs []graph.Run) {
	for _, e := range c.events {
		if e.lease.Key.Instance == id && slices.Contains(runs, e.lease.Key.Run) && c.applied[e.ord] {
			put(&c.ignored, e.ord, true)
			c.cancelledRows.add(e.lease.Key)
		}
	}
}
