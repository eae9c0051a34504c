package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// commit is one transaction that applies events of one shard, and what it found.
type commit struct {
	b     *Backend
	shard int
	grant backend.Grant
	sent  time.Time // before the first message: leases are counted from here on the local clock

	events map[int32]*event     // by ord; barriers are added as they open
	from   map[uuid.UUID]*event // an event of each instance that took place
	next   int32                // the ord of the next barrier
	leased int

	live   map[int32]bool
	moved  map[int32]bool // their row was being changed: to be offered once more
	taken  []*event       // what took place in the last round
	fired  []backend.Key
	ended  []*event
	result backend.Committed
}

// apply commits the events, all that are not stale, in one transaction. It is answered for by
// c.live. An unconfirmed outcome is backend.ErrUnknown; c.live then holds what the server had said
// before it was asked to commit.
func (b *Backend) apply(ctx context.Context, shard int, events []*event, grant backend.Grant) (*commit, error) {
	c := &commit{b: b, shard: shard, grant: grant, sent: time.Now(), events: map[int32]*event{}, from: map[uuid.UUID]*event{}, live: map[int32]bool{}, moved: map[int32]bool{}}
	single := true // one statement, which commits by itself
	for _, e := range events {
		c.events[e.ord] = e
		c.next = max(c.next, e.ord+1)
		p := &e.plan
		single = single && len(p.Arrivals) == 0 && !unsets(p) && (p.End == nil || !clears(e) || e.submission != nil)
	}
	conn, err := b.store.Pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	if single {
		return c, unknown(c.round(ctx, conn, events))
	}
	return c, c.transaction(ctx, conn, events)
}

