package pull

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// span is the part of a shard's instances that a cycle looks at, by their ids.
type span struct{ first, last uuid.UUID }

// everything is all instances of a shard.
var everything = span{last: uuid.Max}

// cycle rescans the running instances of a shard, enters what has become runnable, and then claims what
// is due if that is wanted. An instance with data that the server refuses is ended by itself; the cycle
// is then made again without it.
func (b *Backend) cycle(ctx context.Context, shard int, grant backend.Grant, claim bool) (backend.Committed, error) {
	c, err := b.cycleOver(ctx, shard, grant, everything, claim)
	switch {
	case err == nil:
		return c.out, nil
	case !postgres.Poisoned(err):
		return backend.Committed{}, err
	}
	ended, err := b.isolate(ctx, shard, c.met, err)
	if err != nil {
		return backend.Committed{}, err
	}
	if c, err = b.cycleOver(ctx, shard, grant, everything, claim); err != nil {
		return backend.Committed{}, err
	}
	c.out.Ended = append(ended, c.out.Ended...)
	c.out.More = true // what was entered meanwhile is leased to nobody
	return c.out, nil
}

// isolate makes cycles over ever smaller parts of instances, one of which makes them fail, and ends that.
func (b *Backend) isolate(ctx context.Context, shard int, ids []uuid.UUID, because error) ([]backend.Instance, error) {
	switch len(ids) {
	case 0:
		return nil, because
	case 1:
		return b.endAll(ctx, shard, []backend.Instance{spoilt(ids[0], because)})
	}
	var out []backend.Instance
	for _, part := range [][]uuid.UUID{ids[:len(ids)/2], ids[len(ids)/2:]} {
		c, err := b.cycleOver(ctx, shard, backend.Grant{}, span{part[0], part[len(part)-1]}, false)
		ended := c.out.Ended
		if err != nil && postgres.Poisoned(err) {
			ended, err = b.isolate(ctx, shard, part, err)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, ended...)
	}
	return out, nil
}

// cycleOver makes one cycle. It is repeated where the server gave it up for another; repeating it is
// always right.
func (b *Backend) cycleOver(ctx context.Context, shard int, grant backend.Grant, over span, claim bool) (*cycling, error) {
	read := map[int32]*plan.Program{}
	for try := 1; ; {
		c := &cycling{b: b, shard: shard, grant: grant, span: over, claim: claim, read: read, over: map[uuid.UUID]bool{}, replays: map[uuid.UUID]*replay{}}
		err := pgx.BeginFunc(ctx, b.store.Pool, func(tx pgx.Tx) error { return c.run(ctx, tx) })
		switch {
		case errors.Is(err, errNewWorkflow):
			// It is read outside of the transaction: a cycle must not wait for a second connection while
			// it holds one. Every try knows more of them.
			for number := range c.missing {
				read[number], _ = b.store.Program(ctx, number)
			}
		case postgres.Contended(err) && try < commitTries:
			try++
		default:
			return c, err
		}
	}
}

// errNewWorkflow stops a cycle that met a workflow which must be read first.
var errNewWorkflow = errors.New("workflow not read yet")

// cycling is one cycle.
type cycling struct {
	b     *Backend
	shard int
	grant backend.Grant
	span  span
	claim bool
	read  map[int32]*plan.Program // workflows that were read for it; nil: this process cannot, and their instances rest

	missing map[int32]bool // workflows to be read before another try
	met     []uuid.UUID    // instances that it may change, in order
	replays map[uuid.UUID]*replay
	over    map[uuid.UUID]bool // they have ended in this cycle

	entries []entry
	gone    runs // uncompleted rows of runs that were called off
	ends    []backend.Instance
	tasks   []handed
	out     backend.Committed
}

// entry is a node run for the ledger.
type entry struct {
	key     backend.Key
	program *plan.Program
	args    []plan.Arg
	kept    *string // args as the ledger keeps them, where nothing else does
	wait    time.Duration
}

// handed is a task whose arguments are still to be put together.
type handed struct {
	task backend.Task
	args []plan.Arg
}

// runs are node runs as parameters of a statement.
type runs struct {
	instance [][16]byte
	node     []int32
	path     []string
}

func (r *runs) add(key backend.Key) {
	r.instance = append(r.instance, key.Instance)
	r.node = append(r.node, int32(key.Run.Node))
	r.path = append(r.path, string(key.Run.Path))
}

func (c *cycling) run(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, lockCycleSQL, c.shard); err != nil {
		return err
	}
	find := c.findApp
	if c.b.scan == ScanSQL {
		find = c.findSQL
	}
	if err := find(ctx, tx); err != nil {
		return err
	}
	if c.missing != nil {
		return errNewWorkflow
	}
	if err := c.write(ctx, tx); err != nil {
		return err
	}
	if c.claim {
		if err := c.take(ctx, tx); err != nil {
			return err
		}
	}
	return c.hand(ctx, tx)
}

// program gives a workflow. It gives nil where that must be read first, which is noted, and where this
// process cannot read it: then its instances rest until a process that can goes on with them.
func (c *cycling) program(number int32) *plan.Program {
	if p, tried := c.read[number]; tried {
		return p
	}
	p := c.b.store.Known(number)
	if p == nil {
		put(&c.missing, number, true)
	}
	return p
}

