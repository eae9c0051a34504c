package explore

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/push"
	"pulley/sim/db"
)

// pushApply is apply.sql: its parameters, by the numbers that they have in the file, and what its parts come to.
type pushApply struct {
	s     *pushStore
	parts map[string]bool
	args  [52]any

	offered []offeredRun
	done    []int // of these, those that took place
	born    []bool
	gone    []int32 // ords of what did not take place
	moved   []int32
	sums    []counting
	reached []counting // barriers, as they are now
	tokens  []int64    // of node runs; zero: its event did not take place
	leased  []int64
	ending  []ending
	ended   []int32
	parted  []elementPart
}

type offeredRun struct {
	at  int // in the completions
	ord int32
	v   *db.Version[runKey, queued]
}

// counting are the arrivals at one barrier, summed up.
type counting struct {
	id  [16]byte
	key runKey
	readiness
}

// ending is an end: where it is given, and the row that is locked for it.
type ending struct {
	at int
	v  *db.Version[int32, instanceRow]
}

type elementPart struct {
	key valueKey
	collected
}

// given is a parameter: nil where the statement takes it not.
func given[T any](p *pushApply, number int) T {
	v, _ := p.args[number].(T)
	return v
}

// elementsOf reads an array that package postgres has written. Numbers of 64 bits and JSON can be null.
func elementsOf(array *postgres.Array) any {
	data := array.Append(nil) // whose memory is not used again
	e := postgres.ReadArray(data)
	switch element := postgres.Int4(data[8:]); element {
	case pgtype.Int4OID:
		return eachOf(e, postgres.Int4)
	case pgtype.Int8OID:
		return eachOf(e, nullable(postgres.Int8))
	case pgtype.BoolOID:
		return eachOf(e, func(v []byte) bool { return v[0] != 0 })
	case pgtype.UUIDOID:
		return eachOf(e, func(v []byte) [16]byte { return [16]byte(v) })
	case pgtype.TextOID:
		return eachOf(e, func(v []byte) string { return string(v) })
	default:
		return eachOf(e, nullable(func(v []byte) string { return string(v) }))
	}
}

func eachOf[T any](e postgres.Elements, read func([]byte) T) []T {
	list := make([]T, 0, e.Len())
	for e.Len() > 0 {
		list = append(list, read(e.Next()))
	}
	return list
}

func nullable[T any](read func([]byte) T) func([]byte) *T {
	return func(v []byte) *T {
		if v == nil {
			return nil
		}
		t := read(v)
		return &t
	}
}

// apply is apply.sql: its parts in the order in which the server does them. What it gives is read from some of them, in
// the order in which they stand; the others come then, the last first. Who sends it uses the memory of its parameters again.
func (s *pushStore) apply(on *pgConn, a *asked, cut cutApply) {
	p, events := &pushApply{s: s, parts: cut.parts}, on.stands.([]push.Applied)
	a.args = slices.Clone(a.args)
	for i, v := range a.args {
		if array, ok := v.(*postgres.Array); ok {
			a.args[i] = elementsOf(array)
		}
		p.args[cut.parameters[i]+1] = a.args[i]
	}
	if s.w.Bug == bugInboxOutside {
		p.outside(on.h)
	}
	a.write = true
	p.offer(a)
	p.complete(a)
	p.bear(a)
	p.arrive(a)
	p.draw(a)
	p.end(a)
	a.then(func(*db.Exec) error {
		p.answer(a)
		return nil
	})
	p.requeue(a)
	p.enqueue(a)
	p.collect(a)
	p.write(a)
	p.leave(a)
	a.then(func(x *db.Exec) error {
		p.report(x, events)
		return nil
	})
}

func (p *pushApply) lost(ord int32) bool { return slices.Contains(p.gone, ord) }

