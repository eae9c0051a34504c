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

	events map[int32]*event     // by ord; runs that go on are added as they do
	from   map[uuid.UUID]*event // an event of each instance that took place
	next   int32                // the ord of the next run that goes on
	leased int

	live    map[int32]bool
	moved   map[int32]bool // their row was being changed: to be offered once more
	taken   []*event       // what took place in the last round
	reached []reached      // barriers that something arrived at in the last round
	goOn    []backend.Key  // runs that go on because of the last round
	over    []*event       // what took place and clears something

	contested []span // what is to be locked first
	ended     []*event
	result    backend.Committed
}

// reached is how far a barrier has come.
type reached struct {
	key              backend.Key
	required, counts int
}

// apply commits the events, all that are not stale, in one transaction. It is answered for by
// c.live. An unconfirmed outcome is backend.ErrUnknown; c.live then holds what the server had said
// before it was asked to commit.
func (b *Backend) apply(ctx context.Context, shard int, events []*event, grant backend.Grant, contested []span) (*commit, error) {
	c := &commit{b: b, contested: contested, shard: shard, grant: grant, sent: time.Now(), events: map[int32]*event{}, from: map[uuid.UUID]*event{}, live: map[int32]bool{}, moved: map[int32]bool{}}
	single := true // one round trip, which commits by itself
	for _, e := range events {
		c.events[e.ord] = e
		c.next = max(c.next, e.ord+1)
		p := &e.plan
		single = single && len(p.Arrivals) == 0 && len(p.Resumes) == 0 && !callsOff(p) && (p.End == nil || !takesAll(e) || e.submission != nil)
	}
	conn, err := b.store.Pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	if single {
		batch := &pgx.Batch{}
		c.unset(batch, events, false)
		c.clear(batch, events, false)
		return c, unknown(c.round(ctx, conn, events, "", batch))
	}
	err = c.transaction(ctx, conn, events)
	if postgres.Contended(err) || errors.Is(err, errCallOff) { // it will be tried again, at best on this connection
		_, _ = conn.Exec(ctx, "ROLLBACK")
	}
	return c, err
}

