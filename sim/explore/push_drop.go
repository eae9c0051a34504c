package explore

import (
	"encoding/json"
	"slices"
	"strings"

	"pulley/sim/db"
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
func (s *pushStore) took(x *db.Exec, args []any) func(ord int32) bool {
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
func rowsIn[V any](x *db.Exec, s *pushStore, t *db.Table[runKey, V], r ranges, took func(int32) bool) (found []*db.Version[runKey, V]) {
	for i := range r.ids {
		if r.ords != nil && !took(r.ords[i]) {
			continue
		}
		from := s.key(r.instances[i], r.ids[i], r.lows[i])
		t.Each(x, from, func(v *db.Version[runKey, V]) bool {
			k := v.Row.Key
			if k.inst != from.inst || k.node != from.node || k.path >= r.highs[i] {
				return false
			}
			found = append(found, v)
			return true
		})
	}
	return found
}

// valuesIn is rowsIn of a table of values.
func valuesIn[V any](x *db.Exec, s *pushStore, t *db.Table[valueKey, V], r ranges, took func(int32) bool) (found []*db.Version[valueKey, V]) {
	for i := range r.ids {
		if !took(r.ords[i]) || s.w.Bug == bugLoopReset && !strings.HasSuffix(r.highs[i], " ") {
			continue
		}
		from := s.key(r.instances[i], r.ids[i], r.lows[i])
		t.Each(x, valueKey{from.inst, from.node, from.path, math32}, func(v *db.Version[valueKey, V]) bool {
			k := v.Row.Key
			if k.inst != from.inst || k.id != from.node || k.path >= r.highs[i] {
				return false
			}
			if r.firsts == nil || k.element >= r.firsts[i] {
				found = append(found, v)
			}
			return true
		})
	}
	return found
}

// drop adds the steps of a statement that takes rows away by their addresses.
func drop[K, V any](a *asked, t *db.Table[K, V], find func(x *db.Exec) []*db.Version[K, V]) {
	d := deletion[K, V]{table: t}
	a.write = true
	a.then(func(x *db.Exec) error {
		d.found = find(x)
		return nil
	})
	a.then(func(x *db.Exec) error { return d.run(x) })
}

// dropRuns: see drop_runs.sql.
func (s *pushStore) dropRuns(a *asked, args []any) { dropRows(s, a, s.queue, args) }

// dropCounters: see drop_counters.sql.
func (s *pushStore) dropCounters(a *asked, args []any) { dropRows(s, a, s.readiness, args) }

func dropRows[V any](s *pushStore, a *asked, t *db.Table[runKey, V], args []any) {
	drop(a, t, func(x *db.Exec) []*db.Version[runKey, V] {
		if s.w.Bug == bugLoopReset {
			return nil
		}
		return rowsIn(x, s, t, dropped(args), s.took(x, args))
	})
}

// dropElements: see drop_elements.sql.
func (s *pushStore) dropElements(a *asked, args []any) {
	drop(a, s.elements, func(x *db.Exec) []*db.Version[valueKey, collected] {
		return valuesIn(x, s, s.elements, dropped(args), s.took(x, args))
	})
}

// dropValues: see drop_values.sql.
func (s *pushStore) dropValues(a *asked, args []any) {
	drop(a, s.inbox, func(x *db.Exec) []*db.Version[valueKey, json.RawMessage] {
		return valuesIn(x, s, s.inbox, dropped(args), s.took(x, args))
	})
}

// endInstances: see end.sql. What it is itself comes first, and then its parts, the last first.
func (s *pushStore) endInstances(a *asked, args []any) {
	ords, ids := args[5].([]int32), args[6].([][16]byte)
	counters := deletion[runKey, readiness]{table: s.readiness}
	values, parts := deletion[valueKey, json.RawMessage]{table: s.inbox}, deletion[valueKey, collected]{table: s.elements}
	a.write = true
	a.then(func(x *db.Exec) error {
		took := s.took(x, args)
		for i, id := range ids {
			if !took(ords[i]) || s.w.Bug == bugLoopReset {
				continue
			}
			inst := int32(s.instanceOf(id).index)
			counters.found = append(counters.found, ofInstance(x, s.readiness, runKey{inst: inst, node: math32}, instOfRun)...)
			values.found = append(values.found, ofInstance(x, s.inbox, valueKey{inst: inst, id: math32}, instOfValue)...)
			parts.found = append(parts.found, ofInstance(x, s.elements, valueKey{inst: inst, id: math32}, instOfValue)...)
		}
		return nil
	})
	a.then(func(x *db.Exec) error { return parts.run(x) })
	a.then(func(x *db.Exec) error { return values.run(x) })
	a.then(func(x *db.Exec) error { return counters.run(x) })
}

// callOff: see call_off.sql.
func (s *pushStore) callOff(a *asked, args []any) { s.lockRuns(a, args, db.Wait) }

// callOffMore: see call_off_more.sql.
func (s *pushStore) callOffMore(a *asked, args []any) { s.lockRuns(a, args, db.NoWait) }

func (s *pushStore) lockRuns(a *asked, args []any, policy db.Policy) {
	r := ranges{nil, args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string), nil}
	lockRows(a, s.queue, policy, func(x *db.Exec) []*db.Version[runKey, queued] { return rowsIn(x, s, s.queue, r, nil) })
}

// holdCounters: see hold_counters.sql.
func (s *pushStore) holdCounters(a *asked, args []any) {
	ids, nodes, paths := args[1].([][16]byte), args[2].([]int32), args[3].([]string)
	lockRows(a, s.readiness, db.Wait, func(x *db.Exec) (found []*db.Version[runKey, readiness]) {
		for i := range ids {
			if v := s.readiness.Get(x, s.key(ids[i], nodes[i], paths[i])); v != nil {
				found = append(found, v)
			}
		}
		return found
	})
}

// lockRows adds the steps of a statement that locks rows and counts them.
func lockRows[V any](a *asked, t *db.Table[runKey, V], policy db.Policy, find func(x *db.Exec) []*db.Version[runKey, V]) {
	var found []*db.Version[runKey, V]
	count := int64(0)
	a.then(func(x *db.Exec) error {
		found = find(x)
		return nil
	})
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := t.Lock(x, found[i], db.ForUpdate, policy)
		if v != nil {
			count++
		}
		return err
	})
	a.then(func(*db.Exec) error {
		a.give(count)
		return nil
	})
}

