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
	slot  commitSlot
	owner int32
	grant backend.Grant
	sent  time.Time // before the first message: leases are counted from here on the local clock

	events []*commitEvent             // by ord; runs that go on are added as they do
	from   map[uuid.UUID]*commitEvent // an event of each instance that was applied and may let runs go on

	stale           map[int32]bool // did not are applied
	retry           map[int32]bool // and their row was being changed: to be offered once more
	appliedEvents   []*commitEvent // what was applied in the last round
	reachedBarriers []barrierCount // barriers that something arrived at in the last round
	continuations   []backend.Key  // runs that go on because of the last round
	clearing        []*commitEvent // what was applied and clears something
	leasedRuns      []enqueue      // node runs of the last round that are leased at once if their event is applied

	locks        lockSet // what is to be locked first
	locksTimeOut bool    // waits for others are short from here on
	ended        []*commitEvent
	shared       []*commitEvent // of these, those on whose instances others are at work
	result       backend.Committed
}

// barrierCount is how far a barrier has come.
type barrierCount struct {
	key              backend.Key
	required, counts int
}

// applyEvents commits the events, all that are not stale, in one transaction. What was stale, c.gone says. An
// unconfirmed outcome is backend.ErrUnknown.
func (b *Backend) applyEvents(ctx context.Context, shard int, events []*commitEvent, grant backend.Grant, locks lockSet, m commitSlot) (*commit, error) {
	c := &commit{b: b, locks: locks, shard: shard, slot: m, grant: grant, sent: b.store.Clock.Now()}
	if err := c.resolveOwnerID(ctx); err != nil {
		return nil, err
	}
	single := true // one round trip, which commits by itself
	for _, e := range events {
		c.registerEvent(e)
		p := &e.plan
		single = single && len(p.Arrivals) == 0 && len(p.Resumes) == 0 && !cancelsRuns(p)
	}
	conn, err := b.store.Pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	if single {
		batch := &pgx.Batch{}
		c.queueDeletes(batch, events, events, false)
		return c, asUnknown(c.applyRound(ctx, conn, events, "", batch))
	}
	err = c.applyInTransaction(ctx, conn, events)
	if postgres.Contended(err) || errors.Is(err, errCancelLocks) { // it will be tried again, at best on this connection
		_, _ = conn.Exec(ctx, "ROLLBACK")
	}
	return c, err
}

// resolveOwnerID finds out for whom node runs are leased.
func (c *commit) resolveOwnerID(ctx context.Context) (err error) {
	if c.grant.Max > 0 {
		c.owner, err = c.b.owner(ctx, c.grant.Owner)
	}
	return err
}

// registerEvent gives an event its place by ord.
func (c *commit) registerEvent(e *commitEvent) {
	for len(c.events) <= int(e.ord) {
		c.events = append(c.events, nil)
	}
	c.events[e.ord] = e
}

// asUnknown marks the error of something that commits when it leaves open whether it did.
func asUnknown(err error) error {
	if postgres.Abandoned(err) {
		return postgres.WrapUnknown(err)
	}
	return err
}

// applyInTransaction applies the events and the runs that go on because of them, and removes what is over. A
// connection that is returned inside of a transaction is closed by the pool.
func (c *commit) applyInTransaction(ctx context.Context, conn postgres.Conn, events []*commitEvent) error {
	begin := "BEGIN"
	begun, err := c.lockCancelled(ctx, conn, events)
	if begun {
		begin = ""
	}
	if err == nil {
		err = c.applyRound(ctx, conn, events, begin, nil)
	}
	for err == nil && len(c.continuations) > 0 {
		if events, err = c.planContinuations(ctx, conn); err == nil {
			err = c.lockCancelledNext(ctx, conn, events)
		}
		if err == nil && isLastRound(events) {
			return c.applyLastRound(ctx, conn, events)
		}
		if err == nil {
			err = c.applyRound(ctx, conn, events, c.beforeNext(events), nil)
		}
	}
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	c.queueDeletes(batch, c.appliedEvents, c.clearing, true)
	batch.Queue("COMMIT")
	c.dropCancelledTasks()
	return asUnknown(conn.SendBatch(ctx, batch).Close())
}

// isLastRound says that nothing goes on because of the events.
func isLastRound(events []*commitEvent) bool {
	return !slices.ContainsFunc(events, func(e *commitEvent) bool { return len(e.plan.Arrivals) > 0 || len(e.plan.Resumes) > 0 })
}

