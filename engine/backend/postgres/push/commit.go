package push

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// commit is one transaction that applies events of one shard, and what it found.
type commit struct {
	b     *Backend
	shard int
	mark  mark
	owner int32
	grant backend.Grant
	sent  time.Time // before the first message: leases are counted from here on the local clock

	events []*event             // by ord; runs that go on are added as they do
	from   map[uuid.UUID]*event // an event of each instance that took place and may let runs go on

	gone    map[int32]bool // did not take place
	moved   map[int32]bool // and their row was being changed: to be offered once more
	taken   []*event       // what took place in the last round
	reached []reached      // barriers that something arrived at in the last round
	goOn    []backend.Key  // runs that go on because of the last round
	over    []*event       // what took place and clears something
	leasing []enqueue      // node runs of the last round that are leased at once if their event takes place

	locks         lockSet // what is to be locked first
	locksAreShort bool    // waits for others are short from here on
	ended         []*event
	shared        []*event // of these, those on whose instances others are at work
	result        backend.Committed
}

// reached is how far a barrier has come.
type reached struct {
	key              backend.Key
	required, counts int
}

// apply commits the events, all that are not stale, in one transaction. What was stale, c.gone says. An
// unconfirmed outcome is backend.ErrUnknown.
func (b *Backend) apply(ctx context.Context, shard int, events []*event, grant backend.Grant, locks lockSet, m mark) (*commit, error) {
	c := &commit{b: b, locks: locks, shard: shard, mark: m, grant: grant, sent: b.store.Clock.Now()}
	if err := c.own(ctx); err != nil {
		return nil, err
	}
	single := true // one round trip, which commits by itself
	for _, e := range events {
		c.know(e)
		p := &e.plan
		single = single && len(p.Arrivals) == 0 && len(p.Resumes) == 0 && !callsOff(p)
	}
	conn, err := b.store.Pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	if single {
		batch := &pgx.Batch{}
		c.drop(batch, events, events, false)
		return c, unknown(c.round(ctx, conn, events, "", batch))
	}
	err = c.transaction(ctx, conn, events)
	if postgres.Contended(err) || errors.Is(err, errCallOff) { // it will be tried again, at best on this connection
		_, _ = conn.Exec(ctx, "ROLLBACK")
	}
	return c, err
}

// own finds out for whom node runs are leased.
func (c *commit) own(ctx context.Context) (err error) {
	if c.grant.Max > 0 {
		c.owner, err = c.b.owner(ctx, c.grant.Owner)
	}
	return err
}

// know gives an event its place by ord.
func (c *commit) know(e *event) {
	for len(c.events) <= int(e.ord) {
		c.events = append(c.events, nil)
	}
	c.events[e.ord] = e
}

// unknown marks the error of something that commits when it leaves open whether it did.
func unknown(err error) error {
	if postgres.Abandoned(err) {
		return postgres.MarkUnknown(err)
	}
	return err
}

// transaction applies the events and the runs that go on because of them, and removes what is over. A
// connection that is given back inside of a transaction is closed by the pool.
func (c *commit) transaction(ctx context.Context, conn postgres.Conn, events []*event) error {
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
		if err == nil && last(events) {
			return c.finish(ctx, conn, events)
		}
		if err == nil {
			err = c.round(ctx, conn, events, c.beforeNext(events), nil)
		}
	}
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	c.drop(batch, c.taken, c.over, true)
	batch.Queue("COMMIT")
	c.withdraw()
	return unknown(conn.SendBatch(ctx, batch).Close())
}

// last says that nothing goes on because of the events.
func last(events []*event) bool {
	return !slices.ContainsFunc(events, func(e *event) bool { return len(e.plan.Arrivals) > 0 || len(e.plan.Resumes) > 0 })
}

// finish applies the last of the runs that go on and commits, in one round trip.
func (c *commit) finish(ctx context.Context, conn postgres.Conn, events []*event) error {
	batch := &pgx.Batch{}
	over := slices.Clip(c.over)
	for _, e := range events {
		if clearsRows(e) {
			over = append(over, e)
		}
	}
	c.drop(batch, events, over, true)
	batch.Queue("COMMIT")
	err := unknown(c.round(ctx, conn, events, c.beforeNext(events), batch))
	c.withdraw()
	return err
}

