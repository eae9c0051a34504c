package pull

import (
	"cmp"

	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// The statements of scan=sql.

// arrivalsOf lists the steps towards the node runs of an instance.
func (s *Store) arrivalsOf(x *db.Exec, inst *world.Instance) (found []*db.Version[arrivalKey, arrivalRow]) {
	if inst == nil {
		return nil
	}
	return s.arrivalsFrom(x, pgsim.RunKey{Inst: int32(inst.Index), Node: pgsim.FirstID}, func(k pgsim.RunKey) bool { return true })
}

// arrivalsFrom lists steps from a run on, of the same instance, as long as something holds.
func (s *Store) arrivalsFrom(x *db.Exec, from pgsim.RunKey, while func(pgsim.RunKey) bool) (found []*db.Version[arrivalKey, arrivalRow]) {
	s.arrivals.Each(x, arrivalKey{RunKey: from}, func(v *db.Version[arrivalKey, arrivalRow]) bool {
		if k := v.Row.Key.RunKey; k.Inst != from.Inst || !while(k) {
			return false
		}
		found = append(found, v)
		return true
	})
	return found
}

// argsOf gives the arguments that stand with the steps towards a run; nil: there are none.
func (s *Store) argsOf(x *db.Exec, key pgsim.RunKey) *string {
	for _, v := range s.arrivalsFrom(x, key, func(k pgsim.RunKey) bool { return k == key }) {
		if v.Value.args != nil {
			return v.Value.args
		}
	}
	return nil
}

// inboxFrom lists the values under a variable and a path, from an element on.
func (s *Store) inboxFrom(x *db.Exec, from pgsim.ValueKey) (found []*db.Version[pgsim.ValueKey, inboxRow]) {
	s.inbox.Each(x, from, func(v *db.Version[pgsim.ValueKey, inboxRow]) bool {
		if k := v.Row.Key; k.Inst != from.Inst || k.ID != from.ID || k.Path != from.Path {
			return false
		}
		found = append(found, v)
		return true
	})
	return found
}

func (s *Store) endArrivals(a *pgsim.Statement, args []any) {
	deleteAll(a, s.arrivals, func(x *db.Exec) (found []*db.Version[arrivalKey, arrivalRow]) {
		for _, id := range args[1].([][16]byte) {
			found = append(found, s.arrivalsOf(x, s.at(args[0], id))...)
		}
		return found
	}, nil)
}

func (s *Store) endInbox(a *pgsim.Statement, args []any) {
	deleteAll(a, s.inbox, func(x *db.Exec) (found []*db.Version[pgsim.ValueKey, inboxRow]) {
		for _, id := range args[1].([][16]byte) {
			inst := s.at(args[0], id)
			if inst == nil {
				continue
			}
			s.inbox.Each(x, pgsim.ValueKey{Inst: int32(inst.Index), ID: pgsim.FirstID}, func(v *db.Version[pgsim.ValueKey, inboxRow]) bool {
				if v.Row.Key.Inst != int32(inst.Index) {
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
	key               pgsim.RunKey
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

func (s *Store) runnable(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		for _, id := range args[1].([][16]byte) {
			inst := s.at(args[0], id)
			if !s.runs(x, inst) || s.leaves[x.Number()] {
				continue
			}
			var groups []group
			for _, v := range s.arrivalsOf(x, inst) {
				if n := len(groups); n == 0 || groups[n-1].key != v.Row.Key.RunKey {
					groups = append(groups, group{key: v.Row.Key.RunKey})
				}
				groups[len(groups)-1].add(v.Row.Key.source, &v.Value)
			}
			for i := range groups {
				g := &groups[i]
				if g.enough() && s.ledger.Get(x, g.key) == nil {
					a.Give(id, int32(1), g.key.Node, g.key.Path, g.required, g.arrived, g.reached, g.watched, g.resumed, value(g.args), value(g.wait), value(g.finish))
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

func (s *Store) addValues(a *pgsim.Statement, args []any) {
	ids, variables, paths, elements, values := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]int32), args[5].([]string)
	a.Write, a.Counts = true, true
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		inst := s.at(args[0], ids[i])
		row := inboxRow{inst, values[i]}
		_, ok, err := s.inbox.Upsert(x, pgsim.ValueKey{Inst: int32(inst.Index), ID: variables[i], Path: paths[i], Element: elements[i]}, row, func(inboxRow) (inboxRow, bool, error) {
			return row, true, nil
		})
		a.Affect(ok)
		return err
	})
}

func (s *Store) addArrivals(a *pgsim.Statement, args []any) {
	ids, nodes, paths, sources := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	required, watched, kept := args[5].([]int32), args[6].([]bool), args[7].([]*string)
	waits, finishes := args[8].([]*int64), args[9].([]*string)
	a.Write, a.Counts = true, true
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		key, _ := s.keyAt(args[0], ids, nodes, paths, i)
		ok, err := s.arrivals.InsertNew(x, arrivalKey{key, sources[i]}, arrivalRow{
			inst: s.World.Instances[key.Inst], required: required[i], watched: watched[i], args: kept[i], wait: waits[i], finish: finishes[i],
		})
		a.Affect(ok)
		return err
	})
}

func (s *Store) mark(a *pgsim.Statement, args []any) {
	ids, nodes, paths := args[1].([][16]byte), args[2].([]int32), args[3].([]string)
	rows := make([]ledgerRow, len(ids))
	a.Write, a.Counts = true, true
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		key, _ := s.keyAt(args[0], ids, nodes, paths, i)
		if r := &rows[i]; r.inst == nil {
			*r = ledgerRow{
				inst: s.World.Instances[key.Inst], status: ledgerCompleted, due: s.World.Server.Clock(), token: s.Tokens.Next(), attempt: 1, done: s.Tokens.Next(),
			}
		}
		err := s.ledger.Insert(x, key, rows[i])
		a.Affect(err == nil)
		return err
	})
}

// slots has a step for what some events need.
func (s *Store) slots(a *pgsim.Statement, args []any, from int32, give func(ord, variable int32, path string, v *db.Version[pgsim.ValueKey, inboxRow])) {
	ords, ids, variables, paths := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	a.Then(func(x *db.Exec) error {
		for i := range ords {
			inst := s.at(args[0], ids[i])
			if inst == nil {
				continue
			}
			for _, v := range s.inboxFrom(x, pgsim.ValueKey{Inst: int32(inst.Index), ID: variables[i], Path: paths[i], Element: from}) {
				give(ords[i], variables[i], paths[i], v)
			}
		}
		return nil
	})
}

func (s *Store) read(a *pgsim.Statement, args []any) {
	s.slots(a, args, -1, func(ord, variable int32, path string, v *db.Version[pgsim.ValueKey, inboxRow]) {
		a.Give(ord, variable, path, v.Row.Key.Element, []byte(v.Value.value))
	})
}

func (s *Store) gather(a *pgsim.Statement, args []any) {
	s.slots(a, args, 0, func(ord, _ int32, _ string, v *db.Version[pgsim.ValueKey, inboxRow]) {
		a.Give(ord, v.Row.Key.Element, []byte(v.Value.value))
	})
}

func (s *Store) unset(a *pgsim.Statement, args []any) {
	ids, variables, paths, first, last := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]int32), args[5].([]int32)
	deleteAll(a, s.inbox, func(x *db.Exec) (found []*db.Version[pgsim.ValueKey, inboxRow]) {
		for i := range ids {
			inst := s.at(args[0], ids[i])
			if inst == nil {
				continue
			}
			for _, v := range s.inboxFrom(x, pgsim.ValueKey{Inst: int32(inst.Index), ID: variables[i], Path: paths[i], Element: first[i]}) {
				if v.Row.Key.Element <= last[i] {
					found = append(found, v)
				}
			}
		}
		return found
	}, nil)
}

func (s *Store) resumed(a *pgsim.Statement, args []any) {
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

func (s *Store) reached(a *pgsim.Statement, args []any) {
	ids, nodes, paths, counts := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]int32)
	a.Write, a.Counts = true, true
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
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
		a.Affect(ok)
		return err
	})
}

