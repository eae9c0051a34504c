package pull

import (
	"cmp"
	"encoding/json"

	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
)

// The statements of scan=sql.

// group is the aggregate that the anti-join makes of the arrivals at one node run.
type group struct {
	key               pgsim.RunKey
	required, arrived int
	reachedCount      int32
	watched, resumed  bool
	args, finish      *string
	wait              *int64
}

func (g *group) add(source string, r *arrivalRow) {
	g.required, g.reachedCount = max(g.required, int(r.required)), max(g.reachedCount, r.reachedCount)
	if source != "open" {
		g.arrived++
	}
	g.watched, g.resumed = g.watched || r.watched, g.resumed || source == "resume"
	g.args, g.finish, g.wait = greater(g.args, r.args), greater(g.finish, r.finish), greater(g.wait, r.wait)
}

func greater[T cmp.Ordered](a, b *T) *T {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func (g *group) enough() bool {
	if g.watched {
		return g.arrived > int(g.reachedCount)
	}
	return g.arrived >= g.required
}

func (s *Store) runnable(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		for _, id := range args[1].([][16]byte) {
			if !s.runs(x, id) || s.leaves[x.Number()] {
				continue
			}
			var groups []group
			for _, v := range pgsim.OfInstance(x, s.arrivals, int32(s.InstanceOf(id).Index)) {
				if n := len(groups); n == 0 || groups[n-1].key != v.Row.Key.RunKey {
					groups = append(groups, group{key: v.Row.Key.RunKey})
				}
				groups[len(groups)-1].add(v.Row.Key.source, &v.Value)
			}
			for i := range groups {
				g := &groups[i]
				if g.enough() && s.ledger.Get(x, g.key) == nil {
					a.AddRow(id, int32(1), g.key.Node, g.key.Path, g.required, g.arrived, g.reachedCount, g.watched, g.resumed, value(g.args), value(g.wait), value(g.finish))
				}
			}
		}
		return nil
	})
}

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
		value := json.RawMessage(values[i])
		_, ok, err := s.inbox.Upsert(x, s.Key(ids[i], variables[i], paths[i]).Value(elements[i]), value, func(json.RawMessage) (json.RawMessage, bool, error) {
			return value, true, nil
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
		ok, err := s.arrivals.InsertNew(x, arrivalKey{s.Key(ids[i], nodes[i], paths[i]), sources[i]}, arrivalRow{
			required: required[i], watched: watched[i], args: kept[i], wait: waits[i], finish: finishes[i],
		})
		a.Affect(ok)
		return err
	})
}

func (s *Store) markOpened(a *pgsim.Statement, args []any) {
	ids, nodes, paths := args[1].([][16]byte), args[2].([]int32), args[3].([]string)
	rows := make([]ledgerRow, len(ids))
	a.Write, a.Counts = true, true
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		if r := &rows[i]; r.status == "" {
			*r = ledgerRow{Queued: pgsim.Queued{Due: s.Now(), Token: s.Tokens.Next(), Attempt: 1}, status: ledgerCompleted, done: s.Tokens.Next()}
		}
		err := s.ledger.Insert(x, s.Key(ids[i], nodes[i], paths[i]), rows[i])
		a.Affect(err == nil)
		return err
	})
}

func (s *Store) slots(a *pgsim.Statement, args []any, from int32, give func(ord int32, v *db.Version[pgsim.ValueKey, json.RawMessage])) {
	ords, ids, variables, paths := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	a.Then(func(x *db.Exec) error {
		for i := range ords {
			for _, v := range pgsim.ValuesOf(x, s.inbox, s.Key(ids[i], variables[i], paths[i]).Value(from)) {
				give(ords[i], v)
			}
		}
		return nil
	})
}

func (s *Store) read(a *pgsim.Statement, args []any) {
	s.slots(a, args, -1, func(ord int32, v *db.Version[pgsim.ValueKey, json.RawMessage]) {
		a.AddRow(ord, v.Row.Key.ID, v.Row.Key.Path, v.Row.Key.Element, []byte(v.Value))
	})
}

func (s *Store) gather(a *pgsim.Statement, args []any) {
	s.slots(a, args, 0, func(ord int32, v *db.Version[pgsim.ValueKey, json.RawMessage]) {
		a.AddRow(ord, v.Row.Key.Element, []byte(v.Value))
	})
}

func (s *Store) unset(a *pgsim.Statement, args []any) {
	ids, variables, paths, first, last := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]int32), args[5].([]int32)
	pgsim.DeleteAll(a, s.inbox, func(x *db.Exec) (found []*db.Version[pgsim.ValueKey, json.RawMessage]) {
		for i := range ids {
			for _, v := range pgsim.ValuesOf(x, s.inbox, s.Key(ids[i], variables[i], paths[i]).Value(first[i])) {
				if v.Row.Key.Element <= last[i] {
					found = append(found, v)
				}
			}
		}
		return found
	})
}

func (s *Store) resumed(a *pgsim.Statement, args []any) {
	ids, nodes, paths := args[1].([][16]byte), args[2].([]int32), args[3].([]string)
	pgsim.DeleteAll(a, s.arrivals, func(x *db.Exec) (found []*db.Version[arrivalKey, arrivalRow]) {
		for i := range ids {
			if v := s.arrivals.Get(x, arrivalKey{s.Key(ids[i], nodes[i], paths[i]), "resume"}); v != nil {
				found = append(found, v)
			}
		}
		return found
	})
}

func (s *Store) reached(a *pgsim.Statement, args []any) {
	ids, nodes, paths, counts := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]int32)
	a.Write, a.Counts = true, true
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		v := s.arrivals.Get(x, arrivalKey{s.Key(ids[i], nodes[i], paths[i]), "open"})
		if v == nil {
			return nil
		}
		row := v.Value
		row.reachedCount = counts[i]
		ok, err := s.arrivals.Update(x, v, db.NoKeyUpdate, row)
		a.Affect(ok)
		return err
	})
}

func (s *Store) clearLedger(a *pgsim.Statement, args []any) {
	pgsim.DeleteAll(a, s.ledger.Table, func(x *db.Exec) []*db.Version[pgsim.RunKey, ledgerRow] {
		if s.World.Bug == cases.BugLoopReset {
			return nil
		}
		return s.ledgerWithin(x, args)
	})
}

func (s *Store) clearArrivals(a *pgsim.Statement, args []any) {
	ids, nodes, first, last := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	pgsim.DeleteAll(a, s.arrivals, func(x *db.Exec) (found []*db.Version[arrivalKey, arrivalRow]) {
		for i := range ids {
			from := s.Key(ids[i], nodes[i], first[i])
			found = append(found, pgsim.Find(x, s.arrivals, arrivalKey{RunKey: from}, func(k arrivalKey) bool { return k.SameNode(from) && k.Path < last[i] })...)
		}
		return found
	})
}

func (s *Store) clearInbox(a *pgsim.Statement, args []any) {
	ids, variables, first, last := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	pgsim.DeleteAll(a, s.inbox, func(x *db.Exec) (found []*db.Version[pgsim.ValueKey, json.RawMessage]) {
		for i := range ids {
			from := s.Key(ids[i], variables[i], first[i]).Value(pgsim.FirstElement)
			found = append(found, pgsim.Find(x, s.inbox, from, func(k pgsim.ValueKey) bool { return k.SameID(from) && k.Path < last[i] })...)
		}
		return found
	})
}

func (s *Store) compareScope(m *judge.Model, id int32) {
	values, appended := pgsim.StoredValues(m, id, s.inbox)
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
