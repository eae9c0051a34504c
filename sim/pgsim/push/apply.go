package push

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/push"
	"pulley/internal/pgstore"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
)

// application is an execution of apply.sql: its parameters and the results of its parts.
type application struct {
	s *Store
	*cutApply
	args []any

	offered  []offeredRun
	done     []int // indices of offered rows that were deleted
	created  []bool
	stale    []int32 // ords of events that are not applied
	retry    []int32
	sums     []counting
	barriers []counting // as they are now
	tokens   []int64    // of node runs; zero: their event is not applied
	leased   []int64
	ending   []ending
	ended    []int32
	parted   []elementPart
}

type offeredRun struct {
	at  int // index in the completions
	ord int32
	v   *db.Version[pgsim.RunKey, queued]
}

// counting is the sum of the arrivals at one barrier.
type counting struct {
	id  [16]byte
	key pgsim.RunKey
	readiness
}

// ending is an end: the index of its parameters, and the locked row.
type ending struct {
	at int
	v  *db.Version[int32, pgsim.InstanceRow]
}

type elementPart struct {
	key pgsim.ValueKey
	collected
}

// parameter returns a parameter by its number in the file; zero if the cut-down statement does not take it.
func parameter[T any](p *application, number int) (v T) {
	if place := p.cutApply.place[number]; place > 0 {
		v, _ = p.args[place-1].(T)
	}
	return v
}

// elementsOf decodes an array that package pgstore has encoded. Elements of 64 bits or JSON may be null; those of 32 bits are zero then.
func elementsOf(array *pgstore.Array) any {
	e := array.Elements()
	switch array.ElementOID() {
	case pgtype.Int4OID:
		return eachOf(e, func(v []byte) int32 {
			if v == nil {
				return 0
			}
			return pgstore.Int4(v)
		})
	case pgtype.Int8OID:
		return nullableOf(e, pgstore.Int8)
	case pgtype.BoolOID:
		return eachOf(e, func(v []byte) bool { return v[0] != 0 })
	case pgtype.UUIDOID:
		return eachOf(e, func(v []byte) [16]byte { return [16]byte(v) })
	case pgtype.TextOID:
		return eachOf(e, func(v []byte) string { return string(v) })
	default:
		return nullableOf(e, func(v []byte) string { return string(v) })
	}
}

func eachOf[T any](e pgstore.Elements, read func([]byte) T) []T {
	list := make([]T, 0, e.Len())
	for e.Len() > 0 {
		list = append(list, read(e.Next()))
	}
	return list
}

func nullableOf[T any](e pgstore.Elements, read func([]byte) T) []*T {
	values, list := make([]T, e.Len()), make([]*T, e.Len())
	for i := range list {
		if v := e.Next(); v != nil {
			values[i] = read(v)
			list[i] = &values[i]
		}
	}
	return list
}

// apply is apply.sql. Its parts run in the server's order: first those that the result is read from, in the order of the text;
// then the others, last first. It decodes its arguments first, because the sender reuses their memory.
func (s *Store) apply(on *pgsim.Conn, a *pgsim.Statement, cut *cutApply) {
	a.Args = slices.Clone(a.Args)
	for i, v := range a.Args {
		if array, ok := v.(*pgstore.Array); ok {
			a.Args[i] = elementsOf(array)
		}
	}
	p, events := &application{s: s, cutApply: cut, args: a.Args}, on.Events.([]push.Applied)
	if s.World.Bug == cases.BugInboxOutside {
		p.outside(on.Host)
	}
	a.Write = true
	p.offer(a)
	p.complete(a)
	p.create(a)
	p.arrive(a)
	p.draw(a)
	p.end(a)
	a.Then(func(*db.Exec) error {
		p.answer(a)
		return nil
	})
	p.requeue(a)
	p.enqueue(a)
	p.collect(a)
	p.write(a)
	p.leave(a)
	a.Then(func(x *db.Exec) error {
		p.report(x, events)
		return nil
	})
}

func (p *application) lost(ord int32) bool { return slices.Contains(p.stale, ord) }

func (p *application) offer(a *pgsim.Statement) {
	s := p.s
	ords, ids, nodes, paths, tokens := parameter[[]int32](p, 8), parameter[[][16]byte](p, 9), parameter[[]int32](p, 10), parameter[[]string](p, 11), parameter[[]*int64](p, 12)
	a.Then(func(x *db.Exec) error {
		for i := range ords {
			v := s.queue.Get(x, s.Key(ids[i], nodes[i], paths[i]))
			if v != nil && (v.Value.Token == *tokens[i] || s.World.Bug == cases.BugTokenIgnored) && (s.Running(x, ids[i]) != nil || s.World.Bug == cases.BugEndedTwice) {
				p.offered = append(p.offered, offeredRun{i, ords[i], v})
			}
		}
		switch s.World.Bug {
		case cases.BugStaleDrops:
			if len(p.offered) < len(ords) {
				p.offered = nil
			}
		case cases.BugMapOrder:
			s.World.Rand.Shuffle(len(p.offered), func(i, j int) { p.offered[i], p.offered[j] = p.offered[j], p.offered[i] })
		}
		return nil
	})
}