func (s *Store) clearLedger(a *pgsim.Statement, args []any) {
	deleteAll(a, s.ledger, func(x *db.Exec) []*db.Version[pgsim.RunKey, ledgerRow] {
		if s.World.Bug == cases.BugLoopReset {
			return nil
		}
		return s.within(x, args)
	}, nil)
}

func (s *Store) clearArrivals(a *pgsim.Statement, args []any) {
	ids, nodes, first, last := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	deleteAll(a, s.arrivals, func(x *db.Exec) (found []*db.Version[arrivalKey, arrivalRow]) {
		for i := range ids {
			from, ok := s.keyAt(args[0], ids, nodes, first, i)
			if !ok {
				continue
			}
			found = append(found, s.arrivalsFrom(x, from, func(k pgsim.RunKey) bool { return k.Node == from.Node && k.Path < last[i] })...)
		}
		return found
	}, nil)
}

func (s *Store) clearInbox(a *pgsim.Statement, args []any) {
	ids, variables, first, last := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	deleteAll(a, s.inbox, func(x *db.Exec) (found []*db.Version[pgsim.ValueKey, inboxRow]) {
		for i := range ids {
			inst := s.at(args[0], ids[i])
			if inst == nil {
				continue
			}
			from := pgsim.ValueKey{Inst: int32(inst.Index), ID: variables[i], Path: first[i], Element: pgsim.FirstID}
			s.inbox.Each(x, from, func(v *db.Version[pgsim.ValueKey, inboxRow]) bool {
				k := v.Row.Key
				if k.Inst != from.Inst || k.ID != from.ID || k.Path >= last[i] {
					return false
				}
				found = append(found, v)
				return true
			})
		}
		return found
	}, nil)
}

// compareScope holds steps and values against the model's.
func (s *Store) compareScope(m *judge.Model, id int32) {
	values, appended := pgsim.StoredValues(m, id, s.inbox, func(r inboxRow) []byte { return []byte(r.value) })
	want := 0
	for _, list := range m.Appended {
		want += len(list)
	}
	for _, list := range m.Elements {
		want += len(list)
	}
	if values != len(m.Values) || appended < want {
		m.Wrong("I4", "%d values and %d parts of lists are stored; there should be %d and %d", values, appended, len(m.Values), want)
	}
}