// offer looks up the completions' rows by their keys and tokens, of instances that run.
func (p *pushApply) offer(a *asked) {
	s := p.s
	ords, ids, nodes, paths, tokens := given[[]int32](p, 8), given[[][16]byte](p, 9), given[[]int32](p, 10), given[[]string](p, 11), given[[]*int64](p, 12)
	a.then(func(x *db.Exec) error {
		for i := range ords {
			v := s.queue.Get(x, s.key(ids[i], nodes[i], paths[i]))
			if v != nil && (v.Value.token == *tokens[i] || s.w.Bug == bugTokenIgnored) && (s.running(x, ids[i]) != nil || s.w.Bug == bugEndedTwice) {
				p.offered = append(p.offered, offeredRun{i, ords[i], v})
			}
		}
		switch s.w.Bug {
		case bugStaleDrops:
			if len(p.offered) < len(ords) {
				p.offered = nil
			}
		case bugMapOrder:
			s.w.rng.Shuffle(len(p.offered), func(i, j int) { p.offered[i], p.offered[j] = p.offered[j], p.offered[i] })
		}
		return nil
	})
}

// complete takes the rows away, by their addresses.
func (p *pushApply) complete(a *asked) {
	a.each(func() int { return len(p.offered) }, func(x *db.Exec, i int) error {
		ok, err := p.s.queue.Delete(x, p.offered[i].v)
		if ok {
			p.done = append(p.done, i)
			p.s.occupy(x, p.place())
		} else if err == nil {
			p.moved = append(p.moved, p.offered[i].ord)
		}
		return err
	})
}

// bear stores new instances, and then it is known what does not take place.
func (p *pushApply) bear(a *asked) {
	s := p.s
	ords, ids, statuses := given[[]int32](p, 14), given[[][16]byte](p, 15), given[[]string](p, 18)
	results, failures := given[[]*string](p, 19), given[[]*string](p, 20)
	p.born = make([]bool, len(ords))
	a.each(func() int { return len(ords) }, func(x *db.Exec, i int) (err error) {
		row := instanceRow{inst: s.instanceOf(ids[i]), status: backend.Status(statuses[i]), submitted: s.now()}
		row.end(results[i], failures[i])
		p.born[i], err = s.instances.InsertNew(x, int32(row.inst.index), row)
		return err
	})
	a.then(func(*db.Exec) error {
		p.gone = []int32{}
		for at, ord := range given[[]int32](p, 8) {
			if !slices.ContainsFunc(p.done, func(i int) bool { return p.offered[i].at == at }) {
				p.gone = append(p.gone, ord)
			}
		}
		for i, ord := range ords {
			if !p.born[i] {
				p.gone = append(p.gone, ord)
			}
		}
		return nil
	})
}

// sum groups arrivals by barrier, in the order of keys.
func (p *pushApply) sum() {
	ords, ids, nodes, paths := given[[]int32](p, 33), given[[][16]byte](p, 34), given[[]int32](p, 35), given[[]string](p, 36)
	required, hard, soft := given[[]int32](p, 37), given[[]int32](p, 38), given[[]int32](p, 39)
	at := map[runKey]int{}
	for i, ord := range ords {
		if p.lost(ord) && p.s.w.Bug != bugReadinessBeforeGuard {
			continue
		}
		key := p.s.key(ids[i], nodes[i], paths[i])
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
			c.required = neverReached
		}
		if c.soft {
			c.completed++
		}
	}
	slices.SortFunc(p.sums, func(a, b counting) int { return compareRun(a.key, b.key) })
	if p.s.w.Bug == bugMapOrder {
		p.s.w.rng.Shuffle(len(p.sums), func(i, j int) { p.sums[i], p.sums[j] = p.sums[j], p.sums[i] })
	}
}

func (p *pushApply) arrive(a *asked) {
	a.then(func(*db.Exec) error {
		p.sum()
		return nil
	})
	a.each(func() int { return len(p.sums) }, func(x *db.Exec, i int) error {
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
			p.reached = append(p.reached, counting{c.id, c.key, now})
		}
		return err
	})
}

// draw gives tokens to the node runs of what took place.
func (p *pushApply) draw(a *asked) {
	ords, waits := given[[]int32](p, 40), given[[]*int64](p, 45)
	p.tokens, p.leased = make([]int64, len(ords)), []int64{}
	a.then(func(*db.Exec) error {
		for i, ord := range ords {
			if p.lost(ord) {
				continue
			}
			if p.tokens[i] = p.s.tokens.Next(); *waits[i] < 0 {
				p.leased = append(p.leased, p.tokens[i])
			}
		}
		return nil
	})
}

