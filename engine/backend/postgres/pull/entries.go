package pull

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

// program returns a workflow. It returns nil if this process cannot read it, and then skips its instances; or if it must be read
// first, which it notes.
func (c *scanTx) program(number int32) *plan.Program {
	if p, tried := c.programs.read[number]; tried {
		return p
	}
	p := c.b.store.CachedProgram(number)
	if p == nil {
		put(&c.missing, number, true)
	}
	return p
}

func (c *scanTx) end(id uuid.UUID, end *plan.End) {
	c.endedInstances[id] = true
	c.ends = append(c.ends, pgstore.EndedInstance(id, end))
}

// endCorrupt ends an instance that the core cannot continue, so that others of its shard do.
func (c *scanTx) endCorrupt(id uuid.UUID, err error) {
	if !c.endedInstances[id] {
		c.endedInstances[id] = true
		c.ends = append(c.ends, corruptEnd(id, err))
	}
}

func corruptEnd(id uuid.UUID, err error) backend.Instance {
	return backend.Instance{ID: id, Status: backend.Failed, Failure: &plan.Failure{Type: "LedgerError", Message: err.Error()}}
}

// allot chooses the runnable runs to lease at once: the first, as far as the grant allows.
func (c *scanTx) allot() {
	c.entries = slices.DeleteFunc(c.entries, func(e entry) bool { return c.endedInstances[e.key.Instance] })
	room := c.grant.Max
	for i := range c.entries {
		e := &c.entries[i]
		if e.leased = e.wait == 0 && room > 0; e.leased {
			room--
		}
	}
}

func (c *scanTx) queueEntries(batch *pgx.Batch) {
	c.entries = slices.DeleteFunc(c.entries, func(e entry) bool { return c.endedInstances[e.key.Instance] })
	if len(c.entries) == 0 {
		return
	}
	sent := c.b.store.Clock.Now()
	var r runs
	var args []*string
	var waits []int64
	var leased []bool
	for _, e := range c.entries {
		r.add(e.key)
		args = append(args, e.storedArgs)
		waits = append(waits, e.wait.Microseconds())
		leased = append(leased, e.leased)
		switch {
		case e.wait > 0:
			c.out.DueAt(sent.Add(e.wait))
		case !e.leased:
			c.out.More = true
		}
	}
	batch.Queue(enterSQL, c.shard, r.instance, r.node, r.path, args, waits, leased, c.grant.Owner, c.grant.Lease.Microseconds()).Query(func(rows pgx.Rows) error {
		return c.entered(rows, sent)
	})
}

func (c *scanTx) entered(rows pgx.Rows, sent time.Time) error {
	entries := make(map[backend.Key]*entry, len(c.entries))
	for i := range c.entries {
		entries[c.entries[i].key] = &c.entries[i]
	}
	var instance [16]byte
	var node int32
	var path string
	var token int64
	_, err := pgx.ForEachRow(rows, []any{&instance, &node, &path, &token}, func() error {
		e := entries[keyOf(instance, node, path)]
		if e == nil {
			return fmt.Errorf("instance %s: entered a node run that was not runnable", uuid.UUID(instance))
		}
		c.out.Tasks = append(c.out.Tasks, backend.Task{
			Lease: backend.Lease{Key: e.key, Token: token}, Program: e.program, Attempt: 1, Deliveries: 1, Expires: sent.Add(c.grant.Lease),
			Action: actionOf(e.program, e.key.Run), Args: e.task,
		})
		return nil
	})
	return err
}

func actionOf(p *plan.Program, run graph.Run) string { return p.Graph().Nodes[run.Node].Action }

func keyOf(instance [16]byte, node int32, path string) backend.Key {
	return backend.Key{Instance: instance, Run: graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}}
}

// queueEnds queues the statements that end instances and delete their rows. It empties c.ends.
func (c *scanTx) queueEnds(batch *pgx.Batch) error {
	if len(c.ends) == 0 {
		return nil
	}
	ends := c.ends
	c.ends = nil
	slices.SortFunc(ends, func(a, b backend.Instance) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	var ids, open [][16]byte
	var statuses []string
	var results, failures []*string
	byID := map[uuid.UUID]backend.Instance{}
	for _, in := range ends {
		status, result, failure, err := pgstore.EndColumns(in)
		if err != nil {
			return err
		}
		ids, statuses = append(ids, in.ID), append(statuses, status)
		results, failures = append(results, pgstore.NullableText(result)), append(failures, pgstore.NullableText(failure))
		byID[in.ID] = in
		if !c.notOpen[in.ID] {
			open = append(open, in.ID)
		}
	}
	batch.Queue(endSQL, c.shard, ids, statuses, results, failures).Query(func(rows pgx.Rows) error {
		var id [16]byte
		_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
			c.out.Ended = append(c.out.Ended, byID[id])
			return nil
		})
		return err
	})
	if len(open) > 0 {
		batch.Queue(lockOpenSQL, c.shard, open)
	}
	batch.Queue(endLedgerSQL, c.shard, ids)
	if c.b.scan == ScanSQL {
		batch.Queue(endArrivalsSQL, c.shard, ids)
		batch.Queue(endInboxSQL, c.shard, ids)
	}
	return nil
}