// applyLastRound applies the last of the runs that go on and commits, in one round trip.
func (c *commit) applyLastRound(ctx context.Context, conn postgres.Conn, events []*commitEvent) error {
	batch := &pgx.Batch{}
	over := slices.Clip(c.clearing)
	for _, e := range events {
		if clearsRows(e) {
			over = append(over, e)
		}
	}
	c.queueDeletes(batch, events, over, true)
	batch.Queue("COMMIT")
	err := asUnknown(c.applyRound(ctx, conn, events, c.beforeNext(events), batch))
	c.dropCancelledTasks()
	return err
}

// applyRound sends one apply statement, after one that begins if there is one, before those of a batch if there
// is one, and takes in what it did.
func (c *commit) applyRound(ctx context.Context, conn postgres.Conn, events []*commitEvent, begin string, after *pgx.Batch) error {
	a := arraysPool.Get().(*arrays)
	defer a.free()
	c.leasedRuns = c.leasedRuns[:0]
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
	batch.Queue(statement.sql, c.parameters(a, statement)...).Query(func(rows pgx.Rows) error { return c.readResult(rows, k, events) })
	if after != nil {
		batch.QueuedQueries = append(batch.QueuedQueries, after.QueuedQueries...)
	}
	c.announceApplied(conn, events)
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	c.collectContinuations()
	return nil
}

// parameters gives the values that a statement takes.
func (c *commit) parameters(a *arrays, s statement) []any {
	a.args[argShard], a.args[argBackend], a.args[argSlot], a.args[argNumber] = c.shard, c.b.slots.backend, c.slot.index, c.slot.number
	a.args[argOwner], a.args[argLease], a.args[argWatched] = c.owner, c.grant.Lease.Microseconds(), a.watched
	a.chosen = a.chosen[:0]
	for _, i := range s.parameters {
		a.chosen = append(a.chosen, a.args[i])
	}
	return a.chosen
}

// enqueue appends the node runs that an event makes ready, and says which of them are leased at once.
func (c *commit) enqueue(a *arrays, e *commitEvent) error {
	for i := range e.plan.Enqueues {
		q := &e.plan.Enqueues[i]
		stored, err := backend.EncodeArgs(q.Args)
		if err != nil {
			return err
		}
		wait := q.After.Microseconds()
		switch {
		case wait > 0:
		case len(c.result.Tasks)+len(c.leasedRuns) < c.grant.Max:
			wait = atOnce
			args := json.RawMessage(stored)
			if postgres.ByReference(stored) {
				if args, err = backend.AssembleArgs(q.Args, e.value); err != nil {
					return err
				}
			}
			c.leasedRuns = append(c.leasedRuns, enqueue{e, q, args})
		default:
			e.leavesReady = true
		}
		a.addRun(e, q.Run, stored, wait)
	}
	return nil
}

