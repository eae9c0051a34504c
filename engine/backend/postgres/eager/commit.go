package eager

import (
	"context"
	"errors"
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

// commit is one transaction that applies events of one shard, with its results.
type commit struct {
	b                 *Backend
	shard             int
	grant             backend.Grant
	sent              time.Time // before the first message; expiry times count from here
	conn              pgstore.Conn
	serverIncarnation string
	xid               string // of the transaction

	contest *lockSet // from earlier tries
	rounds  int      // rounds applied

	live      map[*commitEvent]bool // applied
	next      []*commitEvent        // continuations of the last round
	cancelled map[uuid.UUID]*cancelledScopes
	result    backend.Committed
	shared    []uuid.UUID // ended while other node runs were open
}

// applyEvents commits every event that is not stale, in one transaction. commit.live has the applied events, or, if the outcome
// is unknown, those it may have applied. The pool closes a connection released within a transaction.
func (b *Backend) applyEvents(ctx context.Context, shard int, events []*commitEvent, grant backend.Grant, met *lockSet) (*commit, error) {
	c := &commit{b: b, shard: shard, grant: grant, contest: met, sent: b.store.Clock.Now(), live: map[*commitEvent]bool{}, cancelled: map[uuid.UUID]*cancelledScopes{}}
	var err error
	if c.serverIncarnation, err = b.store.Incarnation(ctx); err != nil {
		return nil, err
	}
	conn, err := b.store.Pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	c.conn = conn
	err = c.applyInTransaction(ctx, events)
	if pgstore.Contended(err) || errors.Is(err, errGates) { // a retry may use this connection
		_, _ = conn.Exec(ctx, "ROLLBACK")
	}
	return c, err
}

func (c *commit) applyInTransaction(ctx context.Context, events []*commitEvent) error {
	planned, err := c.begin(ctx, events, nil)
	if err != nil {
		return err
	}
	if g := slices.Concat(atWork(planned), c.contest.gates); len(g) > 0 {
		if planned, err = c.begin(ctx, events, g.with(events)); err != nil {
			return err
		}
	}
	if len(planned) == 0 {
		_, err := c.conn.Exec(ctx, "ROLLBACK")
		return err
	}
	for committed := false; !committed; {
		if committed, err = c.applyRound(ctx, c.dropConflicting(planned)); err != nil || committed {
			return err
		}
		if planned, err = c.planContinuations(ctx, c.next); err != nil {
			return err
		}
		if err = c.lockAllNext(ctx, planned); err != nil {
			return err
		}
	}
	return nil
}

// begin opens a transaction, finds out which events are not stale, reads what they need and plans them. With gates, it opens the
// transaction anew and locks those first.
func (c *commit) begin(ctx context.Context, events []*commitEvent, g gates) ([]*commitEvent, error) {
	clear(c.live)
	batch := &pgx.Batch{}
	held := true
	if len(g) > 0 {
		batch.Queue("ROLLBACK")
	}
	batch.Queue("BEGIN")
	if slices.ContainsFunc(events, func(e *commitEvent) bool { return e.completion != nil && e.shape.recycles }) {
		batch.Queue(c.b.store.AnyOf(lockTimeoutSQL))
	}
	if len(g) > 0 {
		g.queue(batch, c.shard, &held)
	}
	var l pgstore.Leases
	var n newInstances
	var r reads
	byOrd := map[int32]*commitEvent{}
	byID := map[[16]byte]*commitEvent{}
	for _, e := range events {
		// Discard what an earlier try read.
		e.inbox = plan.Inbox{}
		if e.submission != nil {
			byID[e.instance] = e
			if err := n.add(e); err != nil {
				return nil, e.unfit(err)
			}
			continue
		}
		byOrd[e.ord] = e
		l.Add(e.ord, backend.Lease{Key: e.key(), Token: e.completion.Lease.Token})
		r.need(e)
	}
	if len(n.instance) > 0 {
		batch.Queue(insertInstancesSQL, n.parameters(c.shard)...).Query(func(rows pgx.Rows) error { return c.readCreated(rows, byID) })
	}
	if len(l.Ord) > 0 {
		batch.Queue(guardSQL, l.Parameters(c.shard)...).Query(func(rows pgx.Rows) error { return c.guarded(rows, byOrd) })
	}
	r.queue(batch, c.shard)
	if err := c.conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	if err := c.lockAllSeen(ctx, g, held); err != nil {
		return nil, err
	}
	var planned []*commitEvent
	for _, e := range events {
		if !c.live[e] {
			continue
		}
		if e.completion != nil {
			if err := e.step(c.b.store.Jitter()); err != nil {
				return nil, err
			}
		}
		planned = append(planned, e)
	}
	return planned, nil
}

func (c *commit) readCreated(rows pgx.Rows, byID map[[16]byte]*commitEvent) error {
	var id [16]byte
	_, err := pgx.ForEachRow(rows, []any{&id, &c.xid}, func() error {
		c.live[byID[id]] = true
		return nil
	})
	return err
}

func (c *commit) guarded(rows pgx.Rows, byOrd map[int32]*commitEvent) error {
	var ord, attempt, workflow int32
	var path string
	_, err := pgx.ForEachRow(rows, []any{&ord, &path, &attempt, &workflow, &c.xid}, func() error {
		e := byOrd[ord]
		if graph.Path(path) != e.coreEvent.Run.Path {
			return nil
		}
		if workflow != e.workflow {
			return e.unfit(fmt.Errorf("the instance runs another workflow than the one it is completed with"))
		}
		c.live[e] = true
		e.coreEvent.Attempt = int(attempt)
		return nil
	})
	return err
}

// applyRound applies plans, and commits if they have no continuations.
func (c *commit) applyRound(ctx context.Context, events []*commitEvent) (committed bool, err error) {
	a := arrays{c: c}
	batch := &pgx.Batch{}
	last := true
	for _, e := range events {
		if err := a.add(e); err != nil {
			return false, e.unfit(err)
		}
		last = last && len(e.plan.Arrivals) == 0 && len(e.plan.Resumes) == 0
	}
	c.queueBarriers(batch, events)
	c.rounds++
	c.clear(batch, events)
	a.queueUnset(batch)
	if len(events) > 0 {
		batch.Queue(applySQL, a.parameters()...).Query(func(rows pgx.Rows) error { return c.readResult(rows, &a) })
	}
	if n := &a.end; len(n.instance) > 0 {
		batch.Queue(endSQL, c.shard, n.instance, n.node, n.place, n.shared).Query(c.readShared)
	}
	if last {
		batch.Queue("COMMIT")
	}
	c.next = c.next[:0]
	for _, e := range events {
		for _, run := range e.plan.Resumes {
			c.next = append(c.next, e.continuation(plan.Event{Run: run, Fired: true}))
		}
		c.noteDue(&e.plan)
	}
	c.applied(events)
	if err = c.conn.SendBatch(ctx, batch).Close(); err == nil {
		c.result.More = c.result.More || a.leavesReady
	}
	if last {
		err = pgstore.WrapUnknown(err)
	}
	return last, err
}

func (c *commit) readResult(rows pgx.Rows, a *arrays) error {
	var what, path string
	var instance [16]byte
	var node int32
	var token int64
	var required *int32
	var satisfied int32
	_, err := pgx.ForEachRow(rows, []any{&what, &instance, &node, &path, &token, &required, &satisfied}, func() error {
		key := backend.Key{Instance: instance, Run: graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}}
		switch what {
		case "counted":
			return c.counted(a.arrived[key], key.Run, required, int(satisfied))
		case "leased":
			q := a.ready[key]
			task, err := q.event.lease(q.run, token)
			if err != nil {
				return err
			}
			task.Expires = c.sent.Add(c.grant.Lease)
			c.result.Tasks = append(c.result.Tasks, task)
		case "ended":
			c.result.Ended = append(c.result.Ended, a.ends[instance].outcome())
		}
		return nil
	})
	return err
}

