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
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

type commit struct {
	b     *Backend
	shard int
	slot  commitSlot
	owner int32
	grant backend.Grant
	sent  time.Time // before the first message; expiry times count from here

	events []*commitEvent             // by ord; continuations are appended
	from   map[uuid.UUID]*commitEvent // an applied event of each instance that may have continuations

	stale           map[int32]bool // not applied
	retry           map[int32]bool // stale because the row was being changed: offer once more
	appliedEvents   []*commitEvent // in the last round
	reachedBarriers []barrierCount // with arrivals in the last round
	continuations   []backend.Key  // of the last round
	clearing        []*commitEvent // applied, and clear rows
	leasedRuns      []enqueue      // of the last round, at once if their event is applied

	locks        lockSet
	locksTimeOut bool // the lock timeout is set
	ended        []*commitEvent
	shared       []*commitEvent // with other open node runs
	result       backend.Committed
}

type barrierCount struct {
	key              backend.Key
	required, counts int
}

// applyEvents commits every event that is not stale, in one transaction; commit.stale lists the others.
func (b *Backend) applyEvents(ctx context.Context, shard int, events []*commitEvent, grant backend.Grant, locks lockSet, m commitSlot) (*commit, error) {
	c := &commit{b: b, locks: locks, shard: shard, slot: m, grant: grant, sent: b.store.Clock.Now()}
	if err := c.resolveOwnerID(ctx); err != nil {
		return nil, err
	}
	single := true // one round trip, without BEGIN
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
	if pgstore.Contended(err) || errors.Is(err, errCancelLocks) { // a retry may use this connection
		_, _ = conn.Exec(ctx, "ROLLBACK")
	}
	return c, err
}

func (c *commit) resolveOwnerID(ctx context.Context) (err error) {
	if c.grant.Max > 0 {
		c.owner, err = c.b.owner(ctx, c.grant.Owner)
	}
	return err
}

func (c *commit) registerEvent(e *commitEvent) {
	for len(c.events) <= int(e.ord) {
		c.events = append(c.events, nil)
	}
	c.events[e.ord] = e
}

func asUnknown(err error) error {
	if pgstore.Abandoned(err) {
		return pgstore.WrapUnknown(err)
	}
	return err
}

