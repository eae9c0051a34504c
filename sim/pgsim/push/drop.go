package push

import (
	"encoding/json"
	"slices"
	"strings"

	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/pgsim"
)

// ranges are what statements take that are about ranges of keys.
type ranges struct {
	ords      []int32 // nil: all take place
	instances [][16]byte
	ids       []int32
	lows      []string
	highs     []string
	firsts    []int32 // elements; nil: there are none
}

// dropped reads the parameters of a statement that takes ranges away.
func dropped(args []any) ranges {
	r := ranges{args[5].([]int32), args[6].([][16]byte), args[7].([]int32), args[8].([]string), args[9].([]string), nil}
	if len(args) > 10 {
		r.firsts = args[10].([]int32)
	}
	return r
}

// took says which events of a statement that takes something away took place: all, or those that the mark of this transaction
// does not name.
func (s *Store) took(x *db.Exec, args []any) func(ord int32) bool {
	if args[4].(bool) {
		return func(int32) bool { return true }
	}
	v := s.commits.Get(x, commitKey{args[0].(int), args[1].(int64), args[2].(int32)})
	if v == nil || v.Value.number != args[3].(int64) {
		return func(int32) bool { return false }
	}
	return func(ord int32) bool { return !slices.Contains(v.Value.stale, ord) }
}

// rows gives those of a table that is by node run, each as often as it is in a range.
func rowsIn[V any](x *db.Exec, s *Store, t *db.Table[pgsim.RunKey, V], r ranges, took func(int32) bool) (found []*db.Version[pgsim.RunKey, V]) {
	for i := range r.ids {
		if r.ords != nil && !took(r.ords[i]) {
			continue
		}
		from := s.key(r.instances[i], r.ids[i], r.lows[i])
		t.Each(x, from, func(v *db.Version[pgsim.RunKey, V]) bool {
			k := v.Row.Key
			if k.Inst != from.Inst || k.Node != from.Node || k.Path >= r.highs[i] {
				return false
			}
			found = append(found, v)
			return true
		})
	}
	return found
}

// valuesIn is rowsIn of a table of values.
func valuesIn[V any](x *db.Exec, s *Store, t *db.Table[pgsim.ValueKey, V], r ranges, took func(int32) bool) (found []*db.Version[pgsim.ValueKey, V]) {
	for i := range r.ids {
		if !took(r.ords[i]) || s.World.Bug == cases.BugLoopReset && !strings.HasSuffix(r.highs[i], " ") {
			continue
		}
		from := s.key(r.instances[i], r.ids[i], r.lows[i])
		t.Each(x, pgsim.ValueKey{Inst: from.Inst, ID: from.Node, Path: from.Path, Element: pgsim.FirstID}, func(v *db.Version[pgsim.ValueKey, V]) bool {
			k := v.Row.Key
			if k.Inst != from.Inst || k.ID != from.Node || k.Path >= r.highs[i] {
				return false
			}
			if r.firsts == nil || k.Element >= r.firsts[i] {
				found = append(found, v)
			}
			return true
		})
	}
	return found
}

// drop adds the steps of a statement that takes rows away by their addresses.
func drop[K, V any](a *pgsim.Statement, t *db.Table[K, V], find func(x *db.Exec) []*db.Version[K, V]) {
	d := pgsim.Deletion[K, V]{Table: t}
	a.Write = true
	a.Then(func(x *db.Exec) error {
		d.Found = find(x)
		return nil
	})
	a.Then(func(x *db.Exec) error { return d.Run(x) })
}

// dropRuns: see drop_runs.sql.
func (s *Store) dropRuns(a *pgsim.Statement, args []any) { dropRows(s, a, s.queue, args) }

// dropCounters: see drop_counters.sql.
func (s *Store) dropCounters(a *pgsim.Statement, args []any) { dropRows(s, a, s.readiness, args) }

func dropRows[V any](s *Store, a *pgsim.Statement, t *db.Table[pgsim.RunKey, V], args []any) {
	drop(a, t, func(x *db.Exec) []*db.Version[pgsim.RunKey, V] {
		if s.World.Bug == cases.BugLoopReset {
			return nil
		}
		return rowsIn(x, s, t, dropped(args), s.took(x, args))
	})
}

// dropElements: see drop_elements.sql.
func (s *Store) dropElements(a *pgsim.Statement, args []any) {
	drop(a, s.elements, func(x *db.Exec) []*db.Version[pgsim.ValueKey, collected] {
		return valuesIn(x, s, s.elements, dropped(args), s.took(x, args))
	})
}

// dropValues: see drop_values.sql.
func (s *Store) dropValues(a *pgsim.Statement, args []any) {
	drop(a, s.inbox, func(x *db.Exec) []*db.Version[pgsim.ValueKey, json.RawMessage] {
		return valuesIn(x, s, s.inbox, dropped(args), s.took(x, args))
	})
}

