package explore

import (
	"cmp"

	"pulley/sim/db"
)

// The statements of scan=sql.

// arrivalsOf lists the steps towards the node runs of an instance.
func (s *pullStore) arrivalsOf(x *db.Exec, inst *instance) (found []*db.Version[arrivalKey, arrivalRow]) {
	if inst == nil {
		return nil
	}
	return s.arrivalsFrom(x, runKey{inst: int32(inst.index), node: math32}, func(k runKey) bool { return true })
}

// arrivalsFrom lists steps from a run on, of the same instance, as long as something holds.
func (s *pullStore) arrivalsFrom(x *db.Exec, from runKey, while func(runKey) bool) (found []*db.Version[arrivalKey, arrivalRow]) {
	s.arrivals.Each(x, arrivalKey{runKey: from}, func(v *db.Version[arrivalKey, arrivalRow]) bool {
		if k := v.Row.Key.runKey; k.inst != from.inst || !while(k) {
			return false
		}
		found = append(found, v)
		return true
	})
	return found
}

// argsOf gives the arguments that stand with the steps towards a run; nil: there are none.
func (s *pullStore) argsOf(x *db.Exec, key runKey) *string {
	for _, v := range s.arrivalsFrom(x, key, func(k runKey) bool { return k == key }) {
		if v.Value.args != nil {
			return v.Value.args
		}
	}
	return nil
}

// inboxFrom lists the values under a variable and a path, from an element on.
func (s *pullStore) inboxFrom(x *db.Exec, from valueKey) (found []*db.Version[valueKey, inboxRow]) {
	s.inbox.Each(x, from, func(v *db.Version[valueKey, inboxRow]) bool {
		if k := v.Row.Key; k.inst != from.inst || k.id != from.id || k.path != from.path {
			return false
		}
		found = append(found, v)
		return true
	})
	return found
}

func (s *pullStore) endArrivals(a *asked, args []any) {
	deleteAll(a, s.arrivals, func(x *db.Exec) (found []*db.Version[arrivalKey, arrivalRow]) {
		for _, id := range args[1].([][16]byte) {
			found = append(found, s.arrivalsOf(x, s.at(args[0], id))...)
		}
		return found
	}, nil)
}

func (s *pullStore) endInbox(a *asked, args []any) {
	deleteAll(a, s.inbox, func(x *db.Exec) (found []*db.Version[valueKey, inboxRow]) {
		for _, id := range args[1].([][16]byte) {
			inst := s.at(args[0], id)
			if inst == nil {
				continue
			}
			s.inbox.Each(x, valueKey{inst: int32(inst.index), id: math32}, func(v *db.Version[valueKey, inboxRow]) bool {
				if v.Row.Key.inst != int32(inst.index) {
					return false
				}
				found = append(found, v)
				return true
			})
		}
		return found
	}, nil)
}

// group is what the anti-join makes of the steps towards one run.
type group struct {
	key               runKey
	required, arrived int
	reached           int32
	watched, resumed  bool
	args, finish      *string
	wait              *int64
}

// add takes a step in.
func (g *group) add(source string, r *arrivalRow) {
	g.required, g.reached = max(g.required, int(r.required)), max(g.reached, r.reached)
	if source != "open" {
		g.arrived++
	}
	g.watched, g.resumed = g.watched || r.watched, g.resumed || source == "resume"
	g.args, g.finish, g.wait = greater(g.args, r.args), greater(g.finish, r.finish), greater(g.wait, r.wait)
}

// greater is max of columns that can be null.
func greater[T cmp.Ordered](a, b *T) *T {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func (g *group) enough() bool {
	if g.watched {
		return g.arrived > int(g.reached)
	}
	return g.arrived >= g.required
}

func (s *pullStore) runnable(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		for _, id := range args[1].([][16]byte) {
			inst := s.at(args[0], id)
			if !s.runs(x, inst) || s.leaves[x.Number()] {
				continue
			}
			var groups []group
			for _, v := range s.arrivalsOf(x, inst) {
				if n := len(groups); n == 0 || groups[n-1].key != v.Row.Key.runKey {
					groups = append(groups, group{key: v.Row.Key.runKey})
				}
				groups[len(groups)-1].add(v.Row.Key.source, &v.Value)
			}
			for i := range groups {
				g := &groups[i]
				if g.enough() && s.ledger.Get(x, g.key) == nil {
					a.give(id, int32(1), g.key.node, g.key.path, g.required, g.arrived, g.reached, g.watched, g.resumed, value(g.args), value(g.wait), value(g.finish))
				}
			}
		}
		return nil
	})
}

// value gives a column that can be null.
func value[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}

func (s *pullStore) addValues(a *asked, args []any) {
	ids, variables, paths, elements, values := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]int32), args[5].([]string)
	a.write, a.counts = true, true
	a.each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		inst := s.at(args[0], ids[i])
		row := inboxRow{inst, values[i]}
		_, ok, err := s.inbox.Upsert(x, valueKey{int32(inst.index), variables[i], paths[i], elements[i]}, row, func(inboxRow) (inboxRow, bool, error) {
			return row, true, nil
		})
		a.affect(ok)
		return err
	})
}

func (s *pullStore) addArrivals(a *asked, args []any) {
	ids, nodes, paths, sources := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	required, watched, kept := args[5].([]int32), args[6].([]bool), args[7].([]*string)
	waits, finishes := args[8].([]*int64), args[9].([]*string)
	a.write, a.counts = true, true
	a.each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		key, _ := s.keyAt(args[0], ids, nodes, paths, i)
		ok, err := s.arrivals.InsertNew(x, arrivalKey{key, sources[i]}, arrivalRow{
			inst: s.w.insts[key.inst], required: required[i], watched: watched[i], args: kept[i], wait: waits[i], finish: finishes[i],
		})
		a.affect(ok)
		return err
	})
}