// readResult reads the row of one apply statement, which has what its kinds bring.
func (c *commit) readResult(rows pgx.Rows, k kinds, events []*commitEvent) error {
	defer rows.Close()
	c.reachedBarriers, c.appliedEvents = c.reachedBarriers[:0], c.appliedEvents[:0]
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
	for stale := next(0); stale.Len() > 0; {
		c.stale = with(c.stale, stale.Int4())
	}
	for moved := next(completions); moved.Len() > 0; {
		c.retry = with(c.retry, moved.Int4())
	}
	for _, e := range events {
		if len(c.stale) == 0 || !c.stale[e.ord] {
			c.appliedEvents = append(c.appliedEvents, e)
			c.collectEffects(e)
		}
	}
	if err := c.collectTasks(next(runs)); err != nil {
		return err
	}
	for ended := next(ends); ended.Len() > 0; {
		c.ended = append(c.ended, c.events[ended.Int4()])
	}
	if k&arrivals != 0 {
		if err := c.readBarriers(row); err != nil {
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

// readBarriers reads which barriers something has arrived at.
func (c *commit) readBarriers(row [][]byte) error {
	instances, nodes, paths := postgres.ReadArray(row[0]), postgres.ReadArray(row[1]), postgres.ReadArray(row[2])
	required, completed := postgres.ReadArray(row[3]), postgres.ReadArray(row[4])
	for instances.Len() > 0 {
		r := barrierCount{required: int(required.Int4()), counts: int(completed.Int4())}
		r.key.Instance = uuid.UUID(instances.Next())
		r.key.Run = graph.Run{Node: graph.NodeID(nodes.Int4()), Path: graph.Path(paths.Next())}
		from := c.from[r.key.Instance]
		if from == nil {
			return fmt.Errorf("instance %s: arrivals are counted at node %d, and nothing of it was applied", r.key.Instance, r.key.Run.Node)
		}
		if r.required == unopenedCount {
			return &postgres.UnfitError{Err: fmt.Errorf("%w: instance %s, %s: its count is not known, or it was reached before", backend.ErrOverflow, r.key.Instance, from.program.RunName(r.key.Run))}
		}
		c.reachedBarriers = append(c.reachedBarriers, r)
	}
	return nil
}

// unopenedCount is the count of a barrier that nobody has opened.
const unopenedCount = math.MaxInt32

// collectContinuations finds the runs that go on because of the last round: where a traversal stopped to read, and what
// the counts of barriers let go on. Of a barrier's count, what the round itself has added is known.
func (c *commit) collectContinuations() {
	c.continuations = c.continuations[:0]
	var added map[backend.Key]int
	for _, e := range c.appliedEvents {
		for _, run := range e.plan.Resumes {
			c.continuations = append(c.continuations, backend.Key{Instance: e.instance, Run: run})
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
	for _, r := range c.reachedBarriers {
		p := c.from[r.key.Instance].program // all events of an instance have its program
		for _, ev := range p.BarrierEvents(r.key.Run, r.required, r.counts-added[r.key], r.counts) {
			c.continuations = append(c.continuations, backend.Key{Instance: r.key.Instance, Run: ev.Run})
		}
	}
	slices.SortFunc(c.continuations, backend.Key.Compare)
}

// enqueue is a node run that an event made ready, with its arguments.
type enqueue struct {
	event *commitEvent
	run   *plan.Enqueue
	args  json.RawMessage
}

// collectEffects notes what follows from an event that was applied.
func (c *commit) collectEffects(e *commitEvent) {
	if p := &e.plan; len(p.Opens)+len(p.Arrivals)+len(p.Resumes) > 0 {
		if c.from == nil {
			c.from = map[uuid.UUID]*commitEvent{}
		}
		c.from[e.instance] = e
	}
	if e.submission != nil && e.plan.End != nil {
		c.ended = append(c.ended, e)
	}
	if clearsRows(e) {
		c.clearing = append(c.clearing, e)
	}
	if r := e.plan.Retry; r != nil {
		c.result.More = c.result.More || r.After.Microseconds() <= 0
		c.result.DueAt(c.sent.Add(r.After)) // on the store's clock it is not earlier
	}
	c.result.More = c.result.More || e.leavesReady
	for i := range e.plan.Enqueues {
		if after := e.plan.Enqueues[i].After; after.Microseconds() > 0 {
			c.result.DueAt(c.sent.Add(after))
		}
	}
}

// collectTasks makes tasks of what was leased at once: in order, but for what did not are applied.
func (c *commit) collectTasks(tokens postgres.Elements) error {
	for _, q := range c.leasedRuns {
		if c.stale[q.event.ord] {
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

// planContinuations reads what the runs that go on need, and plans them.
func (c *commit) planContinuations(ctx context.Context, conn postgres.Conn) ([]*commitEvent, error) {
	var events []*commitEvent
	var aggregates postgres.Keys
	var r reads
	for _, key := range c.continuations {
		from := c.from[key.Instance]
		e := &commitEvent{ord: int32(len(c.events)), instance: key.Instance, program: from.program, continuation: key.Run}
		c.registerEvent(e)
		events = append(events, e)
		needs := e.program.Needs(e.coreEvent())
		if needs.Elements {
			aggregates.Add(e.ord, e.instance, int32(e.continuation.Node), e.continuation.Path)
		}
		r.add(e, needs.Slots)
	}
	batch := &pgx.Batch{}
	c.queueDeletes(batch, c.appliedEvents, nil, true)
	if len(aggregates.Ord) > 0 {
		batch.Queue(gatherSQL, aggregates.Parameters(c.shard)...).Query(c.readElements)
	}
	if len(r.slots) > 0 {
		batch.Queue(readSQL, r.parameters(c.shard)...).Query(r.fillInboxes)
	}
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	for _, e := range events {
		var err error
		if e.plan, err = e.program.Step(e.coreEvent(), e.inbox, 0); err != nil {
			return nil, &postgres.UnfitError{Err: refusedError(e.program, e.key(), err)}
		}
	}
	return events, nil
}

func (c *commit) readElements(rows pgx.Rows) error {
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