// applyInTransaction applies events and their continuations. The pool closes a connection released within a transaction.
func (c *commit) applyInTransaction(ctx context.Context, conn pgstore.Conn, events []*commitEvent) error {
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

func isLastRound(events []*commitEvent) bool {
	return !slices.ContainsFunc(events, func(e *commitEvent) bool { return len(e.plan.Arrivals) > 0 || len(e.plan.Resumes) > 0 })
}

// applyLastRound applies the last continuations and commits, in one round trip.
func (c *commit) applyLastRound(ctx context.Context, conn pgstore.Conn, events []*commitEvent) error {
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

// applyRound sends begin, an apply statement and the batch after, and reads the results. begin and after may be empty.
func (c *commit) applyRound(ctx context.Context, conn pgstore.Conn, events []*commitEvent, begin string, after *pgx.Batch) error {
	a := arraysPool.Get().(*arrays)
	defer a.free()
	c.leasedRuns = c.leasedRuns[:0]
	for _, e := range events {
		err := a.add(e)
		if err == nil {
			err = c.enqueue(a, e)
		}
		if err != nil {
			return &pgstore.UnfitError{Err: refusedError(e.program, e.key(), err)}
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

func (c *commit) parameters(a *arrays, s statement) []any {
	a.args[argShard], a.args[argBackend], a.args[argSlot], a.args[argNumber] = c.shard, c.b.slots.backend, c.slot.index, c.slot.number
	a.args[argOwner], a.args[argLease], a.args[argWatched] = c.owner, c.grant.Lease.Microseconds(), a.watched
	a.chosen = a.chosen[:0]
	for _, i := range s.parameters {
		a.chosen = append(a.chosen, a.args[i])
	}
	return a.chosen
}

func (c *commit) enqueue(a *arrays, e *commitEvent) error {
	if len(e.plan.Enqueues) == 0 {
		return nil
	}
	workflow := c.turnOf(e)
	for i := range e.plan.Enqueues {
		q := &e.plan.Enqueues[i]
		stored, err := backend.EncodeArgs(q.Args)
		if err != nil {
			return err
		}
		wait, leased := q.After.Microseconds(), false
		switch {
		case wait > 0:
		case len(c.result.Tasks)+len(c.leasedRuns) < c.grant.Max && c.grant.Holds(e.program):
			leased = true
			args := json.RawMessage(stored)
			if pgstore.ByReference(stored) {
				if args, err = backend.AssembleArgs(q.Args, e.value); err != nil {
					return err
				}
			}
			c.leasedRuns = append(c.leasedRuns, enqueue{e, q, args})
		default:
			wait = -backend.HeadStart(e.program).Microseconds()
			e.leavesReady = true
		}
		a.addRun(e, q.Run, stored, wait, leased, workflow)
	}
	return nil
}

// turnOf returns the number of the workflow that takes turns with others for what an event makes ready; zero if claims are by time, or if
// the number is no longer cached.
func (c *commit) turnOf(e *commitEvent) int32 {
	if !c.grant.Fair {
		return 0
	}
	return c.b.store.CachedNumber(e.program)
}

func (c *commit) readResult(rows pgx.Rows, k kinds, events []*commitEvent) error {
	defer rows.Close()
	c.reachedBarriers, c.appliedEvents = c.reachedBarriers[:0], c.appliedEvents[:0]
	if !rows.Next() {
		return cmp.Or(rows.Err(), errors.New("apply.sql gives no row"))
	}
	row := rows.RawValues()
	next := func(of kinds) (list pgstore.Elements) {
		if k&of == of {
			list, row = pgstore.ReadArray(row[0]), row[1:]
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
	rows.Next() // no second row, but maybe an error
	return rows.Err()
}

func with(set map[int32]bool, ord int32) map[int32]bool {
	if set == nil {
		set = map[int32]bool{}
	}
	set[ord] = true
	return set
}

func (c *commit) readBarriers(row [][]byte) error {
	instances, nodes, paths := pgstore.ReadArray(row[0]), pgstore.ReadArray(row[1]), pgstore.ReadArray(row[2])
	required, completed := pgstore.ReadArray(row[3]), pgstore.ReadArray(row[4])
	for instances.Len() > 0 {
		r := barrierCount{required: int(required.Int4()), counts: int(completed.Int4())}
		r.key.Instance = uuid.UUID(instances.Next())
		r.key.Run = graph.Run{Node: graph.NodeID(nodes.Int4()), Path: graph.Path(paths.Next())}
		from := c.from[r.key.Instance]
		if from == nil {
			return fmt.Errorf("instance %s: arrivals are counted at node %d, and nothing of it was applied", r.key.Instance, r.key.Run.Node)
		}
		if r.required == unopenedCount {
			return &pgstore.UnfitError{Err: fmt.Errorf("%w: instance %s, %s: its count is not known, or it was reached before", backend.ErrOverflow, r.key.Instance, from.program.RunName(r.key.Run))}
		}
		c.reachedBarriers = append(c.reachedBarriers, r)
	}
	return nil
}

// unopenedCount is the required count of a barrier that was never opened.
const unopenedCount = math.MaxInt32

// collectContinuations collects the continuations of the last round: traversals that stopped to read, and what barrier counts
// start. The count before the round is the count less what the round added.
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
		p := c.from[r.key.Instance].program // an instance has one program
		for _, ev := range p.BarrierEvents(r.key.Run, r.required, r.counts-added[r.key], r.counts) {
			c.continuations = append(c.continuations, backend.Key{Instance: r.key.Instance, Run: ev.Run})
		}
	}
	slices.SortFunc(c.continuations, backend.Key.Compare)
}

type enqueue struct {
	event *commitEvent
	run   *plan.Enqueue
	args  json.RawMessage
}

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
		c.result.DueAt(c.sent.Add(r.After)) // by the store's clock it is not earlier
	}
	c.result.More = c.result.More || e.leavesReady
	for i := range e.plan.Enqueues {
		if after := e.plan.Enqueues[i].After; after.Microseconds() > 0 {
			c.result.DueAt(c.sent.Add(after))
		}
	}
}

// collectTasks makes tasks of the runs leased at once, except those of stale events. tokens have the same order.
func (c *commit) collectTasks(tokens pgstore.Elements) error {
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

func (c *commit) planContinuations(ctx context.Context, conn pgstore.Conn) ([]*commitEvent, error) {
	var events []*commitEvent
	var aggregates pgstore.Keys
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
			return nil, &pgstore.UnfitError{Err: refusedError(e.program, e.key(), err)}
		}
	}
	return events, nil
}

func (c *commit) readElements(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		row := rows.RawValues()
		in := &c.events[pgstore.Int4(row[0])].inbox
		for places, values := pgstore.ReadArray(row[1]), pgstore.ReadArray(row[2]); values.Len() > 0; {
			in.Elements = append(in.Elements, plan.Element{Index: int(places.Int4()), Value: slices.Clone(values.Next())})
		}
	}
	return rows.Err()
}
