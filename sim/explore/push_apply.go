package explore

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/push"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/sim/db"
)

// The tables of push.
type (
	queued struct {
		token   int64
		due     int64
		attempt int
		owner   int32 // plus one; zero: nobody
		args    []plan.Arg
		action  string
	}
	readiness struct {
		required, completed int
		soft                bool
	}
	collected struct {
		places []int
		vals   []json.RawMessage
	}
	commitKey struct {
		shard, backend int64
		slot           int32
	}
	commitRow struct {
		number int64
		stale  []int32
		at     int64 // on the server's clock
	}
)

func compareCommit(a, b commitKey) int {
	return cmp.Or(cmp.Compare(a.shard, b.shard), cmp.Compare(a.backend, b.backend), cmp.Compare(a.slot, b.slot))
}

// neverReached is the count of a barrier that nobody has opened.
const neverReached = math.MaxInt32

// pushStore is what is on the server.
type pushStore struct {
	base
	queue     *db.Table[runKey, queued]
	readiness *db.Table[runKey, readiness]
	inbox     *db.Table[valueKey, json.RawMessage]
	elements  *db.Table[valueKey, collected]
	commits   *db.Table[commitKey, commitRow]
	backends  int64 // that were opened
}

func newPushStore(w *world) *pushStore {
	s := w.server.Server
	return &pushStore{
		base:      newBase(w),
		queue:     db.NewTable[runKey, queued](s, "queue", compareRun),
		readiness: db.NewTable[runKey, readiness](s, "readiness", compareRun),
		inbox:     db.NewTable[valueKey, json.RawMessage](s, "inbox", compareValue),
		elements:  db.NewTable[valueKey, collected](s, "elements", compareValue),
		commits:   db.NewTable[commitKey, commitRow](s, "commits", compareCommit),
	}
}

// mark is where a commit says that it took place.
type mark struct {
	shard, backend int64
	slot           int32
	number         int64
}

func (m mark) key() commitKey { return commitKey{m.shard, m.backend, m.slot} }

// pushApply is apply.sql: it goes through its parts in the order in which the server does.
type pushApply struct {
	s      *pushStore
	mark   mark
	owner  int32
	lease  int64
	events []*pushEvent

	part    int
	i, j    int
	offered []offeredRun
	counts  []counting
	ending  []ending
	chosen  *db.Version[int32, instanceRow]
	parts   []elementPart
	took    bool
	runs    []enqueuing

	gone    []bool // by event: it did not take place
	moved   []bool
	reached []reachedBarrier
	ended   []*pushEvent
}

type offeredRun struct {
	at int // in events
	v  *db.Version[runKey, queued]
}

type counting struct {
	key  runKey
	inst *instance
	readiness
	hard int
}

type ending struct {
	e *pushEvent
	v *db.Version[int32, instanceRow]
}

type elementPart struct {
	key valueKey
	collected
}

type enqueuing struct {
	e      *pushEvent
	q      *plan.Enqueue
	atOnce bool
	args   json.RawMessage // where it is leased at once
	token  int64
}

// reachedBarrier is how far a barrier has come.
type reachedBarrier struct {
	inst             *instance
	run              graph.Run
	required, counts int
}

func (a *pushApply) writes() bool { return true }

// Run implements db.Statement.
func (a *pushApply) Run(x *db.Exec) error {
	if a.gone == nil {
		a.offer(x)
	}
	for {
		more, err := a.step(x)
		if err != nil {
			return err
		}
		if !more {
			a.part, a.i, a.j = a.part+1, 0, 0
			if a.part == len(pushParts) {
				a.report(x)
				return nil
			}
		}
	}
}

// pushParts are the parts of the statement, each of which does one row and says whether there is more.
var pushParts = [...]func(*pushApply, *db.Exec) (bool, error){
	(*pushApply).done, (*pushApply).born, (*pushApply).arrive, (*pushApply).fresh, (*pushApply).end, (*pushApply).leave,
	(*pushApply).valued, (*pushApply).collect, (*pushApply).queued, (*pushApply).requeued,
}

func (a *pushApply) step(x *db.Exec) (bool, error) { return pushParts[a.part](a, x) }