// endInstances: see end.sql. What it is itself comes first, and then its parts, the last first.
func (s *Store) endInstances(a *pgsim.Statement, args []any) {
	ords, ids := args[5].([]int32), args[6].([][16]byte)
	counters := pgsim.Deletion[pgsim.RunKey, readiness]{Table: s.readiness}
	values, parts := pgsim.Deletion[pgsim.ValueKey, json.RawMessage]{Table: s.inbox}, pgsim.Deletion[pgsim.ValueKey, collected]{Table: s.elements}
	a.Write = true
	a.Then(func(x *db.Exec) error {
		took := s.took(x, args)
		for i, id := range ids {
			if !took(ords[i]) || s.World.Bug == cases.BugLoopReset {
				continue
			}
			inst := int32(s.InstanceOf(id).Index)
			counters.Found = append(counters.Found, pgsim.OfInstance(x, s.readiness, pgsim.RunKey{Inst: inst, Node: pgsim.FirstID}, pgsim.InstOfRun)...)
			values.Found = append(values.Found, pgsim.OfInstance(x, s.inbox, pgsim.ValueKey{Inst: inst, ID: pgsim.FirstID}, pgsim.InstOfValue)...)
			parts.Found = append(parts.Found, pgsim.OfInstance(x, s.elements, pgsim.ValueKey{Inst: inst, ID: pgsim.FirstID}, pgsim.InstOfValue)...)
		}
		return nil
	})
	a.Then(func(x *db.Exec) error { return parts.Run(x) })
	a.Then(func(x *db.Exec) error { return values.Run(x) })
	a.Then(func(x *db.Exec) error { return counters.Run(x) })
}

// callOff: see call_off.sql.
func (s *Store) callOff(a *pgsim.Statement, args []any) { s.lockRuns(a, args, db.Wait) }

// callOffMore: see call_off_more.sql.
func (s *Store) callOffMore(a *pgsim.Statement, args []any) { s.lockRuns(a, args, db.NoWait) }

func (s *Store) lockRuns(a *pgsim.Statement, args []any, policy db.Policy) {
	r := ranges{nil, args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string), nil}
	lockRows(a, s.queue, policy, func(x *db.Exec) []*db.Version[pgsim.RunKey, queued] { return rowsIn(x, s, s.queue, r, nil) })
}

// holdCounters: see hold_counters.sql.
func (s *Store) holdCounters(a *pgsim.Statement, args []any) {
	ids, nodes, paths := args[1].([][16]byte), args[2].([]int32), args[3].([]string)
	lockRows(a, s.readiness, db.Wait, func(x *db.Exec) (found []*db.Version[pgsim.RunKey, readiness]) {
		for i := range ids {
			if v := s.readiness.Get(x, s.key(ids[i], nodes[i], paths[i])); v != nil {
				found = append(found, v)
			}
		}
		return found
	})
}

// lockRows adds the steps of a statement that locks rows and counts them.
func lockRows[V any](a *pgsim.Statement, t *db.Table[pgsim.RunKey, V], policy db.Policy, find func(x *db.Exec) []*db.Version[pgsim.RunKey, V]) {
	var found []*db.Version[pgsim.RunKey, V]
	count := int64(0)
	a.Then(func(x *db.Exec) error {
		found = find(x)
		return nil
	})
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := t.Lock(x, found[i], db.ForUpdate, policy)
		if v != nil {
			count++
		}
		return err
	})
	a.Then(func(*db.Exec) error {
		a.Give(count)
		return nil
	})
}

// cleanQueue: see cleanup/rows.sql.
func (s *Store) cleanQueue(a *pgsim.Statement, args []any) {
	pgsim.CleanTable(&s.Base, a, s.queue, args, s.FirstRun, pgsim.InstOfRun, db.Wait)
}

// cleanReadiness: see cleanup/rows.sql.
func (s *Store) cleanReadiness(a *pgsim.Statement, args []any) {
	pgsim.CleanTable(&s.Base, a, s.readiness, args, s.FirstRun, pgsim.InstOfRun, db.Wait)
}

// cleanElements: see cleanup/rows.sql.
func (s *Store) cleanElements(a *pgsim.Statement, args []any) {
	pgsim.CleanTable(&s.Base, a, s.elements, args, s.FirstValue, pgsim.InstOfValue, db.Wait)
}

// cleanInbox: see cleanup/rows.sql.
func (s *Store) cleanInbox(a *pgsim.Statement, args []any) {
	pgsim.CleanTable(&s.Base, a, s.inbox, args, s.FirstValue, pgsim.InstOfValue, db.Wait)
}

// markCleaned: see cleanup/mark.sql.
func (s *Store) markCleaned(a *pgsim.Statement, args []any) {
	s.MarkCleaned(a, args, func(x *db.Exec, inst int32) int {
		runs, values := s.FirstRun(inst), s.FirstValue(inst)
		return len(pgsim.OfInstance(x, s.queue, runs, pgsim.InstOfRun)) + len(pgsim.OfInstance(x, s.readiness, runs, pgsim.InstOfRun)) +
			len(pgsim.OfInstance(x, s.elements, values, pgsim.InstOfValue)) + len(pgsim.OfInstance(x, s.inbox, values, pgsim.InstOfValue))
	})
}