// end ends instances: all of their rows are locked, and then, by the address, one is changed for each.
func (p *pushApply) end(a *asked) {
	s := p.s
	ords, ids, statuses, untidy := given[[]int32](p, 46), given[[][16]byte](p, 47), given[[]string](p, 48), given[[]bool](p, 49)
	results, failures := given[[]*string](p, 50), given[[]*string](p, 51)
	p.ended = []int32{}
	a.each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
		v := s.instances.Get(x, int32(s.instanceOf(ids[i]).index))
		if v == nil || p.lost(ords[i]) {
			return nil
		}
		v, err := s.instances.Lock(x, v, db.ForUpdate, db.Wait)
		if v == nil || err != nil || v.Value.status != backend.Running && s.w.Bug != bugEndedTwice {
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
	a.each(func() int { return len(p.ending) }, func(x *db.Exec, i int) error {
		e := p.ending[i]
		row := e.v.Value
		row.status, row.untidy = backend.Status(statuses[e.at]), untidy[e.at]
		row.end(results[e.at], failures[e.at])
		ok, err := s.instances.Update(x, e.v, db.NoKeyUpdate, row)
		if ok {
			p.ended = append(p.ended, ords[e.at])
			x.Note(endedNote{row.inst, row.status})
		}
		return err
	})
}

// answer gives the row that comes back.
func (p *pushApply) answer(a *asked) {
	row := []any{p.gone}
	if p.parts["completions"] {
		var moved []int32
		for _, o := range p.offered {
			if slices.Contains(p.moved, o.ord) {
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
	a.give(row...)
}

// full gives the columns of barriers that were reached.
func (p *pushApply) full() []any {
	var ids [][16]byte
	var nodes, required, completed []int32
	var paths []string
	watched := given[bool](p, 7)
	for _, c := range p.reached {
		if !watched && c.completed != c.required && c.required != neverReached {
			continue
		}
		for range p.times(c) {
			ids, nodes, paths = append(ids, c.id), append(nodes, c.key.node), append(paths, c.key.path)
			required, completed = append(required, c.required), append(completed, c.completed)
		}
	}
	if ids == nil {
		return []any{nil, nil, nil, nil, nil}
	}
	return []any{ids, nodes, paths, required, completed}
}

// times is how often a barrier is told of. More than once is a bug: each arrival asks for itself whether the count is full or
// beyond, and of those that are committed together each finds that it is.
func (p *pushApply) times(c counting) int {
	if p.s.w.Bug != bugAtOrAbove || c.completed < c.required {
		return 1
	}
	n := 0
	for i, ord := range given[[]int32](p, 33) {
		if !p.lost(ord) && given[[]int32](p, 38)[i]+given[[]int32](p, 39)[i] > 0 &&
			c.key == p.s.key(given[[][16]byte](p, 34)[i], given[[]int32](p, 35)[i], given[[]string](p, 36)[i]) {
			n++
		}
	}
	return max(n, 1)
}

// requeue puts runs that are tried again into the queue anew.
func (p *pushApply) requeue(a *asked) {
	s := p.s
	waits := given[[]*int64](p, 13)
	if waits == nil {
		return
	}
	var row queued
	drawn := -1
	a.each(func() int { return len(p.done) }, func(x *db.Exec, i int) error {
		o := p.offered[p.done[i]]
		if waits[o.at] == nil {
			return nil
		}
		if drawn < i {
			drawn, row = i, o.v.Value
			row.token, row.owner, row.attempt = s.tokens.Next(), 0, row.attempt+1
			row.due = s.now() + *waits[o.at]*1000
		}
		return s.enqueue(x, o.v.Row.Key, row)
	})
}

func (p *pushApply) enqueue(a *asked) {
	s := p.s
	ids, nodes, paths := given[[][16]byte](p, 41), given[[]int32](p, 42), given[[]string](p, 43)
	args, waits := given[[]*string](p, 44), given[[]*int64](p, 45)
	owner, lease := given[int32](p, 5), given[int64](p, 6)
	a.each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		if p.tokens[i] == 0 {
			return nil
		}
		row := queued{token: p.tokens[i], due: s.now() + *waits[i]*1000, attempt: 1, args: *args[i]}
		if *waits[i] < 0 {
			row.due, row.owner = s.now()+lease*1000, owner
		}
		return s.enqueue(x, s.key(ids[i], nodes[i], paths[i]), row)
	})
}

// collect adds elements: those that stand together in the list in one row.
func (p *pushApply) collect(a *asked) {
	ords, ids, nodes, paths := given[[]int32](p, 27), given[[][16]byte](p, 28), given[[]int32](p, 29), given[[]string](p, 30)
	places, values := given[[]int32](p, 31), given[[]*string](p, 32)
	a.then(func(*db.Exec) error {
		at := map[valueKey]int{}
		for i, ord := range ords {
			if p.lost(ord) {
				continue
			}
			run := p.s.key(ids[i], nodes[i], paths[i])
			key := valueKey{run.inst, run.node, run.path, places[i] >> 6}
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
	a.each(func() int { return len(p.parted) }, func(x *db.Exec, i int) error {
		part := &p.parted[i]
		part.key.element = slices.Min(part.places)
		return p.s.elements.Insert(x, part.key, part.collected)
	})
}

// write puts values into inboxes.
func (p *pushApply) write(a *asked) {
	if p.s.w.Bug != bugInboxOutside {
		p.values(a, p.lost)
	}
}

// outside is a bug: a transaction of its own that writes the values of events, whatever becomes of these.
func (p *pushApply) outside(h *pgHost) {
	a := p.s.memory.next("values", "", nil)
	p.values(a, func(int32) bool { return false })
	ctx := context.Background()
	_ = h.borrow(ctx, func(c *pgConn) { _, _ = c.send(ctx, a) }) // errors are a part of it
}

func (p *pushApply) values(a *asked, lost func(ord int32) bool) {
	s := p.s
	ords, ids, vars, paths := given[[]int32](p, 21), given[[][16]byte](p, 22), given[[]int32](p, 23), given[[]string](p, 24)
	elements, values := given[[]int32](p, 25), given[[]*string](p, 26)
	a.each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
		if lost(ords[i]) {
			return nil
		}
		key := valueKey{int32(s.instanceOf(ids[i]).index), vars[i], paths[i], elements[i]}
		value := json.RawMessage(*values[i])
		_, _, err := s.inbox.Upsert(x, key, value, func(json.RawMessage) (json.RawMessage, bool, error) { return value, true, nil })
		return err
	})
}

// place is where the commit leaves its mark.
func (p *pushApply) place() commitKey {
	return commitKey{given[int](p, 1), given[int64](p, 2), given[int32](p, 3)}
}

// leave leaves the commit's mark.
func (p *pushApply) leave(a *asked) {
	if !p.parts["completions"] {
		return
	}
	key := p.place()
	a.then(func(x *db.Exec) error {
		if len(p.done) == 0 {
			return nil
		}
		row := commitRow{given[int64](p, 4), p.gone, p.s.now()}
		_, _, err := p.s.commits.Upsert(x, key, row, func(old commitRow) (commitRow, bool, error) {
			return row, old.number < row.number, nil
		})
		return err
	})
}

// report leaves notes of what took place.
func (p *pushApply) report(x *db.Exec, events []push.Applied) {
	s := p.s
	for i := range events {
		if e := &events[i]; !p.lost(e.Ord) {
			x.Note(&happened{
				inst: s.instanceOf(e.Instance), born: e.Born, run: e.Run, token: e.Token, lease: e.Lease, attempt: e.Attempt, failed: e.Failed,
				inbox: &e.Inbox, plan: &e.Plan, snapshot: x.Begun(),
			})
		}
	}
	for i, status := range given[[]string](p, 18) {
		if p.born[i] && backend.Status(status) != backend.Running {
			x.Note(endedNote{s.instanceOf(given[[][16]byte](p, 15)[i]), backend.Status(status)})
		}
	}
	ids, nodes, paths, waits := given[[][16]byte](p, 41), given[[]int32](p, 42), given[[]string](p, 43), given[[]*int64](p, 45)
	for i, token := range p.tokens {
		if token != 0 && *waits[i] < 0 {
			x.Note(leasedNote{s.instanceOf(ids[i]), runOf(nodes[i], paths[i]), token, 1, x.Begun()})
		}
	}
}