// round sends one apply statement, after one that begins if there is one, before those of a batch if there
// is one, and takes in what it did.
func (c *commit) round(ctx context.Context, conn postgres.Conn, events []*event, begin string, after *pgx.Batch) error {
	a := arraysPool.Get().(*arrays)
	defer a.free()
	c.leasing = c.leasing[:0]
	for _, e := range events {
		err := a.add(e)
		if err == nil {
			err = c.enqueue(a, e)
		}
		if err != nil {
			return &postgres.UnfitError{Err: refusedError(e.program, e.key(), err)}
		}
	}
	batch := &pgx.Batch{}
	if begin != "" {
		batch.Queue(begin)
	}
	statement, k := statementFor(a.kinds(), len(events))
	batch.Queue(statement.sql, c.parameters(a, statement)...).Query(func(rows pgx.Rows) error { return c.take(rows, k, events) })
	if after != nil {
		batch.QueuedQueries = append(batch.QueuedQueries, after.QueuedQueries...)
	}
	c.tell(conn, events)
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	c.follow()
	return nil
}

// parameters gives the values that a statement takes.
func (c *commit) parameters(a *arrays, s statement) []any {
	a.args[argShard], a.args[argBackend], a.args[argSlot], a.args[argNumber] = c.shard, c.b.marks.backend, c.mark.slot, c.mark.number
	a.args[argOwner], a.args[argLease], a.args[argWatched] = c.owner, c.grant.Lease.Microseconds(), a.watched
	a.given = a.given[:0]
	for _, i := range s.parameters {
		a.given = append(a.given, a.args[i])
	}
	return a.given
}

// enqueue appends the node runs that an event makes ready, and says which of them are leased at once.
func (c *commit) enqueue(a *arrays, e *event) error {
	for i := range e.plan.Enqueues {
		q := &e.plan.Enqueues[i]
		stored, err := backend.EncodeArgs(q.Args)
		if err != nil {
			return err
		}
		wait := q.After.Microseconds()
		switch {
		case wait > 0:
		case len(c.result.Tasks)+len(c.leasing) < c.grant.Max:
			wait = atOnce
			args := json.RawMessage(stored)
			if postgres.ByReference(stored) {
				if args, err = backend.AssembleArgs(q.Args, e.value); err != nil {
					return err
				}
			}
			c.leasing = append(c.leasing, enqueue{e, q, args})
		default:
			e.waits = true
		}
		a.addRun(e, q.Run, stored, wait)
	}
	return nil
}

// take reads the row of one apply statement, which has what its kinds bring.
func (c *commit) take(rows pgx.Rows, k kinds, events []*event) error {
	defer rows.Close()
	c.reached, c.taken = c.reached[:0], c.taken[:0]
	if !rows.Next() {
		return cmp.Or(rows.Err(), errors.New("apply.sql gives no row"))
	}
	row := rows.RawValues()
	next := func(of kinds) (list postgres.Elements) {
		if k&of == of {
			list, row = postgres.ReadArray(row[0]), row[1:]
		}
		return list
	}
	for gone := next(0); gone.Len() > 0; {
		c.gone = with(c.gone, gone.Int4())
	}
	for moved := next(completions); moved.Len() > 0; {
		c.moved = with(c.moved, moved.Int4())
	}
	for _, e := range events {
		if len(c.gone) == 0 || !c.gone[e.ord] {
			c.taken = append(c.taken, e)
			c.applied(e)
		}
	}
	if err := c.lease(next(runs)); err != nil {
		return err
	}
	for ended := next(ends); ended.Len() > 0; {
		c.ended = append(c.ended, c.events[ended.Int4()])
	}
	if k&arrivals != 0 {
		if err := c.reach(row); err != nil {
			return err
		}
	}
	rows.Next() // there is no other, but an error may follow
	return rows.Err()
}

// with adds to a set that may not be there yet.
func with(set map[int32]bool, ord int32) map[int32]bool {
	if set == nil {
		set = map[int32]bool{}
	}
	set[ord] = true
	return set
}

// reach reads which barriers something has arrived at.
func (c *commit) reach(row [][]byte) error {
	instances, nodes, paths := postgres.ReadArray(row[0]), postgres.ReadArray(row[1]), postgres.ReadArray(row[2])
	required, completed := postgres.ReadArray(row[3]), postgres.ReadArray(row[4])
	for instances.Len() > 0 {
		r := reached{required: int(required.Int4()), counts: int(completed.Int4())}
		r.key.Instance = uuid.UUID(instances.Next())
		r.key.Run = graph.Run{Node: graph.NodeID(nodes.Int4()), Path: graph.Path(paths.Next())}
		from := c.from[r.key.Instance]
		if from == nil {
			return fmt.Errorf("instance %s: arrivals are counted at node %d, and nothing of it took place", r.key.Instance, r.key.Run.Node)
		}
		if r.required == neverReached {
			return &postgres.UnfitError{Err: fmt.Errorf("%w: instance %s, %s: its count is not known, or it was reached before", backend.ErrOverflow, r.key.Instance, from.program.RunName(r.key.Run))}
		}
		c.reached = append(c.reached, r)
	}
	return nil
}

// neverReached is the count of a barrier that nobody has opened.
const neverReached = math.MaxInt32