// offer looks up the completions' rows by their keys and tokens, of instances that run.
func (a *pushApply) offer(x *db.Exec) {
	a.gone, a.moved = make([]bool, len(a.events)), make([]bool, len(a.events))
	bugs := a.s.w.Bug
	for i, e := range a.events {
		if e.completion == nil {
			continue
		}
		a.gone[i] = true
		in := a.s.instances.Get(x, int32(e.inst.index))
		v := a.s.queue.Get(x, e.key())
		if in == nil || in.Value.status != backend.Running && bugs != bugEndedTwice || v == nil || v.Value.token != e.token && bugs != bugTokenIgnored {
			continue
		}
		a.offered = append(a.offered, offeredRun{i, v})
	}
	if completes := func(e *pushEvent) bool { return e.completion != nil }; bugs == bugStaleDrops && len(a.offered) < count(a.events, completes) {
		a.offered = nil
	}
}

func count[T any](list []T, which func(T) bool) (n int) {
	for _, x := range list {
		if which(x) {
			n++
		}
	}
	return n
}

func (a *pushApply) done(x *db.Exec) (bool, error) {
	if a.i == len(a.offered) {
		return false, nil
	}
	o := a.offered[a.i]
	ok, err := a.s.queue.Delete(x, o.v)
	if err != nil {
		return false, err
	}
	if a.gone[o.at], a.moved[o.at] = !ok, !ok; ok {
		a.took = true
	}
	a.i++
	return true, nil
}

func (a *pushApply) born(x *db.Exec) (bool, error) {
	for a.i < len(a.events) && a.events[a.i].submission == nil {
		a.i++
	}
	if a.i == len(a.events) {
		return false, nil
	}
	e := a.events[a.i]
	row := instanceRow{inst: e.inst, status: backend.Running}
	if end := e.plan.End; end != nil {
		row.status, row.result, row.failure = statusOf(end), end.Result, end.Failure
	}
	ok, err := a.s.instances.InsertNew(x, int32(e.inst.index), row)
	if err != nil {
		return false, err
	}
	a.gone[a.i] = !ok
	a.i++
	return true, nil
}

func statusOf(end *plan.End) backend.Status {
	if end.Failure != nil {
		return backend.Failed
	}
	return backend.Completed
}

// count sums up the arrivals of what took place, by barrier, in order.
func (a *pushApply) count() {
	add := func(e *pushEvent, run graph.Run, required, hard int, soft bool) {
		key := keyOf(e.inst, run)
		i := slices.IndexFunc(a.counts, func(c counting) bool { return c.key == key })
		if i < 0 {
			i = len(a.counts)
			a.counts = append(a.counts, counting{key: key, inst: e.inst})
		}
		c := &a.counts[i]
		c.required = max(c.required, required)
		c.hard += hard
		c.soft = c.soft || soft
	}
	for i, e := range a.events {
		if a.gone[i] && a.s.w.Bug != bugReadinessBeforeGuard {
			continue
		}
		for _, o := range e.plan.Opens {
			add(e, o.Run, o.Required, 0, false)
		}
		for _, r := range e.plan.Arrivals {
			if r.Soft {
				add(e, r.Run, r.Required, 0, true)
			} else {
				add(e, r.Run, r.Required, 1, false)
			}
		}
	}
	for i := range a.counts {
		c := &a.counts[i]
		if c.required == 0 {
			c.required = neverReached
		}
		c.completed = c.hard
		if c.soft {
			c.completed++
		}
	}
	if a.s.w.Bug != bugMapOrder {
		slices.SortFunc(a.counts, func(a, b counting) int { return compareRun(a.key, b.key) })
	} else {
		a.s.w.rng.Shuffle(len(a.counts), func(i, j int) { a.counts[i], a.counts[j] = a.counts[j], a.counts[i] })
	}
}