func (s *pullStore) mark(a *asked, args []any) {
	ids, nodes, paths := args[1].([][16]byte), args[2].([]int32), args[3].([]string)
	rows := make([]ledgerRow, len(ids))
	a.write, a.counts = true, true
	a.each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		key, _ := s.keyAt(args[0], ids, nodes, paths, i)
		if r := &rows[i]; r.inst == nil {
			*r = ledgerRow{
				inst: s.w.insts[key.inst], status: ledgerCompleted, due: s.w.server.clock(), token: s.tokens.Next(), attempt: 1, done: s.tokens.Next(),
			}
		}
		err := s.ledger.Insert(x, key, rows[i])
		a.affect(err == nil)
		return err
	})
}

// slots has a step for what some events need.
func (s *pullStore) slots(a *asked, args []any, from int32, give func(ord, variable int32, path string, v *db.Version[valueKey, inboxRow])) {
	ords, ids, variables, paths := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	a.then(func(x *db.Exec) error {
		for i := range ords {
			inst := s.at(args[0], ids[i])
			if inst == nil {
				continue
			}
			for _, v := range s.inboxFrom(x, valueKey{int32(inst.index), variables[i], paths[i], from}) {
				give(ords[i], variables[i], paths[i], v)
			}
		}
		return nil
	})
}

func (s *pullStore) read(a *asked, args []any) {
	s.slots(a, args, -1, func(ord, variable int32, path string, v *db.Version[valueKey, inboxRow]) {
		a.give(ord, variable, path, v.Row.Key.element, []byte(v.Value.value))
	})
}

func (s *pullStore) gather(a *asked, args []any) {
	s.slots(a, args, 0, func(ord, _ int32, _ string, v *db.Version[valueKey, inboxRow]) {
		a.give(ord, v.Row.Key.element, []byte(v.Value.value))
	})
}

func (s *pullStore) unset(a *asked, args []any) {
	ids, variables, paths, first, last := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]int32), args[5].([]int32)
	deleteAll(a, s.inbox, func(x *db.Exec) (found []*db.Version[valueKey, inboxRow]) {
		for i := range ids {
			inst := s.at(args[0], ids[i])
			if inst == nil {
				continue
			}
			for _, v := range s.inboxFrom(x, valueKey{int32(inst.index), variables[i], paths[i], first[i]}) {
				if v.Row.Key.element <= last[i] {
					found = append(found, v)
				}
			}
		}
		return found
	}, nil)
}

func (s *pullStore) resumed(a *asked, args []any) {
	ids, nodes, paths := args[1].([][16]byte), args[2].([]int32), args[3].([]string)
	deleteAll(a, s.arrivals, func(x *db.Exec) (found []*db.Version[arrivalKey, arrivalRow]) {
		for i := range ids {
			key, ok := s.keyAt(args[0], ids, nodes, paths, i)
			if !ok {
				continue
			}
			if v := s.arrivals.Get(x, arrivalKey{key, "resume"}); v != nil {
				found = append(found, v)
			}
		}
		return found
	}, nil)
}

func (s *pullStore) reached(a *asked, args []any) {
	ids, nodes, paths, counts := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]int32)
	a.write, a.counts = true, true
	a.each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		key, there := s.keyAt(args[0], ids, nodes, paths, i)
		if !there {
			return nil
		}
		v := s.arrivals.Get(x, arrivalKey{key, "open"})
		if v == nil {
			return nil
		}
		row := v.Value
		row.reached = counts[i]
		ok, err := s.arrivals.Update(x, v, db.NoKeyUpdate, row)
		a.affect(ok)
		return err
	})
}

func (s *pullStore) clearLedger(a *asked, args []any) {
	deleteAll(a, s.ledger, func(x *db.Exec) []*db.Version[runKey, ledgerRow] {
		if s.w.Bug == bugLoopReset {
			return nil
		}
		return s.within(x, args)
	}, nil)
}

func (s *pullStore) clearArrivals(a *asked, args []any) {
	ids, nodes, first, last := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	deleteAll(a, s.arrivals, func(x *db.Exec) (found []*db.Version[arrivalKey, arrivalRow]) {
		for i := range ids {
			from, ok := s.keyAt(args[0], ids, nodes, first, i)
			if !ok {
				continue
			}
			found = append(found, s.arrivalsFrom(x, from, func(k runKey) bool { return k.node == from.node && k.path < last[i] })...)
		}
		return found
	}, nil)
}

func (s *pullStore) clearInbox(a *asked, args []any) {
	ids, variables, first, last := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	deleteAll(a, s.inbox, func(x *db.Exec) (found []*db.Version[valueKey, inboxRow]) {
		for i := range ids {
			inst := s.at(args[0], ids[i])
			if inst == nil {
				continue
			}
			from := valueKey{int32(inst.index), variables[i], first[i], math32}
			s.inbox.Each(x, from, func(v *db.Version[valueKey, inboxRow]) bool {
				k := v.Row.Key
				if k.inst != from.inst || k.id != from.id || k.path >= last[i] {
					return false
				}
				found = append(found, v)
				return true
			})
		}
		return found
	}, nil)
}

// compareScope holds steps and values against the twin's.
func (s *pullStore) compareScope(t *twin, id int32) {
	values, appended := storedValues(t, id, s.inbox, func(r inboxRow) []byte { return []byte(r.value) })
	want := 0
	for _, list := range t.Appended {
		want += len(list)
	}
	for _, list := range t.Elements {
		want += len(list)
	}
	if values != len(t.Values) || appended < want {
		t.wrong("I4", "%d values and %d parts of lists are stored; there should be %d and %d", values, appended, len(t.Values), want)
	}
}
