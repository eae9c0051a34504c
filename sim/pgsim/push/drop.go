package push

import (
	"slices"
	"strings"

	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/pgsim"
)

type ranges struct {
	ords      []int32 // nil: all events are applied
	instances [][16]byte
	ids       []int32
	lows      []string
	highs     []string
	firsts    []int32 // first elements; nil: from the beginning
}

func dropped(args []any) ranges {
	r := ranges{args[5].([]int32), args[6].([][16]byte), args[7].([]int32), args[8].([]string), args[9].([]string), nil}
	if len(args) > 10 {
		r.firsts = args[10].([]int32)
	}
	return r
}

// appliedOrds returns which events of a deleting statement were applied: all, or those that this transaction's commit slot does
// not list as stale.
func (s *Store) appliedOrds(x *db.Exec, args []any) func(ord int32) bool {
	if args[4].(bool) {
		return func(int32) bool { return true }
	}
	v := s.commits.Get(x, commitKey{args[0].(int), args[1].(int64), args[2].(int32)})
	if v == nil || v.Value.number != args[3].(int64) {
		return func(int32) bool { return false }
	}
	return func(ord int32) bool { return !slices.Contains(v.Value.stale, ord) }
}

// rowsIn returns the rows in ranges of node runs, once for each range that contains them.
func rowsIn[V any](x *db.Exec, s *Store, t *db.Table[pgsim.RunKey, V], r ranges, took func(int32) bool) (found []*db.Version[pgsim.RunKey, V]) {
	for i := range r.ids {
		if r.ords != nil && !took(r.ords[i]) {
			continue
		}
		from := s.Key(r.instances[i], r.ids[i], r.lows[i])
		found = append(found, pgsim.Find(x, t, from, func(k pgsim.RunKey) bool { return k.SameNode(from) && k.Path < r.highs[i] })...)
	}
	return found
}

func (s *Store) dropRuns(a *pgsim.Statement, args []any) { dropRows(s, a, s.queue.Table, args) }

func (s *Store) dropCounters(a *pgsim.Statement, args []any) { dropRows(s, a, s.readiness, args) }

func dropRows[V any](s *Store, a *pgsim.Statement, t *db.Table[pgsim.RunKey, V], args []any) {
	pgsim.DeleteAll(a, t, func(x *db.Exec) []*db.Version[pgsim.RunKey, V] {
		if s.World.Bug == cases.BugLoopReset {
			return nil
		}
		return rowsIn(x, s, t, dropped(args), s.appliedOrds(x, args))
	})
}

func (s *Store) dropElements(a *pgsim.Statement, args []any) { dropValues(s, a, s.elements, args) }

// dropValues is the statement delete_values.
func (s *Store) dropValues(a *pgsim.Statement, args []any) { dropValues(s, a, s.inbox, args) }

// dropValues is dropRows for a table of values.
func dropValues[V any](s *Store, a *pgsim.Statement, t *db.Table[pgsim.ValueKey, V], args []any) {
	pgsim.DeleteAll(a, t, func(x *db.Exec) (found []*db.Version[pgsim.ValueKey, V]) {
		r, took := dropped(args), s.appliedOrds(x, args)
		for i := range r.ids {
			if !took(r.ords[i]) || s.World.Bug == cases.BugLoopReset && !strings.HasSuffix(r.highs[i], " ") {
				continue
			}
			from := s.Key(r.instances[i], r.ids[i], r.lows[i]).Value(pgsim.FirstElement)
			for _, v := range pgsim.Find(x, t, from, func(k pgsim.ValueKey) bool { return k.SameID(from) && k.Path < r.highs[i] }) {
				if r.firsts == nil || v.Row.Key.Element >= r.firsts[i] {
					found = append(found, v)
				}
			}
		}
		return found
	})
}

// endInstances is end.sql. Its main statement runs first, then its parts, last first.
func (s *Store) endInstances(a *pgsim.Statement, args []any) {
	ords, ids, shared := args[5].([]int32), args[6].([][16]byte), args[7].([]bool)
	var all []pgsim.Ended
	var of []int32
	a.Then(func(x *db.Exec) error {
		took := s.appliedOrds(x, args)
		for i, id := range ids {
			if took(ords[i]) {
				inst := int32(s.InstanceOf(id).Index)
				isBusy := func() bool { return len(pgsim.OfInstance(x, s.queue.Table, inst)) > 0 }
				all, of = append(all, s.CleanupAtEnd(x, inst, shared[i], isBusy)), append(of, ords[i])
			}
		}
		return nil
	})
	s.MarkNeedsCleanup(a, &all, func(i int) { a.AddRow(of[i]) })
	dropEnded(s, a, s.elements, &all)
	dropEnded(s, a, s.inbox, &all)
	dropEnded(s, a, s.readiness, &all)
}

func dropEnded[K pgsim.InstanceKey[K], V any](s *Store, a *pgsim.Statement, t *db.Table[K, V], all *[]pgsim.Ended) {
	pgsim.DeletePart(a, t, func(x *db.Exec) []*db.Version[K, V] {
		if s.World.Bug == cases.BugLoopReset {
			return nil
		}
		return pgsim.OfEnded(x, t, *all)
	})
}

func (s *Store) lockCancelled(a *pgsim.Statement, args []any) { s.lockRuns(a, args, db.Wait) }

func (s *Store) lockCancelledMore(a *pgsim.Statement, args []any) { s.lockRuns(a, args, db.NoWait) }

func (s *Store) lockRuns(a *pgsim.Statement, args []any, policy db.Policy) {
	r := ranges{nil, args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string), nil}
	pgsim.LockAndCheck(&s.Base, a, s.queue.Table, policy, func(x *db.Exec) []*db.Version[pgsim.RunKey, queued] { return rowsIn(x, s, s.queue.Table, r, nil) }, pgsim.Any)
}

func (s *Store) lockCounters(a *pgsim.Statement, args []any) {
	ids, nodes, paths := args[1].([][16]byte), args[2].([]int32), args[3].([]string)
	pgsim.LockAll(a, s.readiness, db.Wait, func(x *db.Exec) []*db.Version[pgsim.RunKey, readiness] { return s.counters(x, ids, nodes, paths) }, pgsim.Any)
}