// untidy: see untidy.sql.
func (s *pushStore) untidy(a *asked, args []any) { s.listUntidy(a, args) }

// tidyQueue: see tidy_queue.sql.
func (s *pushStore) tidyQueue(a *asked, args []any) {
	tidyTable(a, s.queue, s.key(args[1].([16]byte), math32, ""), instOfRun, db.Wait, args[2].(int))
}

// tidyReadiness: see tidy_readiness.sql.
func (s *pushStore) tidyReadiness(a *asked, args []any) {
	tidyTable(a, s.readiness, s.key(args[1].([16]byte), math32, ""), instOfRun, db.Wait, args[2].(int))
}

// tidyElements: see tidy_elements.sql.
func (s *pushStore) tidyElements(a *asked, args []any) {
	tidyTable(a, s.elements, valueKey{inst: int32(s.instanceOf(args[1].([16]byte)).index), id: math32}, instOfValue, db.Wait, args[2].(int))
}

// tidyInbox: see tidy_inbox.sql.
func (s *pushStore) tidyInbox(a *asked, args []any) {
	tidyTable(a, s.inbox, valueKey{inst: int32(s.instanceOf(args[1].([16]byte)).index), id: math32}, instOfValue, db.Wait, args[2].(int))
}

// tidy: see tidy.sql.
func (s *pushStore) tidy(a *asked, args []any) {
	inst := int32(s.instanceOf(args[1].([16]byte)).index)
	runs, values := runKey{inst: inst, node: math32}, valueKey{inst: inst, id: math32}
	s.markTidy(a, inst, func(x *db.Exec) int {
		return len(ofInstance(x, s.queue, runs, instOfRun)) + len(ofInstance(x, s.readiness, runs, instOfRun)) +
			len(ofInstance(x, s.elements, values, instOfValue)) + len(ofInstance(x, s.inbox, values, instOfValue))
	})
}