func (a *pushApply) arrive(x *db.Exec) (bool, error) {
	if a.i == 0 && a.counts == nil {
		a.count()
	}
	if a.i == len(a.counts) {
		return false, nil
	}
	c := &a.counts[a.i]
	if c.completed > c.required {
		return false, db.CheckViolation("readiness_overflow")
	}
	now, ok, err := a.s.readiness.Upsert(x, c.key, c.readiness, func(old readiness) (readiness, bool, error) {
		again := 0
		if old.soft && c.soft {
			again = 1
		}
		if c.completed <= again {
			return old, false, nil
		}
		old.completed += c.completed - again
		old.soft = old.soft || c.soft
		if old.completed > old.required {
			return old, false, db.CheckViolation("readiness_overflow")
		}
		return old, true, nil
	})
	if err != nil {
		return false, err
	}
	if ok {
		a.reached = append(a.reached, reachedBarrier{c.inst, c.key.run(), now.required, now.completed})
	}
	a.i++
	return true, nil
}

// fresh gives tokens to the runs of what took place.
func (a *pushApply) fresh(*db.Exec) (bool, error) {
	kept := a.runs[:0]
	for _, r := range a.runs {
		if !a.lost(r.e) {
			r.token = a.s.tokens.Next()
			kept = append(kept, r)
		}
	}
	a.runs = kept
	return false, nil
}

// lost says whether an event did not take place.
func (a *pushApply) lost(e *pushEvent) bool {
	for i := range a.events {
		if a.events[i] == e {
			return a.gone[i]
		}
	}
	return true
}

// end ends instances: their rows are locked, and then changed by the address.
func (a *pushApply) end(x *db.Exec) (bool, error) {
	if a.ending == nil {
		a.ending = []ending{}
		for i, e := range a.events {
			if e.plan.End == nil || e.submission != nil || a.gone[i] {
				continue
			}
			same := func(o ending) bool { return o.e.inst == e.inst }
			if v := a.s.instances.Get(x, int32(e.inst.index)); v != nil && !slices.ContainsFunc(a.ending, same) {
				a.ending = append(a.ending, ending{e, v})
			}
		}
	}
	if a.i == len(a.ending) {
		return false, nil
	}
	o := a.ending[a.i]
	if a.chosen == nil {
		v, err := a.s.instances.Lock(x, o.v, db.ForUpdate, db.Wait)
		if err != nil {
			return false, err
		}
		if v == nil || v.Value.status != backend.Running && a.s.w.Bug != bugEndedTwice {
			a.i++
			return true, nil
		}
		a.chosen = v
	}
	row := a.chosen.Value
	row.status, row.result, row.failure, row.untidy = statusOf(o.e.plan.End), o.e.plan.End.Result, o.e.plan.End.Failure, !push.TakesAll(o.e)
	ok, err := a.s.instances.Update(x, a.chosen, db.NoKeyUpdate, row)
	if err != nil {
		return false, err
	}
	if ok {
		a.ended = append(a.ended, o.e)
	}
	a.chosen = nil
	a.i++
	return true, nil
}

// leave leaves the commit's mark.
func (a *pushApply) leave(x *db.Exec) (bool, error) {
	if !a.took {
		return false, nil
	}
	var stale []int32
	for i, e := range a.events {
		if a.gone[i] {
			stale = append(stale, e.ord)
		}
	}
	row := commitRow{a.mark.number, stale, a.s.w.server.clock()}
	_, _, err := a.s.commits.Upsert(x, a.mark.key(), row, func(old commitRow) (commitRow, bool, error) {
		return row, old.number < row.number, nil
	})
	return false, err
}

func (a *pushApply) valued(x *db.Exec) (bool, error) {
	if a.s.w.Bug == bugInboxOutside {
		return false, nil // see pushValues
	}
	for ; a.i < len(a.events); a.i, a.j = a.i+1, 0 {
		if a.gone[a.i] {
			continue
		}
		if err := a.s.write(x, a.events[a.i], &a.j); err != nil {
			return false, err
		}
	}
	return false, nil
}

