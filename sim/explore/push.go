package explore

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/sim/db"
)

// pushClient is package push in a process, with its calls cut where it waits for the server.
type pushClient struct {
	p    *process
	s    *pushStore
	name int64
	num  int64
	free [][]int32
	next []int32
}

func (s *pushStore) client(p *process) client {
	s.backends++
	return &pushClient{p: p, s: s, name: s.backends, free: make([][]int32, s.w.Shards), next: make([]int32, s.w.Shards)}
}

const (
	commitTries   = 5
	extendTries   = 5
	callOffPasses = 5
	tidyPasses    = 4
)

var errCallOff = errors.New("runs that are to be called off go on and on")

// query makes a round trip on a connection of its own.
func (p *process) query(k func(error), batch ...db.Statement) {
	p.connect(func(c *conn, err error) {
		if err != nil {
			k(err)
			return
		}
		c.send(batch, func(err error) {
			c.release()
			k(err)
		})
	})
}

func (c *pushClient) takeSlot(shard int) int32 {
	if n := len(c.free[shard]); n > 0 {
		slot := c.free[shard][n-1]
		c.free[shard] = c.free[shard][:n-1]
		return slot
	}
	c.next[shard]++
	return c.next[shard] - 1
}

// complete is Backend.Complete.
func (c *pushClient) complete(shard int, completions []backend.Completion, grant backend.Grant, k func(backend.Committed, error)) {
	out := postgres.NewOutcomes(len(completions))
	var events []*pushEvent
	read := &pushRead{s: c.s}
	for i := range completions {
		co := &completions[i]
		if out.Accept(i, co, shard, c.s.w.Shards) {
			e := &pushEvent{ord: int32(i), inst: c.s.w.instanceOf(co.Lease.Key.Instance), completion: co, token: co.Lease.Token}
			events = append(events, e)
			read.add(e, e.program().Needs(e.happened()).Slots)
		}
	}
	planned := func(err error) {
		if err != nil {
			k(backend.Committed{}, err)
			return
		}
		c.plan(shard, events, grant, out, k)
	}
	if len(read.wants) == 0 {
		planned(nil)
		return
	}
	c.p.query(planned, read)
}

// plan has the core plan events, and commits them group by group.
func (c *pushClient) plan(shard int, events []*pushEvent, grant backend.Grant, out *postgres.Outcomes, k func(backend.Committed, error)) {
	var planned, unfit []*pushEvent
	for _, e := range events {
		if e.plan, e.refused = e.program().Step(e.happened(), e.inbox, c.s.w.rng.Float64()); e.refused != nil {
			unfit = append(unfit, e)
		} else {
			planned = append(planned, e)
		}
	}
	c.refuse(unfit, out, func(err error) {
		if err != nil {
			k(backend.Committed{}, err)
			return
		}
		all := groups(planned)
		var next func(i int)
		next = func(i int) {
			if i == len(all) {
				k(out.Committed(), nil)
				return
			}
			group := all[i]
			if c.s.w.Bug != bugMapOrder {
				inOrder(group)
			}
			group = distinct(group, out)
			if i > 0 {
				group = spared(group, planned, out)
			}
			c.commit(shard, group, grant, out, func(err error) {
				if err != nil && i == 0 {
					k(backend.Committed{}, err)
					return
				}
				if err != nil {
					again(out, group, err)
				}
				next(i + 1)
			})
		}
		next(0)
	})
}

// again answers what was not committed although something else of the call was.
func again(out *postgres.Outcomes, events []*pushEvent, err error) {
	for _, e := range events {
		if a := &out.Answers[e.ord]; a.Answer == "" {
			*a = backend.Outcome{Answer: backend.Again, Err: err}
		}
	}
}

// refuse answers completions that the core would not plan.
func (c *pushClient) refuse(unfit []*pushEvent, out *postgres.Outcomes, k func(error)) {
	if len(unfit) == 0 {
		k(nil)
		return
	}
	l := c.leases(unfit)
	c.p.query(func(err error) {
		for _, e := range unfit {
			out.Answer(e.ord, backend.Stale)
			if _, ok := l.held[e.ord]; ok && err == nil {
				out.Refuse(e.ord, e.refused)
			}
		}
		k(err)
	}, l)
}