func (p *application) complete(a *pgsim.Statement) {
	a.Each(func() int { return len(p.offered) }, func(x *db.Exec, i int) error {
		ok, err := p.s.queue.Delete(x, p.offered[i].v)
		if ok {
			p.done = append(p.done, i)
			p.s.occupy(x, p.place())
		} else if err == nil {
			p.retry = append(p.retry, p.offered[i].ord)
		}
		return err
	})
}

// create inserts new instances; then the stale events are known.
func (p *application) create(a *pgsim.Statement) {
	s := p.s
	ords, ids, statuses := parameter[[]int32](p, 14), parameter[[][16]byte](p, 15), parameter[[]string](p, 18)
	results, failures := parameter[[]*string](p, 19), parameter[[]*string](p, 20)
	p.created = make([]bool, len(ords))
	a.Each(func() int { return len(ords) }, func(x *db.Exec, i int) (err error) {
		row := pgsim.InstanceRow{Inst: s.InstanceOf(ids[i]), Status: backend.Status(statuses[i]), Submitted: s.Now()}
		row.End(results[i], failures[i])
		p.created[i], err = s.Instances.InsertNew(x, int32(row.Inst.Index), row)
		return err
	})
	a.Then(func(*db.Exec) error {
		p.stale = []int32{}
		for at, ord := range parameter[[]int32](p, 8) {
			if !slices.ContainsFunc(p.done, func(i int) bool { return p.offered[i].at == at }) {
				p.stale = append(p.stale, ord)
			}
		}
		for i, ord := range ords {
			if !p.created[i] {
				p.stale = append(p.stale, ord)
			}
		}
		return nil
	})
}

func (p *application) sum() {
	ords, ids, nodes, paths := parameter[[]int32](p, 33), parameter[[][16]byte](p, 34), parameter[[]int32](p, 35), parameter[[]string](p, 36)
	required, hard, soft := parameter[[]int32](p, 37), parameter[[]int32](p, 38), parameter[[]int32](p, 39)
	at := map[pgsim.RunKey]int{}
	for i, ord := range ords {
		if p.lost(ord) && p.s.World.Bug != cases.BugReadinessBeforeGuard {
			continue
		}
		key := p.s.Key(ids[i], nodes[i], paths[i])
		j, ok := at[key]
		if !ok {
			j = len(p.sums)
			at[key] = j
			p.sums = append(p.sums, counting{id: ids[i], key: key})
		}
		c := &p.sums[j]
		c.required = max(c.required, required[i])
		c.completed += hard[i]
		c.soft = c.soft || soft[i] > 0
	}
	for i := range p.sums {
		c := &p.sums[i]
		if c.required == 0 {
			c.required = unopenedCount
		}
		if c.soft {
			c.completed++
		}
	}
	slices.SortFunc(p.sums, func(a, b counting) int { return pgsim.CompareRun(a.key, b.key) })
	if p.s.World.Bug == cases.BugMapOrder {
		p.s.World.Rand.Shuffle(len(p.sums), func(i, j int) { p.sums[i], p.sums[j] = p.sums[j], p.sums[i] })
	}
}

