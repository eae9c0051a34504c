package explore

import (
	"fmt"
	"slices"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/push"
	"pulley/engine/plan"
	"pulley/sim/db"
)

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
	if len(e.plan.Clears) > 0 || push.TakesAll(e) {
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
	if t.c.s.w.Bug == bugAtOrAbove {
		t.reachAgain()
	}
	for _, r := range t.reached {
		for _, ev := range r.inst.twin.w.load.compiled.Reached(r.run, r.required, r.counts-added[keyOf(r.inst, r.run)], r.counts) {
			t.goOn = append(t.goOn, goOn{r.inst, keyOf(r.inst, ev.Run)})
		}
	}
	slices.SortFunc(t.goOn, func(a, b goOn) int { return compareRun(a.key, b.key) })
}

// reachAgain is a bug: each arrival asks for itself whether the count is full or beyond, and of those that are committed
// together each finds that it is.
func (t *pushTx) reachAgain() {
	for _, r := range slices.Clone(t.reached) {
		arrivals := 0
		for _, e := range t.taken {
			arrivals += count(e.plan.Arrivals, func(a plan.Arrival) bool { return e.inst == r.inst && a.Run == r.run })
		}
		for range arrivals - 1 {
			if r.counts >= r.required {
				t.reached = append(t.reached, r)
			}
		}
	}
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
		t.events = append(t.events, e)
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
	if t.c.s.w.Bug == bugLoopReset {
		clear = nil
	}
	d := push.DropsOf(unset, clear)
	var batch []db.Statement
	add := func(part, n int) {
		if n > 0 {
			batch = append(batch, &pushDrop{s: t.c.s, part: part, mark: t.mark, sure: sure, d: d})
		}
	}
	add(0, len(d.Runs))
	add(1, len(d.Counters))
	add(2, len(d.Elements))
	add(3, len(d.Values))
	add(4, len(d.Ended))
	return batch
}

// callOff begins a transaction whose events call runs off by locking those runs.
func (t *pushTx) callOff(events []*pushEvent, k func(begun bool, err error)) {
	all := append(push.AtWork(events), t.contested.Runs...)
	if len(all)+len(t.contested.Counters) == 0 {
		k(false, nil)
		return
	}
	for _, e := range events {
		if e.completion != nil {
			all = append(all, push.OwnRun(e))
		}
	}
	push.SortSpans(all)
	first := &pushCallOff{s: t.c.s, all: all}
	t.hold(all, []db.Statement{db.Begin, first}, first, -1, 0, func(err error) {
		if err != nil || len(t.contested.Counters) == 0 {
			k(true, err)
			return
		}
		t.contested.Sort()
		t.hurried = true
		t.conn.send([]db.Statement{&pushHoldCounters{s: t.c.s, all: t.contested.Counters}, db.LockTimeout}, func(err error) { k(true, err) })
	})
}

// beforeNext is the statement that goes before runs that go on.
func (t *pushTx) beforeNext(events []*pushEvent) []db.Statement {
	if t.hurried || !push.MayWait(events) || t.c.s.w.Bug == bugLaterRoundsWait || t.c.s.w.Bug == bugPlaceGiven {
		return nil
	}
	t.hurried = true
	return []db.Statement{db.LockTimeout}
}

// met is what the next try locks first.
func (t *pushTx) met() push.Contested {
	for _, e := range t.events {
		t.contested.Meet(e)
	}
	return t.contested
}

// callOffNext locks what is called off by runs that go on.
func (t *pushTx) callOffNext(events []*pushEvent, k func(error)) {
	all := push.AtWork(events)
	if len(all) == 0 {
		k(nil)
		return
	}
	t.contested.Runs = append(t.contested.Runs, all...)
	push.SortSpans(all)
	t.hold(all, nil, nil, -1, 0, k)
}

// hold locks what has been queued since as well, until there is nothing new.
func (t *pushTx) hold(all []push.Span, batch []db.Statement, first *pushCallOff, before, pass int, k func(error)) {
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
	t.result.Tasks = slices.DeleteFunc(t.result.Tasks, func(task backend.Task) bool {
		return slices.ContainsFunc(t.over, func(e *pushEvent) bool {
			return push.CallsOffRun(e, task.Lease.Key)
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