func (c *pushClient) leases(events []*pushEvent) *pushLeases {
	l := &pushLeases{s: c.s}
	for _, e := range events {
		l.leases = append(l.leases, heldRun{e.ord, e.inst, e.completion.Lease.Key.Run, e.token})
	}
	return l
}

// commit applies events in as few transactions as their data allows; see postgres.Halve.
func (c *pushClient) commit(shard int, events []*pushEvent, grant backend.Grant, out *postgres.Outcomes, k func(error)) {
	c.halve(out, events, func(events []*pushEvent, k func(error)) {
		open := slices.DeleteFunc(slices.Clone(events), func(e *pushEvent) bool { return out.Answers[e.ord].Answer != "" })
		if len(open) == 0 {
			k(nil)
			return
		}
		once := &pushOnce{c: c, shard: shard, events: open, grant: grant, out: out}
		once.begin(func(t *pushTx, err error) {
			if err != nil || t == nil {
				k(err)
				return
			}
			t.add(out, once.events)
			c.tidyAfter(t, func() { c.offerMoved(t, once.events, grant, out, k) })
		})
	}, k)
}

// halve is postgres.Halve.
func (c *pushClient) halve(out *postgres.Outcomes, events []*pushEvent, commit func([]*pushEvent, func(error)), k func(error)) {
	if len(events) == 0 {
		k(nil)
		return
	}
	commit(events, func(err error) {
		var unfit *postgres.UnfitError
		switch {
		case err == nil:
			k(nil)
			return
		case !postgres.Poisoned(err) && !errors.As(err, &unfit):
			k(err)
			return
		case len(events) > 1:
			half := len(events) / 2
			c.halve(out, events[:half], commit, func(err error) {
				if err != nil {
					k(err)
					return
				}
				c.halve(out, events[half:], commit, func(err error) {
					if err != nil {
						again(out, events[half:], err)
					}
					k(nil)
				})
			})
			return
		}
		if postgres.Overflowed(err) {
			err = fmt.Errorf("%w: %w", backend.ErrOverflow, err)
		}
		out.Refuse(events[0].ord, err)
		k(nil)
	})
}

// offerMoved commits completions again whose row was being changed by another transaction.
func (c *pushClient) offerMoved(t *pushTx, events []*pushEvent, grant backend.Grant, out *postgres.Outcomes, k func(error)) {
	moved := slices.DeleteFunc(slices.Clone(events), func(e *pushEvent) bool { return !t.moved[e.ord] })
	if len(moved) == 0 {
		k(nil)
		return
	}
	for _, e := range moved {
		out.Answer(e.ord, "")
	}
	c.commit(t.shard, moved, grant, out, func(err error) {
		if err != nil {
			again(out, moved, err)
		}
		k(nil)
	})
}

// pushOnce is commitOnce: one transaction, again where the server gave it up, settled where it was not confirmed.
type pushOnce struct {
	c         *pushClient
	shard     int
	events    []*pushEvent
	grant     backend.Grant
	out       *postgres.Outcomes
	slot      int32
	try       int
	unsure    bool
	contested []span
	mark      mark
	k         func(*pushTx, error)
}

func (o *pushOnce) begin(k func(*pushTx, error)) {
	o.grant.Max = max(o.grant.Max-len(o.out.Result.Tasks), 0)
	o.slot = o.c.takeSlot(o.shard)
	o.k = k
	o.again()
}

// end gives the place back, unless its last commit may still be under way.
func (o *pushOnce) end(settled bool, t *pushTx, err error) {
	if settled {
		o.c.free[o.shard] = append(o.c.free[o.shard], o.slot)
	}
	o.k(t, err)
}

func (o *pushOnce) again() {
	o.try++
	o.c.num++
	o.mark = mark{int64(o.shard), o.c.name, o.slot, o.c.num}
	t := &pushTx{c: o.c, shard: o.shard, mark: o.mark, grant: o.grant, sent: o.c.p.now(), contested: o.contested}
	t.begin(o.events, func(err error) { o.committed(t, err) })
}