// unknown marks the error of something that commits when it leaves open whether it did.
func unknown(err error) error {
	var unfit *unfitError
	if postgres.Unconfirmed(err) && !errors.As(err, &unfit) {
		return fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	return err
}

// transaction applies the events and the runs that go on because of them, and removes what is over. A
// connection that is given back inside of a transaction is closed by the pool.
func (c *commit) transaction(ctx context.Context, conn *pgxpool.Conn, events []*event) error {
	begin := "BEGIN"
	begun, err := c.callOff(ctx, conn, events)
	if begun {
		begin = ""
	}
	if err == nil {
		err = c.round(ctx, conn, events, begin, nil)
	}
	for err == nil && len(c.goOn) > 0 {
		if events, err = c.open(ctx, conn); err == nil {
			err = c.callOffNext(ctx, conn, events)
		}
		if err == nil {
			err = c.round(ctx, conn, events, "", nil)
		}
	}
	if err != nil {
		return err
	}
	c.withdraw()
	batch := &pgx.Batch{}
	c.unset(batch, c.taken, true)
	c.clear(batch, c.over, true)
	c.end(batch)
	batch.Queue("COMMIT")
	return unknown(conn.SendBatch(ctx, batch).Close())
}

// round sends one apply statement, after one that begins if there is one, before those of a batch if there
// is one, and takes in what it did.
func (c *commit) round(ctx context.Context, conn *pgxpool.Conn, events []*event, begin string, after *pgx.Batch) error {
	var a arrays
	for _, e := range events {
		if err := a.add(e); err != nil {
			return &unfitError{refusedError(e.program, e.key(), err)}
		}
	}
	batch := &pgx.Batch{}
	if begin != "" {
		batch.Queue(begin)
	}
	most := max(c.grant.Max-c.leased, 0)
	batch.Queue(applySQL, a.parameters(c.shard, c.grant, most)...).Query(func(rows pgx.Rows) error { return c.take(rows, events) })
	if after != nil {
		batch.QueuedQueries = append(batch.QueuedQueries, after.QueuedQueries...)
	}
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	c.follow()
	return nil
}

// take reads the rows of one apply statement.
func (c *commit) take(rows pgx.Rows, events []*event) error {
	defer rows.Close()
	enqueues := map[backend.Key]enqueue{}
	for _, e := range events {
		for i := range e.plan.Enqueues {
			enqueues[backend.Key{Instance: e.instance, Run: e.plan.Enqueues[i].Run}] = enqueue{e, &e.plan.Enqueues[i]}
		}
	}
	c.reached, c.taken = c.reached[:0], c.taken[:0]
	for rows.Next() {
		if err := c.row(rows, enqueues); err != nil {
			return err
		}
	}
	return rows.Err()
}

// follow finds the runs that go on because of the last round: where a traversal stopped to read, and what
// the counts of barriers let go on. Of a barrier's count, what the round itself has added is known.
func (c *commit) follow() {
	c.goOn = c.goOn[:0]
	added := map[backend.Key]int{}
	for _, e := range c.taken {
		for _, run := range e.plan.Resumes {
			c.goOn = append(c.goOn, backend.Key{Instance: e.instance, Run: run})
		}
		for _, a := range e.plan.Arrivals {
			if a.Watched {
				added[backend.Key{Instance: e.instance, Run: a.Run}]++
			}
		}
	}
	for _, r := range c.reached {
		p := c.from[r.key.Instance].program // all events of an instance have its program
		for _, ev := range p.Reached(r.key.Run, r.required, r.counts-added[r.key], r.counts) {
			c.goOn = append(c.goOn, backend.Key{Instance: r.key.Instance, Run: ev.Run})
		}
	}
	slices.SortFunc(c.goOn, backend.Key.Compare)
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
	case "reached":
		c.reached = append(c.reached, reached{key, int(ord), int(token)})
	case "leased":
		q, ok := enqueues[key]
		if !ok {
			return fmt.Errorf("instance %s: leased a node run that nothing enqueued", key.Instance)
		}
		return c.lease(q, key, token)
	case "queued":
		c.result.More = c.result.More || int(ord) > c.sleeping()
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
	if len(e.plan.Clears) > 0 {
		c.over = append(c.over, e)
	}
	if r := e.plan.Retry; r != nil {
		c.due(r.After)
	}
	for _, q := range e.plan.Enqueues {
		if micros(q.After) > 0 {
			c.due(q.After)
		}
	}
}

// due notes when something becomes due that waits; on the store's clock it is not earlier.
func (c *commit) due(after time.Duration) {
	if due := c.sent.Add(after); c.result.NextDue.IsZero() || due.Before(c.result.NextDue) {
		c.result.NextDue = due
	}
}

// sleeping counts the node runs queued in the last round that are not due yet.
func (c *commit) sleeping() int {
	n := 0
	for _, e := range c.taken {
		for _, q := range e.plan.Enqueues {
			if micros(q.After) > 0 {
				n++
			}
		}
	}
	return n
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

// open reads what the runs that go on need, and plans them.
func (c *commit) open(ctx context.Context, conn *pgxpool.Conn) ([]*event, error) {
	var events []*event
	var g gathers
	var r reads
	for _, key := range c.goOn {
		from := c.from[key.Instance]
		e := &event{ord: c.next, instance: key.Instance, program: from.program, workflow: from.workflow, fired: key.Run, token: from.token}
		c.next++
		c.events[e.ord] = e
		events = append(events, e)
		needs := e.program.Needs(e.happened())
		if needs.Elements {
			g.add(e)
		}
		r.add(e, needs.Slots)
	}
	batch := &pgx.Batch{}
	c.unset(batch, c.taken, true)
	if len(g.ord) > 0 {
		batch.Queue(gatherSQL, c.shard, g.ord, g.instance, g.node, g.variable, g.path).Query(c.elements)
	}
	if len(r.slots) > 0 {
		batch.Queue(readSQL, r.parameters(c.shard)...).Query(r.take)
	}
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	for _, e := range events {
		var err error
		if e.plan, err = e.program.Step(e.happened(), e.inbox, 0); err != nil {
			return nil, &unfitError{refusedError(e.program, e.key(), err)}
		}
	}
	return events, nil
}

// gathers are the parameters of gather.sql: aggregates that opened.
type gathers struct {
	ord, node, variable []int32
	instance            [][16]byte
	path                []string
}

func (g *gathers) add(e *event) {
	g.ord = append(g.ord, e.ord)
	g.instance = append(g.instance, e.instance)
	g.node = append(g.node, int32(e.fired.Node))
	g.variable = append(g.variable, int32(e.program.Graph().Nodes[e.fired.Node].Var))
	g.path = append(g.path, string(e.fired.Path))
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

// end removes the rows of instances that this transaction ended, where nothing else can add any.
func (c *commit) end(batch *pgx.Batch) {
	var ids [][16]byte
	for _, e := range c.ended {
		if takesAll(e) && e.submission == nil {
			ids = append(ids, e.instance)
		}
	}
	if len(ids) > 0 {
		batch.Queue(endQueueSQL, c.shard, ids)
		batch.Queue(endReadinessSQL, c.shard, ids)
		batch.Queue(endInboxSQL, c.shard, ids)
	}
}
