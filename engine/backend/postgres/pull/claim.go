package pull

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

// Claim implements backend.Backend. If something may have been committed without a scan, it scans all running instances. In
// scan=app, replays provide the arguments of claimed runs.
func (b *Backend) Claim(ctx context.Context, shard int, grant backend.Grant) (backend.Committed, error) {
	if err := b.store.Check(shard, grant); err != nil {
		return backend.Committed{}, err
	}
	ids := [][16]byte{}
	missed := b.missed[shard].Swap(false)
	if missed {
		ids = nil
	}
	out, err := b.scanAndClaim(ctx, shard, grant, ids, true)
	if err != nil && missed {
		b.missed[shard].Store(true)
	}
	return out, postgres.Explain(err)
}

type claimed struct {
	key      backend.Key
	token    int64
	attempt  int
	delivery int
	workflow int32
	args     []byte
}

func (c *scanTx) leaseDue(ctx context.Context) error {
	sent := c.b.store.Clock.Now()
	var rows []claimed
	unread := []int32{} // not null, which would match nothing
	for number, p := range c.programs.read {
		if p == nil {
			unread = append(unread, number)
		}
	}
	most := c.grant.Max
	for i := range c.entries {
		if c.entries[i].leased {
			most--
		}
	}
	batch := &pgx.Batch{}
	batch.Queue(claimSQL, c.shard, most, c.grant.Owner, c.grant.Lease.Microseconds(), unread).Query(func(r pgx.Rows) error {
		var err error
		rows, err = pgx.CollectRows(r, scanClaimed)
		return err
	})
	batch.Queue(nextDueSQL, c.shard, unread).Query(func(r pgx.Rows) error {
		us, err := pgx.CollectRows(r, pgx.RowTo[int64])
		for _, us := range us {
			c.out.NextDue = sent.Add(time.Duration(max(us, 0)) * time.Microsecond)
			c.out.More = us <= 0
		}
		return err
	})
	if err := c.conn.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if c.b.scan == ScanApp {
		if err := c.replayAlso(ctx, rows); err != nil {
			return err
		}
	}
	for _, r := range rows {
		p := c.program(r.workflow)
		if p == nil {
			continue
		}
		args, called, err := c.called(r)
		if err != nil {
			c.endCorrupt(r.key.Instance, err)
		}
		if err != nil || !called {
			continue
		}
		c.tasks = append(c.tasks, handed{backend.Task{
			Lease: backend.Lease{Key: r.key, Token: r.token}, Program: p, Action: actionOf(p, r.key.Run), Attempt: r.attempt, Deliveries: r.delivery, Expires: sent.Add(c.grant.Lease),
		}, args})
	}
	return nil
}

func (c *scanTx) replayAlso(ctx context.Context, rows []claimed) error {
	var ids [][16]byte
	for _, r := range rows {
		if id := r.key.Instance; c.replays[id] == nil && !c.endedInstances[id] {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	batch := &pgx.Batch{}
	c.queueScan(batch, sorted(ids))
	if err := c.conn.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	for _, in := range c.found {
		if in == nil {
			continue
		}
		p, err := c.program(in.workflow), in.broken
		if p == nil {
			continue
		}
		if err == nil {
			c.replays[in.id], err = rebuild(in.id, p, in.input, in.completions)
		}
		if err != nil {
			c.endCorrupt(in.id, err)
		}
	}
	return nil
}

func scanClaimed(row pgx.CollectableRow) (claimed, error) {
	var r claimed
	var instance [16]byte
	var node int32
	var path string
	err := row.Scan(&instance, &node, &path, &r.token, &r.attempt, &r.workflow, &r.args, &r.delivery)
	r.key = keyOf(instance, node, path)
	return r, err
}

// called returns a claimed run's arguments: from the replay (scan=app), or as stored (scan=sql). A run that the replay does not
// have was cancelled.
func (c *scanTx) called(r claimed) (args []plan.Arg, called bool, err error) {
	if c.b.scan == ScanSQL {
		args, err = backend.DecodeArgs(r.args)
		return args, err == nil, err
	}
	in := c.replays[r.key.Instance]
	if in == nil {
		return nil, false, nil
	}
	q, called := in.open(r.key.Run)
	if !called {
		return nil, false, nil
	}
	return q.Args, true, nil
}

// assemble assembles the arguments of leased runs. If that fails, it ends the instance.
func (c *scanTx) assemble(ctx context.Context) error {
	var all []*assembly
	for i := range c.entries {
		if e := &c.entries[i]; e.leased {
			all = append(all, &assembly{id: e.key.Instance, args: e.args, to: &e.task})
		}
	}
	for i := range c.tasks {
		h := &c.tasks[i]
		all = append(all, &assembly{id: h.task.Lease.Key.Instance, args: h.args, to: &h.task.Args})
	}
	if c.b.scan == ScanSQL {
		var wanted pgstore.Keys
		for i, a := range all {
			wanted.AddSlots(int32(i), a.id, backend.Refs(a.args))
		}
		if err := read(ctx, c.conn, c.shard, &wanted, func(ord int32) *plan.Inbox { return &all[ord].inbox }); err != nil {
			return err
		}
	}
	for _, a := range all {
		value := a.slot
		if c.b.scan == ScanApp {
			value = c.replays[a.id].inst.Value
		}
		var err error
		if *a.to, err = backend.AssembleArgs(a.args, value); err != nil {
			c.endCorrupt(a.id, err)
		}
	}
	return nil
}

type assembly struct {
	id    uuid.UUID
	args  []plan.Arg
	inbox plan.Inbox
	to    *json.RawMessage
}

func (a *assembly) slot(s plan.Slot) (json.RawMessage, bool) {
	return (&plan.Plan{}).Value(s, &a.inbox)
}

func sorted(ids [][16]byte) [][16]byte {
	out := slices.Clone(ids)
	slices.SortFunc(out, func(a, b [16]byte) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(out)
}