func (c *commit) readShared(rows pgx.Rows) error {
	var id [16]byte
	_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
		c.shared = append(c.shared, id)
		return nil
	})
	return err
}

func (c *commit) counted(at arrivals, run graph.Run, required *int32, satisfied int) error {
	e := at.event
	if required == nil {
		return e.unfit(fmt.Errorf("%w: it arrives at %s, whose count is not known", backend.ErrOverflow, e.program.RunName(run)))
	}
	for _, what := range e.program.BarrierEvents(run, int(*required), satisfied-at.sent, satisfied) {
		c.next = append(c.next, e.continuation(what))
	}
	return nil
}

// planContinuations reads what the events of the next round need, and plans them.
func (c *commit) planContinuations(ctx context.Context, next []*commitEvent) ([]*commitEvent, error) {
	var r reads
	var events []*commitEvent
	for _, e := range next {
		if c.isCancelled(e) {
			continue
		}
		e.ord = int32(len(events))
		events = append(events, e)
		r.need(e)
	}
	batch := &pgx.Batch{}
	r.queue(batch, c.shard)
	if batch.Len() > 0 {
		if err := c.conn.SendBatch(ctx, batch).Close(); err != nil {
			return nil, err
		}
	}
	for _, e := range events {
		if err := e.step(0); err != nil {
			return nil, err
		}
	}
	return events, nil
}

func (c *commit) noteDue(p *plan.Plan) {
	if p.Retry != nil {
		c.result.DueAt(c.sent.Add(p.Retry.After))
	}
	for i := range p.Enqueues {
		if after := p.Enqueues[i].After; after > 0 {
			c.result.DueAt(c.sent.Add(after))
		}
	}
}