// meet notes an instance that runs.
func (c *cycling) meet(id uuid.UUID) {
	if len(c.met) == 0 || c.met[len(c.met)-1] != id {
		c.met = append(c.met, id)
	}
}

// end notes that an instance is over.
func (c *cycling) end(id uuid.UUID, end *plan.End) {
	in := backend.Instance{ID: id, Status: backend.Completed, Result: end.Result}
	if end.Failure != nil {
		in = backend.Instance{ID: id, Status: backend.Failed, Failure: end.Failure}
	}
	c.over[id] = true
	c.ends = append(c.ends, in)
}

// spoil ends an instance that the core cannot go on with: it must not stop the others of its shard.
func (c *cycling) spoil(id uuid.UUID, err error) {
	if !c.over[id] {
		c.over[id] = true
		c.ends = append(c.ends, spoilt(id, err))
	}
}

// spoilt is the end of an instance that cannot be gone on with.
func spoilt(id uuid.UUID, err error) backend.Instance {
	return backend.Instance{ID: id, Status: backend.Failed, Failure: &plan.Failure{Type: "LedgerError", Message: err.Error()}}
}

// write fences what was called off, enters what is runnable and ends what is over.
func (c *cycling) write(ctx context.Context, tx pgx.Tx) error {
	batch := &pgx.Batch{}
	if r := &c.gone; len(r.instance) > 0 {
		batch.Queue(dropSQL, c.shard, r.instance, r.node, r.path)
	}
	c.queueEntries(batch)
	if err := c.queueEnds(batch); err != nil {
		return err
	}
	if batch.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, batch).Close()
}

// queueEntries adds the statement that enters what is runnable, the first of it leased.
func (c *cycling) queueEntries(batch *pgx.Batch) {
	c.entries = slices.DeleteFunc(c.entries, func(e entry) bool { return c.over[e.key.Instance] })
	if len(c.entries) == 0 {
		return
	}
	sent := time.Now()
	var r runs
	var args []*string
	var waits []int64
	var leased []bool
	room := c.grant.Max
	for _, e := range c.entries {
		r.add(e.key)
		args = append(args, e.kept)
		waits = append(waits, micros(e.wait))
		leased = append(leased, e.wait == 0 && room > 0)
		switch {
		case e.wait > 0:
			c.dueAt(sent.Add(e.wait))
		case room > 0:
			room--
		default:
			c.out.More = true
		}
	}
	batch.Queue(enterSQL, c.shard, r.instance, r.node, r.path, args, waits, leased, c.grant.Owner, micros(c.grant.Lease)).Query(func(rows pgx.Rows) error {
		return c.entered(rows, sent)
	})
}

// entered makes tasks of the rows that were leased at once.
func (c *cycling) entered(rows pgx.Rows, sent time.Time) error {
	entries := map[backend.Key]*entry{}
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
		c.tasks = append(c.tasks, handed{backend.Task{
			Lease: backend.Lease{Key: e.key, Token: token}, Program: e.program, Attempt: 1, Expires: sent.Add(c.grant.Lease),
		}, e.args})
		return nil
	})
	return err
}

func keyOf(instance [16]byte, node int32, path string) backend.Key {
	return backend.Key{Instance: instance, Run: graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}}
}

// dueAt notes when something will be due.
func (c *cycling) dueAt(at time.Time) { c.out.NextDue = earlier(c.out.NextDue, at) }

// earlier gives the earlier of two times, of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// queueEnds adds the statements that end instances and take all there is of them, and empties c.ends.
func (c *cycling) queueEnds(batch *pgx.Batch) error {
	if len(c.ends) == 0 {
		return nil
	}
	ends := c.ends
	c.ends = nil
	slices.SortFunc(ends, func(a, b backend.Instance) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	var ids [][16]byte
	var statuses []string
	var results, failures []*string
	byID := map[uuid.UUID]backend.Instance{}
	for _, in := range ends {
		result, failure, err := columns(in)
		if err != nil {
			return err
		}
		ids, statuses = append(ids, in.ID), append(statuses, string(in.Status))
		results, failures = append(results, result), append(failures, failure)
		byID[in.ID] = in
	}
	batch.Queue(endSQL, c.shard, ids, statuses, results, failures).Query(func(rows pgx.Rows) error {
		var id [16]byte
		_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
			c.out.Ended = append(c.out.Ended, byID[id])
			return nil
		})
		return err
	})
	batch.Queue(endLedgerSQL, c.shard, ids)
	if c.b.scan == ScanSQL {
		batch.Queue(endArrivalsSQL, c.shard, ids)
		batch.Queue(endInboxSQL, c.shard, ids)
	}
	return nil
}

// columns gives an instance's result or failure as its row keeps it.
func columns(in backend.Instance) (result, failure *string, err error) {
	if in.Failure == nil {
		text := string(in.Result)
		return &text, nil, nil
	}
	data, err := json.Marshal(in.Failure)
	text := string(data)
	return nil, &text, err
}