func (p *application) arrive(a *pgsim.Statement) {
	a.Then(func(*db.Exec) error {
		p.sum()
		return nil
	})
	a.Each(func() int { return len(p.sums) }, func(x *db.Exec, i int) error {
		c := p.sums[i]
		if c.completed > c.required {
			return db.CheckViolation("readiness_overflow")
		}
		now, ok, err := p.s.readiness.Upsert(x, c.key, c.readiness, func(old readiness) (readiness, bool, error) {
			again := int32(0)
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
		if ok {
			p.barriers = append(p.barriers, counting{c.id, c.key, now})
		}
		return err
	})
}

func (p *application) draw(a *pgsim.Statement) {
	ords, waits := parameter[[]int32](p, 40), parameter[[]*int64](p, 45)
	p.tokens, p.leased = make([]int64, len(ords)), []int64{}
	a.Then(func(*db.Exec) error {
		for i, ord := range ords {
			if p.lost(ord) {
				continue
			}
			if p.tokens[i] = p.s.Tokens.Next(); waits[i] == nil {
				p.leased = append(p.leased, p.tokens[i])
			}
		}
		return nil
	})
}

// end ends instances: it locks all their rows, and then updates one for each instance, by address.
func (p *application) end(a *pgsim.Statement) {
	s := p.s
	ords, ids, statuses := parameter[[]int32](p, 46), parameter[[][16]byte](p, 47), parameter[[]string](p, 48)
	results, failures := parameter[[]*string](p, 49), parameter[[]*string](p, 50)
	p.ended = []int32{}
	a.Each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
		v := s.Instances.Get(x, int32(s.InstanceOf(ids[i]).Index))
		if v == nil || p.lost(ords[i]) {
			return nil
		}
		v, err := s.Instances.Lock(x, v, db.ForUpdate, db.Wait)
		if v == nil || err != nil || v.Value.Status != backend.Running && s.World.Bug != cases.BugEndedTwice {
			return err
		}
		switch at := slices.IndexFunc(p.ending, func(e ending) bool { return e.v.Row == v.Row }); {
		case at < 0:
			p.ending = append(p.ending, ending{i, v})
		case ords[i] < ords[p.ending[at].at]:
			p.ending[at].at = i
		}
		return nil
	})
	a.Each(func() int { return len(p.ending) }, func(x *db.Exec, i int) error {
		e := p.ending[i]
		row := e.v.Value
		row.Status = backend.Status(statuses[e.at])
		row.End(results[e.at], failures[e.at])
		ok, err := s.Instances.Update(x, e.v, db.NoKeyUpdate, row)
		if ok {
			p.ended = append(p.ended, ords[e.at])
			x.Note(judge.Ended{Inst: row.Inst, Status: row.Status})
		}
		return err
	})
}

func (p *application) answer(a *pgsim.Statement) {
	row := []any{p.stale}
	if p.parts["completions"] {
		var moved []int32
		for _, o := range p.offered {
			if slices.Contains(p.retry, o.ord) {
				moved = append(moved, o.ord)
			}
		}
		row = append(row, append([]int32{}, moved...))
	}
	if p.parts["runs"] {
		row = append(row, p.leased)
	}
	if p.parts["ends"] {
		row = append(row, p.ended)
	}
	if p.parts["arrivals"] {
		row = append(row, p.full()...)
	}
	a.AddRow(row...)
}

func (p *application) full() []any {
	var ids [][16]byte
	var nodes, required, completed []int32
	var paths []string
	watched := parameter[bool](p, 7)
	for _, c := range p.barriers {
		if !watched && c.completed != c.required && c.required != unopenedCount {
			continue
		}
		for range p.times(c) {
			ids, nodes, paths = append(ids, c.id), append(nodes, c.key.Node), append(paths, c.key.Path)
			required, completed = append(required, c.required), append(completed, c.completed)
		}
	}
	if ids == nil {
		return []any{nil, nil, nil, nil, nil}
	}
	return []any{ids, nodes, paths, required, completed}
}

// times returns how often a barrier is reported. More than once is a planted bug: each arrival of a batch finds by itself that
// the count is full or beyond.
func (p *application) times(c counting) int {
	if p.s.World.Bug != cases.BugAtOrAbove || c.completed < c.required {
		return 1
	}
	n := 0
	for i, ord := range parameter[[]int32](p, 33) {
		if !p.lost(ord) && parameter[[]int32](p, 38)[i]+parameter[[]int32](p, 39)[i] > 0 &&
			c.key == p.s.Key(parameter[[][16]byte](p, 34)[i], parameter[[]int32](p, 35)[i], parameter[[]string](p, 36)[i]) {
			n++
		}
	}
	return max(n, 1)
}

func (p *application) requeue(a *pgsim.Statement) {
	s := p.s
	waits := parameter[[]*int64](p, 13)
	if waits == nil {
		return
	}
	var row queued
	drawn := -1
	a.Each(func() int { return len(p.done) }, func(x *db.Exec, i int) error {
		o := p.offered[p.done[i]]
		if waits[o.at] == nil {
			return nil
		}
		if drawn < i {
			drawn, row = i, o.v.Value
			row.Token, row.owner, row.Attempt, row.Redeliveries = s.Tokens.Next(), 0, row.Attempt+1, 0
			row.workflow = onlyWorkflow
			row.Due = s.Now() + *waits[o.at]*1000
		}
		return s.queue.Insert(x, o.v.Row.Key, row)
	})
}

func (p *application) enqueue(a *pgsim.Statement) {
	s := p.s
	ids, nodes, paths := parameter[[][16]byte](p, 41), parameter[[]int32](p, 42), parameter[[]string](p, 43)
	args, waits, workflows := parameter[[]*string](p, 44), parameter[[]*int64](p, 45), parameter[[]int32](p, 51)
	owner, lease := parameter[int32](p, 5), parameter[int64](p, 6)
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		if p.tokens[i] == 0 {
			return nil
		}
		row := queued{Queued: pgsim.Queued{Token: p.tokens[i], Due: s.Now() + lease*1000, Attempt: 1}, owner: owner, args: *args[i]}
		if wait := waits[i]; wait != nil {
			row.Due, row.owner = s.Now()+*wait*1000, 0
		}
		if workflows != nil {
			row.workflow = workflows[i]
		}
		return s.queue.Insert(x, s.Key(ids[i], nodes[i], paths[i]), row)
	})
}