// write puts the values of an event's plan into the inbox, from one on.
func (s *pushStore) write(x *db.Exec, e *pushEvent, from *int) error {
	for n := len(e.plan.Writes); *from < n+len(e.plan.Appends); *from++ {
		key := valueKey{inst: int32(e.inst.index), element: -1}
		var value json.RawMessage
		if *from < n {
			w := e.plan.Writes[*from]
			if w.Value == nil {
				continue
			}
			key.id, key.path, value = int32(w.Slot.Var), string(w.Slot.Scope), w.Value
		} else {
			p := e.plan.Appends[*from-n]
			key.id, key.path, key.element, value = int32(p.Slot.Var), string(p.Slot.Scope), int32(p.Index), p.Value
		}
		if _, _, err := s.inbox.Upsert(x, key, value, func(json.RawMessage) (json.RawMessage, bool, error) { return value, true, nil }); err != nil {
			return err
		}
	}
	return nil
}

// pushValues is a bug: a transaction of its own that writes the values of events, whatever becomes of these.
type pushValues struct {
	s      *pushStore
	events []*pushEvent
	i, j   int
}

// Run implements db.Statement.
func (v *pushValues) Run(x *db.Exec) error {
	for ; v.i < len(v.events); v.i, v.j = v.i+1, 0 {
		if err := v.s.write(x, v.events[v.i], &v.j); err != nil {
			return err
		}
	}
	return nil
}

// collect adds elements: those that stand together in the list in one row.
func (a *pushApply) collect(x *db.Exec) (bool, error) {
	if a.parts == nil {
		a.parts = []elementPart{}
		for i, e := range a.events {
			for _, el := range e.plan.Elements {
				if a.gone[i] {
					continue
				}
				a.part1(e, el)
			}
		}
	}
	for ; a.i < len(a.parts); a.i++ {
		p := &a.parts[a.i]
		p.key.element = int32(slices.Min(p.places))
		if err := a.s.elements.Insert(x, p.key, p.collected); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (a *pushApply) part1(e *pushEvent, el plan.Element) {
	key := valueKey{inst: int32(e.inst.index), id: int32(el.Barrier.Node), path: string(el.Barrier.Path), element: int32(el.Index >> 6)}
	i := slices.IndexFunc(a.parts, func(p elementPart) bool { return p.key == key })
	if i < 0 {
		i = len(a.parts)
		a.parts = append(a.parts, elementPart{key: key})
	}
	p := &a.parts[i]
	p.places, p.vals = append(p.places, el.Index), append(p.vals, el.Value)
}

func (a *pushApply) queued(x *db.Exec) (bool, error) {
	for ; a.i < len(a.runs); a.i++ {
		r := &a.runs[a.i]
		row := queued{token: r.token, due: a.s.w.server.clock() + int64(r.q.After), attempt: 1, args: r.q.Args, action: r.q.Action}
		if r.atOnce {
			row.due, row.owner = a.s.w.server.clock()+a.lease, a.owner+1
		}
		if err := a.s.queue.Insert(x, keyOf(r.e.inst, r.q.Run), row); err != nil {
			return false, err
		}
	}
	return false, nil
}

// requeued puts runs that are tried again into the queue anew.
func (a *pushApply) requeued(x *db.Exec) (bool, error) {
	for ; a.i < len(a.offered); a.i++ {
		o := a.offered[a.i]
		e := a.events[o.at]
		if a.gone[o.at] || e.plan.Retry == nil {
			continue
		}
		row := o.v.Value
		row.token, row.owner, row.attempt = a.s.tokens.Next(), 0, row.attempt+1
		row.due = a.s.w.server.clock() + int64(e.plan.Retry.After)
		if err := a.s.queue.Insert(x, e.key(), row); err != nil {
			return false, err
		}
	}
	return false, nil
}

// report leaves notes of what took place.
func (a *pushApply) report(x *db.Exec) {
	for i, e := range a.events {
		if !a.gone[i] {
			x.Note(e.note(x.Begun()))
		}
	}
	for _, e := range a.ended {
		x.Note(endedNote{e.inst, statusOf(e.plan.End)})
	}
	for i, e := range a.events {
		if e.submission != nil && e.plan.End != nil && !a.gone[i] {
			x.Note(endedNote{e.inst, statusOf(e.plan.End)})
		}
	}
	for i := range a.runs {
		if r := &a.runs[i]; r.atOnce {
			x.Note(leasedNote{r.e.inst, r.q.Run, r.token, 1, x.Begun()})
		}
	}
}
