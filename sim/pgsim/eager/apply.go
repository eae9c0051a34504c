package eager

import (
	"cmp"
	"encoding/json"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/eager"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
)

type eagerApply struct {
	s    *Store
	args []any
}

func column[T any](p *eagerApply, number int) []T { return p.args[number-1].([]T) }

// apply is apply.sql. Its parts run in the server's order: first the three that the result is read from, in the order of the
// text; then the others, last first.
func (s *Store) apply(a *pgsim.Statement, args []any, events []eager.Applied) {
	p := &eagerApply{s, args}
	a.Write = true
	p.arrived(a)
	p.queued(a)
	p.ended(a)
	p.pushed(a)
	p.addValues(a)
	p.expected(a)
	p.done(a)
	a.Then(func(x *db.Exec) error {
		for i := range events {
			x.Note(s.judgeEvent(x, &events[i]))
		}
		return nil
	})
}

func (s *Store) judgeEvent(x *db.Exec, e *eager.Applied) *judge.Event {
	return &judge.Event{
		Inst: s.InstanceOf(e.Instance), Creates: e.CreatesInstance, Run: e.Run, Token: e.Token, Lease: e.Token, Attempt: e.Attempt, Failed: e.Failed,
		Inbox: &e.Inbox, Plan: &e.Plan, Snapshot: x.Begun(),
	}
}

// counted is the sum of the arrivals at one barrier.
type counted struct {
	id   [16]byte
	key  pgsim.RunKey
	row  nodeRow
	hard int32
}

func (p *eagerApply) sums() (all []counted) {
	ids, nodes, places, paths := column[[16]byte](p, 20), column[int32](p, 21), column[string](p, 22), column[string](p, 23)
	required, hard, soft := column[int32](p, 24), column[int32](p, 25), column[int32](p, 26)
	for i := range ids {
		key := p.s.Key(ids[i], nodes[i], places[i])
		at := -1
		for j := range all {
			if all[j].key == key && all[j].row.path == paths[i] {
				at = j
			}
		}
		if at < 0 {
			at = len(all)
			all = append(all, counted{id: ids[i], key: key, row: nodeRow{Queued: waiting, path: paths[i]}})
		}
		c := &all[at]
		c.row.required = max(c.row.required, required[i])
		c.row.soft = c.row.soft || soft[i] > 0
		c.hard += hard[i]
	}
	for i := range all {
		r := &all[i].row
		if r.required == 0 {
			r.required = unknownCount
		}
		if r.satisfied = all[i].hard; r.soft {
			r.satisfied++
		}
	}
	slices.SortFunc(all, func(a, b counted) int {
		return cmp.Or(pgsim.CompareRun(a.key, b.key), cmp.Compare(a.row.path, b.row.path))
	})
	if p.s.World.Bug == cases.BugMapOrder {
		p.s.World.Rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return all
}

func (p *eagerApply) arrived(a *pgsim.Statement) {
	s := p.s
	all := p.sums()
	a.Each(func() int { return len(all) }, func(x *db.Exec, i int) error {
		c := &all[i]
		if err := c.row.check(false); err != nil {
			return err
		}
		row, ok, err := s.nodes.Upsert(x, c.key, c.row, func(old nodeRow) (nodeRow, bool, error) {
			again := old.soft && c.row.soft
			if old.path == c.row.path && again && c.row.satisfied == 1 {
				return old, false, nil
			}
			null := old.path != "" && old.path != c.row.path
			old.path = c.row.path
			if c.row.required != unknownCount {
				old.required = c.row.required
			}
			if old.satisfied += c.row.satisfied; again {
				old.satisfied--
			}
			old.soft = old.soft || c.row.soft
			return old, true, old.check(null)
		})
		if ok {
			a.AddRow("counted", c.id, c.key.Node, row.path, int64(0), row.counts(), row.satisfied)
		}
		return err
	})
}

func (r nodeRow) counts() any {
	if r.required == unknownCount {
		return nil
	}
	return r.required
}

func (p *eagerApply) queued(a *pgsim.Statement) {
	s := p.s
	ids, nodes, places, paths := column[[16]byte](p, 27), column[int32](p, 28), column[string](p, 29), column[string](p, 30)
	required, waits, leased, args := column[int32](p, 31), column[int64](p, 32), column[bool](p, 33), column[*string](p, 34)
	owner, lease := p.args[38].(string), p.args[39].(int64)*1000
	tokens := make([]int64, len(ids))
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		if tokens[i] == 0 {
			tokens[i] = s.Tokens.Next()
		}
		row := nodeRow{
			Queued: pgsim.Queued{Token: tokens[i], Due: s.Now() + waits[i]*1000, Attempt: 1},
			path:   paths[i], required: required[i], satisfied: required[i], queued: leased[i],
		}
		if leased[i] {
			row.Due, row.owner = s.Now()+lease, owner
		}
		if args[i] != nil {
			row.args = *args[i]
		}
		_, _, err := s.nodes.Upsert(x, s.Key(ids[i], nodes[i], places[i]), row, func(old nodeRow) (nodeRow, bool, error) {
			null := old.Token != 0 || old.path != "" && old.path != row.path
			row.soft, row.completed, row.Attempt, row.Redeliveries = old.soft, old.completed, old.Attempt, old.Redeliveries
			return row, true, row.check(null)
		})
		if err == nil && leased[i] {
			a.AddRow("leased", ids[i], nodes[i], paths[i], tokens[i], int32(0), int32(0))
			x.Note(judge.Leased{Inst: s.InstanceOf(ids[i]), Run: pgsim.RunOf(nodes[i], paths[i]), Token: tokens[i], Attempt: 1, Deliveries: 1, Snapshot: x.Begun()})
		}
		return err
	})
}