// committed decides on what a transaction came to.
func (o *pushOnce) committed(t *pushTx, err error) {
	switch {
	case err == nil:
		o.end(true, t, nil)
	case (postgres.Contended(err) || errors.Is(err, errCallOff)) && o.try < commitTries:
		o.contested = t.contested
		o.again()
	case !backend.IsUnknown(err) && o.unsure && !postgres.Poisoned(err):
		o.end(true, nil, fmt.Errorf("%w: %w", backend.ErrUnknown, err))
	case !backend.IsUnknown(err):
		o.end(true, nil, err)
	case o.events[0].submission != nil:
		if o.try == commitTries {
			o.end(true, nil, err)
			return
		}
		o.unsure = true
		o.again()
	default:
		o.settle(func(open []*pushEvent, unclear error) {
			switch {
			case unclear != nil || o.try == commitTries && len(open) > 0:
				o.end(unclear == nil, nil, errors.Join(err, unclear))
			case len(open) == 0:
				o.end(true, nil, nil)
			default:
				o.events, o.unsure = open, true
				o.again()
			}
		})
	}
}

// settle finds out what an unconfirmed commit did.
func (o *pushOnce) settle(k func([]*pushEvent, error)) {
	c := o.c
	c.s.w.note(Settles, c.p.index, int64(len(o.events)), 0, 0)
	if c.s.w.Bug == bugUnknownIsSuccess || c.s.w.Bug == bugUnknownIsFailure {
		answer := backend.Applied
		if c.s.w.Bug == bugUnknownIsFailure {
			answer = backend.Stale
		}
		for _, e := range o.events {
			o.out.Answer(e.ord, answer)
		}
		k(nil, nil)
		return
	}
	held, fence := c.leases(o.events), c.leases(o.events)
	fence.fence = true
	m := &pushMark{s: c.s, mark: o.mark}
	c.p.connect(func(conn *conn, err error) {
		if err != nil {
			k(nil, err)
			return
		}
		failed := func(err error) bool {
			if err != nil {
				conn.release()
				k(nil, err)
			}
			return err != nil
		}
		conn.send([]db.Statement{db.Begin}, func(err error) {
			if failed(err) {
				return
			}
			conn.send([]db.Statement{held}, func(err error) {
				if failed(err) {
					return
				}
				conn.send([]db.Statement{fence}, func(err error) {
					if failed(err) {
						return
					}
					conn.send([]db.Statement{db.Commit}, func(err error) {
						conn.release()
						if err != nil {
							k(nil, err)
							return
						}
						c.p.query(func(err error) {
							if err != nil {
								k(nil, err)
								return
							}
							k(o.settled(fence.held, m), nil)
						}, m)
					})
				})
			})
		})
	})
}

func (o *pushOnce) settled(fenced map[int32]int64, m *pushMark) []*pushEvent {
	var open []*pushEvent
	for _, e := range o.events {
		token, isOpen := fenced[e.ord]
		switch {
		case isOpen:
			e.token = token
			open = append(open, e)
		case m.took && !slices.Contains(m.stale, e.ord):
			o.out.Answer(e.ord, backend.Applied)
		default:
			o.out.Answer(e.ord, backend.Stale)
		}
	}
	o.out.Result.More = true
	return open
}

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
	contested []span
	ended     []*pushEvent
	result    backend.Committed
	k         func(error)
}

// goOn is a run that goes on.
type goOn struct {
	inst *instance
	key  runKey
}

// unknown marks the error of something that commits when it leaves open whether it did.
func unknown(err error) error {
	var unfit *postgres.UnfitError
	if postgres.Unconfirmed(err) && !errors.As(err, &unfit) {
		return fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	return err
}

// begin is apply.
func (t *pushTx) begin(events []*pushEvent, k func(error)) {
	t.k = k
	t.gone, t.moved = map[int32]bool{}, map[int32]bool{}
	single := true
	for _, e := range events {
		t.ords = max(t.ords, e.ord+1)
		single = single && len(e.plan.Arrivals) == 0 && len(e.plan.Resumes) == 0 && !callsOff(&e.plan)
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
			t.round(events, nil, nil, t.further)
		})
	})
}