// follow finds the runs that go on because of the last round: where a traversal stopped to read, and what
// the counts of barriers let go on. Of a barrier's count, what the round itself has added is known.
func (c *commit) follow() {
	c.goOn = c.goOn[:0]
	var added map[backend.Key]int
	for _, e := range c.taken {
		for _, run := range e.plan.Resumes {
			c.goOn = append(c.goOn, backend.Key{Instance: e.instance, Run: run})
		}
		for _, a := range e.plan.Arrivals {
			if a.Watched {
				if added == nil {
					added = map[backend.Key]int{}
				}
				added[backend.Key{Instance: e.instance, Run: a.Run}]++
			}
		}
	}
	for _, r := range c.reached {
		p := c.from[r.key.Instance].program // all events of an instance have its program
		for _, ev := range p.Reached(r.key.Run, r.required, r.counts-added[r.key], r.counts) {
			c.goOn = append(c.goOn, backend.Key{Instance: r.key.Instance, Run: ev.Run})
			if ev.Run == r.key.Run {
				for _, node := range p.CountedAt(ev.Run.Node) {
					c.goOn = append(c.goOn, backend.Key{Instance: r.key.Instance, Run: graph.Run{Node: node, Path: ev.Run.Path}})
				}
			}
		}
	}
	slices.SortFunc(c.goOn, backend.Key.Compare)
}

// enqueue is a node run that an event made ready, with its arguments.
type enqueue struct {
	event *event
	run   *plan.Enqueue
	args  json.RawMessage
}

// applied notes what follows from an event that took place.
func (c *commit) applied(e *event) {
	if p := &e.plan; len(p.Opens)+len(p.Arrivals)+len(p.Resumes) > 0 {
		if c.from == nil {
			c.from = map[uuid.UUID]*event{}
		}
		c.from[e.instance] = e
	}
	if e.submission != nil && e.plan.End != nil {
		c.ended = append(c.ended, e)
	}
	if clearsRows(e) {
		c.over = append(c.over, e)
	}
	if r := e.plan.Retry; r != nil {
		c.result.More = c.result.More || r.After.Microseconds() <= 0
		c.result.DueAt(c.sent.Add(r.After)) // on the store's clock it is not earlier
	}
	c.result.More = c.result.More || e.waits
	for i := range e.plan.Enqueues {
		if after := e.plan.Enqueues[i].After; after.Microseconds() > 0 {
			c.result.DueAt(c.sent.Add(after))
		}
	}
}

// lease makes tasks of what was leased at once: in order, but for what did not take place.
func (c *commit) lease(tokens postgres.Elements) error {
	for _, q := range c.leasing {
		if c.gone[q.event.ord] {
			continue
		}
		if tokens.Len() == 0 {
			return fmt.Errorf("instance %s: %s was enqueued and is not leased", q.event.instance, q.event.program.RunName(q.run.Run))
		}
		c.result.Tasks = append(c.result.Tasks, backend.Task{
			Lease:   backend.Lease{Key: backend.Key{Instance: q.event.instance, Run: q.run.Run}, Token: tokens.Int8()},
			Program: q.event.program,
			Action:  q.run.Action,
			Args:    q.args,
			Attempt: 1,
			Expires: c.sent.Add(c.grant.Lease),

			Deliveries: 1,
		})
	}
	return nil
}

// open reads what the runs that go on need, and plans them.
func (c *commit) open(ctx context.Context, conn postgres.Conn) ([]*event, error) {
	var events []*event
	var aggregates postgres.Keys
	var r reads
	for _, key := range c.goOn {
		from := c.from[key.Instance]
		e := &event{ord: int32(len(c.events)), instance: key.Instance, program: from.program, fired: key.Run}
		c.know(e)
		events = append(events, e)
		needs := e.program.Needs(e.happened())
		if needs.Elements {
			aggregates.Add(e.ord, e.instance, int32(e.fired.Node), e.fired.Path)
		}
		r.add(e, needs.Slots)
	}
	batch := &pgx.Batch{}
	c.drop(batch, c.taken, nil, true)
	if len(aggregates.Ord) > 0 {
		batch.Queue(gatherSQL, aggregates.Parameters(c.shard)...).Query(c.elements)
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
			return nil, &postgres.UnfitError{Err: refusedError(e.program, e.key(), err)}
		}
	}
	return events, nil
}

func (c *commit) elements(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		row := rows.RawValues()
		in := &c.events[postgres.Int4(row[0])].inbox
		for places, values := postgres.ReadArray(row[1]), postgres.ReadArray(row[2]); values.Len() > 0; {
			in.Elements = append(in.Elements, plan.Element{Index: int(places.Int4()), Value: slices.Clone(values.Next())})
		}
	}
	return rows.Err()
}