// collect adds elements. Neighbours in the list share a row.
func (p *application) collect(a *pgsim.Statement) {
	ords, ids, nodes, paths := parameter[[]int32](p, 27), parameter[[][16]byte](p, 28), parameter[[]int32](p, 29), parameter[[]string](p, 30)
	places, values := parameter[[]int32](p, 31), parameter[[]*string](p, 32)
	a.Then(func(*db.Exec) error {
		at := map[pgsim.ValueKey]int{}
		for i, ord := range ords {
			if p.lost(ord) {
				continue
			}
			key := p.s.Key(ids[i], nodes[i], paths[i]).Value(places[i] >> 6)
			j, ok := at[key]
			if !ok {
				j = len(p.parted)
				at[key] = j
				p.parted = append(p.parted, elementPart{key: key})
			}
			part := &p.parted[j]
			part.places, part.vals = append(part.places, places[i]), append(part.vals, []byte(*values[i]))
		}
		return nil
	})
	a.Each(func() int { return len(p.parted) }, func(x *db.Exec, i int) error {
		part := &p.parted[i]
		part.key.Element = slices.Min(part.places)
		return p.s.elements.Insert(x, part.key, part.collected)
	})
}

func (p *application) write(a *pgsim.Statement) {
	if p.s.World.Bug != cases.BugInboxOutside {
		p.values(a, p.lost)
	}
}

// outside plants a bug: it writes the values of events in a transaction of its own, even if the events are not applied.
func (p *application) outside(h *pgsim.Host) {
	a := p.s.Memory.Next("values", "", nil)
	p.values(a, func(int32) bool { return false })
	ctx := context.Background()
	_ = h.UsePooled(ctx, func(c *pgsim.Conn) { _, _ = c.Send(ctx, a) }) // errors belong to the bug
}

func (p *application) values(a *pgsim.Statement, lost func(ord int32) bool) {
	s := p.s
	ords, ids, vars, paths := parameter[[]int32](p, 21), parameter[[][16]byte](p, 22), parameter[[]int32](p, 23), parameter[[]string](p, 24)
	elements, values := parameter[[]int32](p, 25), parameter[[]*string](p, 26)
	a.Each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
		if lost(ords[i]) {
			return nil
		}
		key := s.Key(ids[i], vars[i], paths[i]).Value(elements[i])
		value := json.RawMessage(*values[i])
		_, _, err := s.inbox.Upsert(x, key, value, func(json.RawMessage) (json.RawMessage, bool, error) { return value, true, nil })
		return err
	})
}

func (p *application) place() commitKey {
	return commitKey{parameter[int](p, 1), parameter[int64](p, 2), parameter[int32](p, 3)}
}

func (p *application) leave(a *pgsim.Statement) {
	if !p.parts["completions"] {
		return
	}
	key := p.place()
	a.Then(func(x *db.Exec) error {
		if len(p.done) == 0 {
			return nil
		}
		row := commitRow{parameter[int64](p, 4), p.stale, p.s.Now()}
		_, _, err := p.s.commits.Upsert(x, key, row, func(old commitRow) (commitRow, bool, error) {
			return row, old.number < row.number, nil
		})
		return err
	})
}

func (p *application) report(x *db.Exec, events []push.Applied) {
	s := p.s
	for i := range events {
		if e := &events[i]; !p.lost(e.Ord) {
			x.Note(&judge.Event{
				Inst: s.InstanceOf(e.Instance), Creates: e.CreatesInstance, Run: e.Run, Token: e.Token, Lease: e.Lease, Attempt: e.Attempt, Failed: e.Failed,
				Inbox: &e.Inbox, Plan: &e.Plan, Snapshot: x.Begun(),
			})
		}
	}
	for i, status := range parameter[[]string](p, 18) {
		if p.created[i] && backend.Status(status) != backend.Running {
			x.Note(judge.Ended{Inst: s.InstanceOf(parameter[[][16]byte](p, 15)[i]), Status: backend.Status(status)})
		}
	}
	ids, nodes, paths, waits := parameter[[][16]byte](p, 41), parameter[[]int32](p, 42), parameter[[]string](p, 43), parameter[[]*int64](p, 45)
	for i, token := range p.tokens {
		if token != 0 && waits[i] == nil {
			x.Note(judge.Leased{Inst: s.InstanceOf(ids[i]), Run: pgsim.RunOf(nodes[i], paths[i]), Token: token, Attempt: 1, Deliveries: 1, Snapshot: x.Begun()})
		}
	}
}