// finish applies the last of the runs that go on and commits, in one round trip.
func (t *pushTx) finish(events []*pushEvent) {
	over := slices.Clip(t.over)
	for _, e := range events {
		if len(e.plan.Clears) > 0 || e.takesAll() {
			over = append(over, e)
		}
	}
	batch := append(t.drop(events, over, true), db.Commit)
	t.round(events, nil, batch, func(err error) {
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

// take reads what one apply statement gave.
func (t *pushTx) take(a *pushApply) error {
	t.reached, t.taken = a.reached, t.taken[:0:0]
	for i, e := range a.events {
		if a.gone[i] {
			t.gone[e.ord] = true
		}
		if a.moved[i] {
			t.moved[e.ord] = true
		}
		if !a.gone[i] {
			t.taken = append(t.taken, e)
			t.applied(e)
		}
	}
	for i := range a.runs {
		r := &a.runs[i]
		if !r.atOnce {
			continue
		}
		t.result.Tasks = append(t.result.Tasks, backend.Task{
			Lease:   backend.Lease{Key: backend.Key{Instance: r.e.inst.id, Run: r.q.Run}, Token: r.token},
			Program: r.e.program(), Action: r.q.Action, Args: r.args, Attempt: 1,
			Expires: epoch.Add(time.Duration(t.sent) + t.grant.Lease),
		})
	}
	t.ended = append(t.ended, a.ended...)
	for _, r := range t.reached {
		if r.required == neverReached {
			return &postgres.UnfitError{Err: fmt.Errorf("%w: instance %d, %s: its count is not known, or it was reached before", backend.ErrOverflow, r.inst.index, r.inst.twin.name(r.run))}
		}
	}
	return nil
}

// applied notes what follows from an event that took place.
func (t *pushTx) applied(e *pushEvent) {
	if e.submission != nil && e.plan.End != nil {
		t.ended = append(t.ended, e)
	}
	if len(e.plan.Clears) > 0 || e.takesAll() {
		t.over = append(t.over, e)
	}
	if r := e.plan.Retry; r != nil {
		t.result.More = t.result.More || r.After.Microseconds() <= 0
		t.due(r.After)
	}
	t.result.More = t.result.More || e.waits
	for i := range e.plan.Enqueues {
		if after := e.plan.Enqueues[i].After; after.Microseconds() > 0 {
			t.due(after)
		}
	}
}

func (t *pushTx) due(after time.Duration) {
	if due := epoch.Add(time.Duration(t.sent) + after); t.result.NextDue.IsZero() || due.Before(t.result.NextDue) {
		t.result.NextDue = due
	}
}

// follow finds the runs that go on because of the last round.
func (t *pushTx) follow() {
	t.goOn = t.goOn[:0]
	var added map[runKey]int
	for _, e := range t.taken {
		for _, run := range e.plan.Resumes {
			t.goOn = append(t.goOn, goOn{e.inst, keyOf(e.inst, run)})
		}
		for _, a := range e.plan.Arrivals {
			if a.Watched {
				if added == nil {
					added = map[runKey]int{}
				}
				added[keyOf(e.inst, a.Run)]++
			}
		}
	}
	for _, r := range t.reached {
		for _, ev := range r.inst.twin.w.load.compiled.Reached(r.run, r.required, r.counts-added[keyOf(r.inst, r.run)], r.counts) {
			t.goOn = append(t.goOn, goOn{r.inst, keyOf(r.inst, ev.Run)})
		}
	}
	slices.SortFunc(t.goOn, func(a, b goOn) int { return compareRun(a.key, b.key) })
}

// open reads what the runs that go on need, and plans them.
func (t *pushTx) open(k func([]*pushEvent, error)) {
	s := t.c.s
	var events []*pushEvent
	gather, read := &pushGather{s: s}, &pushRead{s: s}
	for _, g := range t.goOn {
		e := &pushEvent{ord: t.ords, inst: g.inst, fired: g.key.run()}
		t.ords++
		events = append(events, e)
		needs := e.program().Needs(e.happened())
		if needs.Elements {
			gather.events = append(gather.events, e)
		}
		read.add(e, needs.Slots)
	}
	batch := t.drop(t.taken, nil, true)
	if len(gather.events) > 0 {
		batch = append(batch, gather)
	}
	if len(read.wants) > 0 {
		batch = append(batch, read)
	}
	planned := func(err error) {
		for _, e := range events {
			if err == nil {
				var refused error
				if e.plan, refused = e.program().Step(e.happened(), e.inbox, 0); refused != nil {
					err = &postgres.UnfitError{Err: refused}
				}
			}
		}
		k(events, err)
	}
	if len(batch) == 0 {
		planned(nil)
		return
	}
	t.conn.send(batch, planned)
}

// drop gives the statements that take away what events unset, and others clear.
func (t *pushTx) drop(unset, clear []*pushEvent, sure bool) []db.Statement {
	d := &drops{}
	for _, e := range unset {
		d.unset(e)
	}
	for _, e := range clear {
		if t.c.s.w.Bug == bugLoopReset {
			break
		}
		d.clear(e)
	}
	var batch []db.Statement
	add := func(part, n int) {
		if n > 0 {
			batch = append(batch, &pushDrop{s: t.c.s, part: part, mark: t.mark, sure: sure, d: d})
		}
	}
	for _, all := range [][]span{d.runs, d.counters, d.elements, d.values} {
		sortSpans(all)
	}
	add(0, len(d.runs))
	add(1, len(d.counters))
	add(2, len(d.elements))
	add(3, len(d.values))
	add(4, len(d.ended))
	return batch
}

// callOff begins a transaction whose events call runs off by locking those runs.
func (t *pushTx) callOff(events []*pushEvent, k func(begun bool, err error)) {
	all := append(atWork(events), t.contested...)
	if len(all) == 0 {
		k(false, nil)
		return
	}
	for _, e := range events {
		if e.completion != nil {
			run := e.run()
			all = append(all, only(e, int32(run.Node), run.Path))
		}
	}
	sortSpans(all)
	first := &pushCallOff{s: t.c.s, all: all}
	t.hold(all, []db.Statement{db.Begin, first}, first, -1, 0, func(err error) { k(true, err) })
}

// callOffNext locks what is called off by runs that go on.
func (t *pushTx) callOffNext(events []*pushEvent, k func(error)) {
	all := atWork(events)
	if len(all) == 0 {
		k(nil)
		return
	}
	t.contested = append(t.contested, all...)
	sortSpans(all)
	t.hold(all, nil, nil, -1, 0, k)
}

// hold locks what has been queued since as well, until there is nothing new.
func (t *pushTx) hold(all []span, batch []db.Statement, first *pushCallOff, before, pass int, k func(error)) {
	if pass == callOffPasses {
		k(errCallOff)
		return
	}
	more := &pushCallOff{s: t.c.s, all: all, policy: db.NoWait}
	t.conn.send(append(batch, more), func(err error) {
		if first != nil {
			before = first.count
		}
		switch {
		case err != nil || more.count == before:
			k(err)
		default:
			t.hold(all, nil, nil, more.count, pass+1, k)
		}
	})
}

// withdraw takes back the tasks that the transaction itself has called off.
func (t *pushTx) withdraw() {
	w := t.c.s.w
	t.result.Tasks = slices.DeleteFunc(t.result.Tasks, func(task backend.Task) bool {
		return slices.ContainsFunc(t.over, func(e *pushEvent) bool {
			return e.callsOff(w.instanceOf(task.Lease.Key.Instance), task.Lease.Key.Run)
		})
	})
}

// add takes in a commit.
func (t *pushTx) add(out *postgres.Outcomes, events []*pushEvent) {
	for _, e := range events {
		switch {
		case !t.gone[e.ord]:
			out.Answer(e.ord, backend.Applied)
		case e.submission != nil:
			out.Answer(e.ord, backend.Duplicate)
		default:
			out.Answer(e.ord, backend.Stale)
		}
	}
	for _, e := range t.ended {
		t.result.Ended = append(t.result.Ended, backend.Instance{ID: e.inst.id, Status: statusOf(e.plan.End), Result: e.plan.End.Result, Failure: e.plan.End.Failure})
	}
	t.result.Tasks = slices.DeleteFunc(t.result.Tasks, func(task backend.Task) bool {
		return slices.ContainsFunc(t.ended, func(e *pushEvent) bool { return e.inst.id == task.Lease.Key.Instance })
	})
	out.Add(&t.result)
}

// submit is Backend.Submit.
func (c *pushClient) submit(subs []backend.Submission, grant backend.Grant, k func(backend.Committed, error)) {
	out := postgres.NewOutcomes(len(subs))
	byShard := make([][]*pushEvent, c.s.w.Shards)
	for i := range subs {
		inst := c.s.w.instanceOf(subs[i].ID)
		begun, err := subs[i].Program.Start(subs[i].Input)
		if err != nil {
			out.Refuse(int32(i), err)
			continue
		}
		e := &pushEvent{ord: int32(i), inst: inst, submission: &subs[i], plan: begun}
		if slices.ContainsFunc(byShard[inst.shard], func(o *pushEvent) bool { return o.inst == inst }) {
			out.Answer(int32(i), backend.Duplicate)
			continue
		}
		byShard[inst.shard] = append(byShard[inst.shard], e)
	}
	committed := false
	var next func(shard int)
	next = func(shard int) {
		for shard < len(byShard) && len(byShard[shard]) == 0 {
			shard++
		}
		if shard == len(byShard) {
			k(out.Committed(), nil)
			return
		}
		events := byShard[shard]
		slices.SortFunc(events, func(a, b *pushEvent) int { return a.inst.index - b.inst.index })
		c.commit(shard, events, grant, out, func(err error) {
			if err != nil && !committed {
				k(backend.Committed{}, err)
				return
			}
			if err != nil {
				again(out, events, err)
			}
			committed = true
			next(shard + 1)
		})
	}
	next(0)
}

// claim is Backend.Claim.
func (c *pushClient) claim(shard int, grant backend.Grant, k func(backend.Committed, error)) {
	p := c.p
	claim := &pushClaim{s: c.s, shard: shard, most: grant.Max, owner: int32(p.index), lease: int64(grant.Lease)}
	due := &pushNextDue{s: c.s, shard: shard}
	var sent int64
	p.connect(func(conn *conn, err error) {
		if err != nil {
			k(backend.Committed{}, err)
			return
		}
		sent = p.now()
		conn.send([]db.Statement{claim, due}, func(err error) {
			conn.release()
			if err != nil {
				k(backend.Committed{}, unknown(err))
				return
			}
			c.claimed(claim, due, sent, grant, k)
		})
	})
}

// claimed gives claimed rows the values that their arguments refer to.
func (c *pushClient) claimed(claim *pushClaim, due *pushNextDue, sent int64, grant backend.Grant, k func(backend.Committed, error)) {
	var out backend.Committed
	if !due.none {
		out.NextDue = epoch.Add(time.Duration(sent + max(due.in, 0)))
		out.More = due.in <= 0
	}
	read := &pushRead{s: c.s}
	events := make([]*pushEvent, len(claim.tasks))
	for i, t := range claim.tasks {
		events[i] = &pushEvent{inst: t.inst}
		read.add(events[i], backend.Refs(t.args))
	}
	finish := func(err error) {
		if err != nil {
			k(backend.Committed{}, fmt.Errorf("%w: %w", backend.ErrUnknown, err))
			return
		}
		for i, t := range claim.tasks {
			var args json.RawMessage
			if args, err = backend.AssembleArgs(t.args, events[i].value); err != nil {
				continue // the instance has ended meanwhile
			}
			out.Tasks = append(out.Tasks, backend.Task{
				Lease:   backend.Lease{Key: backend.Key{Instance: t.inst.id, Run: t.run}, Token: t.token},
				Program: t.inst.twin.w.load.compiled, Action: t.action, Args: args, Attempt: t.attempt,
				Expires: epoch.Add(time.Duration(sent) + grant.Lease),
			})
		}
		k(out, nil)
	}
	if len(read.wants) == 0 {
		finish(nil)
		return
	}
	c.p.query(finish, read)
}

// extend is Backend.Extend.
func (c *pushClient) extend(shard int, leases []backend.Lease, grant backend.Grant, k func([]bool, error)) {
	held := make([]bool, len(leases))
	l := &pushLeases{s: c.s, extend: int64(grant.Lease)}
	for i, lease := range leases {
		l.leases = append(l.leases, heldRun{int32(i), c.s.w.instanceOf(lease.Key.Instance), lease.Key.Run, lease.Token})
	}
	slices.SortFunc(l.leases, func(a, b heldRun) int { return compareRun(keyOf(a.inst, a.run), keyOf(b.inst, b.run)) })
	c.p.connect(func(conn *conn, err error) {
		if err != nil {
			k(nil, err)
			return
		}
		var try func(n int)
		try = func(n int) {
			this := *l
			conn.send([]db.Statement{&this}, func(err error) {
				if postgres.Contended(err) && n < extendTries {
					try(n + 1)
					return
				}
				conn.release()
				if err != nil {
					k(nil, unknown(err))
					return
				}
				for ord := range this.held {
					held[ord] = true
				}
				k(held, nil)
			})
		}
		try(1)
	})
}

// sweep is Backend.Sweep.
func (c *pushClient) sweep(shard int, k func(backend.Swept, error)) {
	u := &pushUntidy{s: &c.s.base, shard: shard}
	c.p.query(func(err error) {
		if err != nil {
			k(backend.Swept{}, err)
			return
		}
		var swept backend.Swept
		var next func(i int)
		next = func(i int) {
			if i == len(u.found) {
				swept.More = swept.Rows > 0
				k(swept, nil)
				return
			}
			c.piece(u.found[i], 0, 0, func(removed int, err error) {
				if err != nil {
					k(swept, err)
					return
				}
				swept.Rows += removed
				next(i + 1)
			})
		}
		next(0)
	}, u)
}

// piece removes some of what an instance left.
func (c *pushClient) piece(inst *instance, table, removed int, k func(int, error)) {
	if table == 4 && removed > 0 {
		k(removed, nil)
		return
	}
	t := &pushTidy{s: c.s, inst: inst, table: table}
	c.p.query(func(err error) {
		if err != nil || table == 4 {
			k(removed, err)
			return
		}
		c.piece(inst, table+1, removed+t.removed, k)
	}, t)
}

// tidy sweeps what an instance left that has just ended.
func (c *pushClient) tidy(inst *instance, pass int, k func()) {
	c.piece(inst, 0, 0, func(removed int, err error) {
		if err != nil || removed == 0 || pass+1 == tidyPasses {
			k()
			return
		}
		c.tidy(inst, pass+1, k)
	})
}

// tidyAfter begins to sweep what instances left that a commit ended.
func (c *pushClient) tidyAfter(t *pushTx, k func()) {
	var next func(i int)
	next = func(i int) {
		for i < len(t.ended) && (t.ended[i].submission != nil || t.ended[i].takesAll()) {
			i++
		}
		if i == len(t.ended) || c.s.w.Bug == bugEndedTwice {
			k()
			return
		}
		c.tidy(t.ended[i].inst, 0, func() { next(i + 1) })
	}
	next(0)
}

// cancel is Backend.Cancel of one instance.
func (c *pushClient) cancel(inst *instance, k func(error)) {
	st := &cancelRunning{s: &c.s.base, inst: inst}
	c.p.query(func(err error) {
		if err != nil {
			k(unknown(err))
			return
		}
		look := func() {
			l := &lookedUp{s: &c.s.base, inst: inst}
			c.p.query(func(err error) {
				if err == nil && l.status == backend.Running {
					c.cancel(inst, k)
					return
				}
				k(err)
			}, l)
		}
		if st.ended {
			c.tidy(inst, 0, look)
			return
		}
		look()
	}, st)
}

// close is Backend.Close.
func (c *pushClient) close(k func()) { k() }
