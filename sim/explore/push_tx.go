package explore

import (
	"errors"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/push"
	"pulley/sim/db"
)

// pushTx is one transaction that applies events of one shard, and what it found: push's commit.
type pushTx struct {
	c     *pushClient
	shard int
	mark  mark
	grant backend.Grant
	sent  int64

	conn      *conn
	ords      int32
	gone      map[int32]bool
	moved     map[int32]bool
	taken     []*pushEvent
	reached   []reachedBarrier
	goOn      []goOn
	over      []*pushEvent
	runs      []enqueuing
	events    []*pushEvent // all of them, with those that went on
	contested push.Contested
	hurried   bool // waits for others are short from here on
	ended     []*pushEvent
	result    backend.Committed
	k         func(error)
}

// goOn is a run that goes on.
type goOn struct {
	inst *instance
	key  runKey
}

// begin is apply.
func (t *pushTx) begin(events []*pushEvent, k func(error)) {
	t.k = k
	t.gone, t.moved = map[int32]bool{}, map[int32]bool{}
	single := true
	t.events = slices.Clone(events)
	for _, e := range events {
		t.ords = max(t.ords, e.ord+1)
		single = single && len(e.plan.Arrivals) == 0 && len(e.plan.Resumes) == 0 && !push.CallsOff(&e.plan)
	}
	t.c.p.connect(func(conn *conn, err error) {
		if err != nil {
			k(err)
			return
		}
		t.conn = conn
		if single {
			t.round(events, nil, t.drop(events, events, false), func(err error) { t.end(unknown(err)) })
			return
		}
		t.callOff(events, func(begun bool, err error) {
			if err != nil {
				t.fail(err)
				return
			}
			var before []db.Statement
			if !begun {
				before = []db.Statement{db.Begin}
			}
			t.round(events, before, nil, t.further)
		})
	})
}

// end gives the connection back.
func (t *pushTx) end(err error) {
	t.conn.release()
	t.k(err)
}

// fail is an error before COMMIT was sent. One that is to be tried again rolls back first.
func (t *pushTx) fail(err error) {
	if postgres.Contended(err) || errors.Is(err, errCallOff) {
		t.conn.send([]db.Statement{db.Rollback}, func(error) { t.end(err) })
		return
	}
	t.end(err)
}

// further has runs go on until none does, and commits.
func (t *pushTx) further(err error) {
	if err != nil {
		t.fail(err)
		return
	}
	if len(t.goOn) == 0 || t.c.s.w.Bug == bugIncrementAlone {
		batch := append(t.drop(t.taken, t.over, true), db.Commit)
		t.withdraw()
		t.conn.send(batch, func(err error) { t.end(unknown(err)) })
		return
	}
	t.open(func(events []*pushEvent, err error) {
		if err != nil {
			t.fail(err)
			return
		}
		t.callOffNext(events, func(err error) {
			if err != nil {
				t.fail(err)
				return
			}
			if !slices.ContainsFunc(events, func(e *pushEvent) bool { return len(e.plan.Arrivals) > 0 || len(e.plan.Resumes) > 0 }) {
				t.finish(events)
				return
			}
			t.round(events, t.beforeNext(events), nil, t.further)
		})
	})
}

// finish applies the last of the runs that go on and commits, in one round trip.
func (t *pushTx) finish(events []*pushEvent) {
	over := slices.Clip(t.over)
	for _, e := range events {
		if len(e.plan.Clears) > 0 || push.TakesAll(e) {
			over = append(over, e)
		}
	}
	batch := append(t.drop(events, over, true), db.Commit)
	t.round(events, t.beforeNext(events), batch, func(err error) {
		t.withdraw()
		t.end(unknown(err))
	})
}

// round sends one apply statement, and takes in what it did.
func (t *pushTx) round(events []*pushEvent, before, after []db.Statement, k func(error)) {
	t.runs = nil
	for _, e := range events {
		if err := t.enqueue(e); err != nil {
			t.later(func() { k(&postgres.UnfitError{Err: err}) })
			return
		}
	}
	a := &pushApply{s: t.c.s, mark: t.mark, owner: int32(t.c.p.index), lease: int64(t.grant.Lease), events: events, runs: t.runs}
	batch := append(append(before, a), after...)
	send := func(err error) {
		if err != nil {
			k(err)
			return
		}
		t.conn.send(batch, func(err error) {
			if err == nil {
				err = t.take(a)
			}
			if err != nil {
				k(err)
				return
			}
			t.follow()
			k(nil)
		})
	}
	if t.c.s.w.Bug == bugInboxOutside {
		t.c.p.query(send, &pushValues{s: t.c.s, events: events})
		return
	}
	send(nil)
}

func (t *pushTx) later(do func()) { t.c.s.w.after(0, t.c.p, do) }

// enqueue notes the node runs that an event makes ready, and which of them are leased at once.
func (t *pushTx) enqueue(e *pushEvent) error {
	leasing := 0
	for i := range t.runs {
		if t.runs[i].atOnce {
			leasing++
		}
	}
	for i := range e.plan.Enqueues {
		r := enqueuing{e: e, q: &e.plan.Enqueues[i]}
		switch {
		case r.q.After.Microseconds() > 0:
		case len(t.result.Tasks)+leasing < t.grant.Max:
			var err error
			if r.args, err = backend.AssembleArgs(r.q.Args, e.value); err != nil {
				return err
			}
			r.atOnce = true
			leasing++
		default:
			e.waits = true
		}
		t.runs = append(t.runs, r)
	}
	return nil
}