func (p *eagerApply) ended(a *pgsim.Statement) {
	s := p.s
	ids, statuses := column[[16]byte](p, 35), column[string](p, 36)
	results, failures := column[*string](p, 37), column[*string](p, 38)
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		v := s.Instances.Get(x, int32(s.InstanceOf(ids[i]).Index))
		if v == nil {
			return nil
		}
		v, err := s.Instances.Lock(x, v, db.ForUpdate, db.Wait)
		if v == nil || err != nil || v.Value.Status != backend.Running && s.World.Bug != cases.BugEndedTwice {
			return err
		}
		row := v.Value
		row.Status = backend.Status(statuses[i])
		row.End(results[i], failures[i])
		ok, err := s.Instances.Update(x, v, db.NoKeyUpdate, row)
		if ok {
			a.AddRow("ended", ids[i], int32(0), "", int64(0), int32(0), int32(0))
			x.Note(judge.Ended{Inst: row.Inst, Status: row.Status})
		}
		return err
	})
}

func (p *eagerApply) pushed(a *pgsim.Statement) {
	s := p.s
	ids, nodes, places := column[[16]byte](p, 15), column[int32](p, 16), column[string](p, 17)
	elements, payloads := column[int32](p, 18), column[string](p, 19)
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		return s.pending.Insert(x, s.Key(ids[i], nodes[i], places[i]).Value(elements[i]), json.RawMessage(payloads[i]))
	})
}

func (p *eagerApply) addValues(a *pgsim.Statement) {
	s := p.s
	ids, vars, scopes := column[[16]byte](p, 10), column[int32](p, 11), column[string](p, 12)
	elements, values := column[int32](p, 13), column[string](p, 14)
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		key := s.Key(ids[i], vars[i], scopes[i]).Value(elements[i])
		value := json.RawMessage(values[i])
		_, _, err := s.context.Upsert(x, key, value, func(json.RawMessage) (json.RawMessage, bool, error) { return value, true, nil })
		return err
	})
}

func (p *eagerApply) expected(a *pgsim.Statement) {
	s := p.s
	ids, nodes, places, required := column[[16]byte](p, 6), column[int32](p, 7), column[string](p, 8), column[int32](p, 9)
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		row := nodeRow{Queued: waiting, required: required[i], completed: nodes[i] == 0}
		if row.required == 0 {
			row.required = unknownCount
		}
		_, err := s.nodes.InsertNew(x, s.Key(ids[i], nodes[i], places[i]), row)
		return err
	})
}

func (p *eagerApply) done(a *pgsim.Statement) {
	s := p.s
	ids, nodes, places, waits := column[[16]byte](p, 2), column[int32](p, 3), column[string](p, 4), column[*int64](p, 5)
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		v := s.nodes.Get(x, s.Key(ids[i], nodes[i], places[i]))
		if v == nil {
			return nil
		}
		row := v.Value
		row.completed, row.Due = waits[i] == nil, s.Now()
		if wait := waits[i]; wait != nil {
			row.queued, row.Due = false, row.Due+*wait*1000
			row.Attempt++
		}
		row.Redeliveries = 0
		_, err := s.nodes.Update(x, v, db.NoKeyUpdate, row)
		return err
	})
}
