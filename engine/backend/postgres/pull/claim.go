package pull

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
)

// Claim implements backend.Backend: a cycle, and in its transaction what is due, so that the cycle's
// replays can say what that is called with.
func (b *Backend) Claim(ctx context.Context, shard int, grant backend.Grant) (backend.Committed, error) {
	if err := b.check(shard, grant); err != nil {
		return backend.Committed{}, err
	}
	out, err := b.cycle(ctx, shard, grant, true)
	return out, postgres.Explain(err)
}

// claimed is a row that claim.sql gave.
type claimed struct {
	key      backend.Key
	token    int64
	attempt  int
	workflow int32
	args     []byte
}

// take leases what is due, as far as there is room.
func (c *cycling) take(ctx context.Context, tx pgx.Tx) error {
	sent := time.Now()
	var rows []claimed
	unread := []int32{} // not null, which would be unlike none
	for number, p := range c.read {
		if p == nil {
			unread = append(unread, number)
		}
	}
	batch := &pgx.Batch{}
	most := max(c.grant.Max-len(c.tasks), 0)
	batch.Queue(claimSQL, c.shard, most, c.grant.Owner, micros(c.grant.Lease), unread).Query(func(r pgx.Rows) error {
		var err error
		rows, err = pgx.CollectRows(r, scanClaimed)
		return err
	})
	batch.Queue(nextDueSQL, c.shard, unread).Query(func(r pgx.Rows) error {
		us, err := pgx.CollectRows(r, pgx.RowTo[int64])
		c.out.More = false
		for _, us := range us {
			c.out.NextDue = sent.Add(time.Duration(max(us, 0)) * time.Microsecond)
			c.out.More = us <= 0
		}
		return err
	})
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	for _, r := range rows {
		p := c.program(r.workflow)
		if p == nil {
			continue
		}
		args, err := c.called(p, r)
		if err != nil {
			c.spoil(r.key.Instance, err)
			continue
		}
		c.tasks = append(c.tasks, handed{backend.Task{
			Lease: backend.Lease{Key: r.key, Token: r.token}, Program: p, Attempt: r.attempt, Expires: sent.Add(c.grant.Lease),
		}, args})
	}
	if c.missing != nil {
		return errNewWorkflow
	}
	return nil
}

func scanClaimed(row pgx.CollectableRow) (claimed, error) {
	var r claimed
	var instance [16]byte
	var node int32
	var path string
	err := row.Scan(&instance, &node, &path, &r.token, &r.attempt, &r.workflow, &r.args)
	r.key = keyOf(instance, node, path)
	return r, err
}

// called gives what a claimed row is called with: in scan=app what the replay says, in scan=sql what was
// written down.
func (c *cycling) called(p *plan.Program, r claimed) ([]plan.Arg, error) {
	if c.b.scan == ScanSQL {
		return backend.DecodeArgs(r.args)
	}
	if in := c.replays[r.key.Instance]; in != nil {
		if q, ok := in.open(r.key.Run); ok {
			return q.Args, nil
		}
	}
	return nil, errors.New(p.RunName(r.key.Run) + " stands in the ledger and nothing leads to it")
}

// hand puts the arguments of tasks together. Where that fails, the instance is ended.
func (c *cycling) hand(ctx context.Context, tx pgx.Tx) error {
	read, err := c.reader(ctx, tx)
	if err != nil {
		return err
	}
	for i := range c.tasks {
		t := &c.tasks[i].task
		id := t.Lease.Key.Instance
		t.Action = t.Program.Graph().Nodes[t.Lease.Key.Run.Node].Action
		t.Args, err = backend.AssembleArgs(c.tasks[i].args, func(s plan.Slot) (json.RawMessage, bool) { return read(i, id, s) })
		if err != nil {
			c.spoil(id, err)
		}
	}
	for _, h := range c.tasks {
		if !c.over[h.task.Lease.Key.Instance] {
			c.out.Tasks = append(c.out.Tasks, h.task)
		}
	}
	batch := &pgx.Batch{}
	if err := c.queueEnds(batch); err != nil || batch.Len() == 0 {
		return err
	}
	return tx.SendBatch(ctx, batch).Close()
}

// reader gives how the values are read that the i-th task's arguments refer to.
func (c *cycling) reader(ctx context.Context, tx pgx.Tx) (func(i int, id uuid.UUID, s plan.Slot) (json.RawMessage, bool), error) {
	if c.b.scan == ScanApp {
		return func(_ int, id uuid.UUID, s plan.Slot) (json.RawMessage, bool) { return c.replays[id].slot(s) }, nil
	}
	var wanted slots
	inboxes := make([]plan.Inbox, len(c.tasks))
	for i, h := range c.tasks {
		wanted.add(int32(i), h.task.Lease.Key.Instance, backend.Refs(h.args))
	}
	if err := wanted.read(ctx, tx, c.shard, func(ord int32) *plan.Inbox { return &inboxes[ord] }); err != nil {
		return nil, err
	}
	return func(i int, _ uuid.UUID, s plan.Slot) (json.RawMessage, bool) {
		base, ok := inboxes[i].Values[s]
		whole, err := plan.JoinAppended(base, inboxes[i].Appended[s])
		return whole, ok && err == nil
	}, nil
}