// unknown marks the error of something that commits when it leaves open whether it did.
func unknown(err error) error {
	var unfit *unfitError
	if postgres.Unconfirmed(err) && !errors.As(err, &unfit) {
		return fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	return err
}

// transaction applies the events and the barriers that they open, and removes what instances leave
// that end. A connection that is given back inside of a transaction is closed by the pool.
func (c *commit) transaction(ctx context.Context, conn *pgxpool.Conn, events []*event) error {
	if err := c.round(ctx, conn, events, "BEGIN"); err != nil {
		return err
	}
	for len(c.fired) > 0 {
		barriers, err := c.open(ctx, conn)
		if err != nil {
			return err
		}
		if err := c.round(ctx, conn, barriers); err != nil {
			return err
		}
	}
	batch := &pgx.Batch{}
	c.unset(batch)
	c.clear(batch)
	batch.Queue("COMMIT")
	return unknown(conn.SendBatch(ctx, batch).Close())
}

// round sends one apply statement, after the given ones, and takes in what it did.
func (c *commit) round(ctx context.Context, conn *pgxpool.Conn, events []*event, before ...string) error {
	var a arrays
	for _, e := range events {
		if err := a.add(e); err != nil {
			return &unfitError{refusedError(e.program, backend.Key{Instance: e.instance, Run: e.run()}, err)}
		}
	}
	batch := &pgx.Batch{}
	for _, sql := range before {
		batch.Queue(sql)
	}
	most := max(c.grant.Max-c.leased, 0)
	batch.Queue(applySQL, a.parameters(c.shard, c.grant, most)...)
	results := conn.SendBatch(ctx, batch)
	err := c.take(results, len(before), events)
	if end := results.Close(); err == nil {
		return end // otherwise it is the same once more
	}
	return err
}

// take reads the rows of one apply statement.
func (c *commit) take(results pgx.BatchResults, before int, events []*event) error {
	for range before {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	enqueues := map[backend.Key]enqueue{}
	for _, e := range events {
		for i := range e.plan.Enqueues {
			enqueues[backend.Key{Instance: e.instance, Run: e.plan.Enqueues[i].Run}] = enqueue{e, &e.plan.Enqueues[i]}
		}
	}
	c.fired, c.taken = c.fired[:0], c.taken[:0]
	for rows.Next() {
		if err := c.row(rows, enqueues); err != nil {
			return err
		}
	}
	return rows.Err()
}

// enqueue is a node run that an event made ready.
type enqueue struct {
	event *event
	run   *plan.Enqueue
}

func (c *commit) row(rows pgx.Rows, enqueues map[backend.Key]enqueue) error {
	var what, path string
	var ord, node int32
	var instance [16]byte
	var id *[16]byte
	var token int64
	if err := rows.Scan(&what, &ord, &id, &node, &path, &token); err != nil {
		return err
	}
	if id != nil {
		instance = *id
	}
	key := backend.Key{Instance: instance, Run: graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}}
	switch what {
	case "live":
		c.live[ord] = true
		c.taken = append(c.taken, c.events[ord])
		c.applied(c.events[ord])
	case "unopened":
		return &unfitError{fmt.Errorf("%w: instance %s, %s: its count is not known, or it was reached before", backend.ErrOverflow, key.Instance, c.from[key.Instance].program.RunName(key.Run))}
	case "fired":
		c.fired = append(c.fired, key)
	case "leased":
		q, ok := enqueues[key]
		if !ok {
			return fmt.Errorf("instance %s: leased a node run that nothing enqueued", key.Instance)
		}
		return c.lease(q, key, token)
	case "queued":
		c.result.More = c.result.More || ord > 0
	case "moved":
		c.moved[ord] = true
	case "ended":
		c.ended = append(c.ended, c.events[ord])
	}
	return nil
}

// applied notes what follows from an event that took place.
func (c *commit) applied(e *event) {
	c.from[e.instance] = e
	if e.submission != nil && e.plan.End != nil {
		c.ended = append(c.ended, e)
	}
	if r := e.plan.Retry; r != nil {
		due := c.sent.Add(r.After)
		if c.result.NextDue.IsZero() || due.Before(c.result.NextDue) {
			c.result.NextDue = due
		}
	}
}

func (c *commit) lease(q enqueue, key backend.Key, token int64) error {
	args, err := backend.AssembleArgs(q.run.Args, q.event.value)
	if err != nil {
		return refusedError(q.event.program, key, err)
	}
	c.leased++
	c.result.Tasks = append(c.result.Tasks, backend.Task{
		Lease:   backend.Lease{Key: key, Token: token},
		Program: q.event.program,
		Action:  q.run.Action,
		Args:    args,
		Attempt: 1,
		Expires: c.sent.Add(c.grant.Lease),
	})
	return nil
}

// open reads what the barriers that have just opened need, and plans them.
func (c *commit) open(ctx context.Context, conn *pgxpool.Conn) ([]*event, error) {
	var barriers []*event
	batch := &pgx.Batch{}
	c.unset(batch)
	var g struct {
		ord, node, variable []int32
		instance            [][16]byte
		path                []string
	}
	var r reads
	for _, key := range c.fired {
		from := c.from[key.Instance] // all events of an instance have its program
		e := &event{ord: c.next, instance: key.Instance, program: from.program, workflow: from.workflow, barrier: true, token: from.token}
		c.next++
		c.events[e.ord] = e
		barriers = append(barriers, e)
		needs := e.program.Needs(plan.Event{Run: key.Run, Fired: true})
		if needs.Elements {
			g.ord = append(g.ord, e.ord)
			g.instance = append(g.instance, e.instance)
			g.node = append(g.node, int32(key.Run.Node))
			g.variable = append(g.variable, int32(e.program.Graph().Nodes[key.Run.Node].Var))
			g.path = append(g.path, string(key.Run.Path))
		}
		r.add(e, needs.Slots)
	}
	if len(g.ord) > 0 {
		batch.Queue(gatherSQL, c.shard, g.ord, g.instance, g.node, g.variable, g.path).Query(c.elements)
	}
	if len(r.ord) > 0 {
		batch.Queue(readSQL, c.shard, r.ord, r.instance, r.variable, r.path).Query(func(rows pgx.Rows) error {
			return r.take(rows, c.events)
		})
	}
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	for i, e := range barriers {
		var err error
		if e.plan, err = e.program.Step(plan.Event{Run: c.fired[i].Run, Fired: true}, e.inbox, 0); err != nil {
			return nil, &unfitError{refusedError(e.program, c.fired[i], err)}
		}
	}
	return barriers, nil
}

// unfitError is an event that cannot be committed whatever is done: the store and its program disagree.
type unfitError struct{ error }

func (e *unfitError) Unwrap() error { return e.error }

func (c *commit) elements(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		var ord, element int32
		var value []byte
		if err := rows.Scan(&ord, &element, &value); err != nil {
			return err
		}
		e := c.events[ord]
		e.inbox.Elements = append(e.inbox.Elements, plan.Element{Index: int(element), Value: value})
	}
	return rows.Err()
}

// unset takes values away for what took place in the last round.
func (c *commit) unset(batch *pgx.Batch) {
	var instance [][16]byte
	var variable []int32
	var path []string
	slices.SortFunc(c.taken, func(a, b *event) int { return int(a.ord - b.ord) })
	for _, e := range c.taken {
		for _, w := range e.plan.Writes {
			if w.Value == nil {
				instance = append(instance, e.instance)
				variable = append(variable, int32(w.Slot.Var))
				path = append(path, string(w.Slot.Scope))
			}
		}
	}
	if len(instance) > 0 {
		batch.Queue(unsetSQL, c.shard, instance, variable, path)
	}
}

func unsets(p *plan.Plan) bool {
	for _, w := range p.Writes {
		if w.Value == nil {
			return true
		}
	}
	return false
}

// clear removes the rows of instances that this transaction ended, where nothing else can add any.
func (c *commit) clear(batch *pgx.Batch) {
	var ids [][16]byte
	for _, e := range c.ended {
		if clears(e) && e.submission == nil {
			ids = append(ids, e.instance)
		}
	}
	if len(ids) > 0 {
		batch.Queue(clearQueueSQL, c.shard, ids)
		batch.Queue(clearReadinessSQL, c.shard, ids)
		batch.Queue(clearInboxSQL, c.shard, ids)
	}
}
