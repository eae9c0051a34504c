package explore

import (
	"encoding/json"
	"slices"

	"pulley/sim/db"
)

// clear: see clear.sql. The rows of nodes are locked first; then the parts come, the last first.
func (s *eagerStore) clear(a *asked, args []any) {
	ids, nodes, lows, highs := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	vars := args[5].([][16]byte)
	varIDs, varLows, varHighs := args[6].([]int32), args[7].([]string), args[8].([]string)
	type target struct {
		v     *db.Version[runKey, nodeRow]
		stays bool
	}
	var all, found []target
	var pushed, known deletion[valueKey, json.RawMessage]
	a.write = true
	a.then(func(x *db.Exec) error {
		pushed.table, known.table = s.pending, s.context
		for i := range ids {
			for _, v := range s.between(x, ids[i], nodes[i], lows[i], highs[i], func(nodeRow) bool { return true }) {
				all = append(all, target{v, lows[i] == highs[i]})
			}
			pushed.found = append(pushed.found, valuesBetween(x, s.pending, s.nodeKey(ids[i], nodes[i], lows[i]), highs[i])...)
		}
		for i := range vars {
			known.found = append(known.found, valuesBetween(x, s.context, s.nodeKey(vars[i], varIDs[i], varLows[i]), varHighs[i])...)
		}
		return nil
	})
	a.each(func() int { return len(all) }, func(x *db.Exec, i int) error {
		v, err := s.nodes.Lock(x, all[i].v, db.ForUpdate, db.NoWait)
		if v == nil || err != nil {
			return err
		}
		if r := v.Value; !all[i].stays || r.path != "" || r.token != 0 || r.satisfied > 0 || r.completed {
			found = append(found, target{v, all[i].stays})
		}
		return nil
	})
	a.then(func(x *db.Exec) error { return known.run(x) })
	a.then(func(x *db.Exec) error { return pushed.run(x) })
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		if found[i].stays {
			return nil
		}
		_, err := s.nodes.Delete(x, found[i].v)
		return err
	})
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		if !found[i].stays || s.w.Bug == bugLoopReset {
			return nil
		}
		_, err := s.nodes.Update(x, found[i].v, db.NoKeyUpdate, nodeRow{required: found[i].v.Value.required, due: never, attempt: 1})
		return err
	})
	a.then(func(*db.Exec) error {
		a.give(len(found))
		return nil
	})
}

// valuesBetween gives values from one place to another.
func valuesBetween(x *db.Exec, t *db.Table[valueKey, json.RawMessage], from runKey, high string) (found []*db.Version[valueKey, json.RawMessage]) {
	t.Each(x, valueKey{from.inst, from.node, from.path, math32}, func(v *db.Version[valueKey, json.RawMessage]) bool {
		k := v.Row.Key
		if k.inst != from.inst || k.id != from.node || k.path > high {
			return false
		}
		found = append(found, v)
		return true
	})
	return found
}

// unset: see unset.sql.
func (s *eagerStore) unset(a *asked, args []any) {
	ids, vars, scopes, first := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]int32)
	old := deletion[valueKey, json.RawMessage]{table: s.context}
	a.write = true
	a.then(func(x *db.Exec) error {
		for i := range ids {
			for _, v := range valuesBetween(x, s.context, s.nodeKey(ids[i], vars[i], scopes[i]), scopes[i]) {
				if v.Row.Key.element >= first[i] {
					old.found = append(old.found, v)
				}
			}
		}
		return nil
	})
	a.then(func(x *db.Exec) error { return old.run(x) })
}

// remove: see remove.sql. What it is itself comes first, and then its parts, the last first; the rows of nodes are
// locked when theirs comes.
func (s *eagerStore) remove(a *asked, args []any) {
	var found []*db.Version[runKey, nodeRow]
	nodes := deletion[runKey, nodeRow]{table: s.nodes}
	pushed, known := deletion[valueKey, json.RawMessage]{table: s.pending}, deletion[valueKey, json.RawMessage]{table: s.context}
	a.write = true
	a.then(func(x *db.Exec) error {
		for _, id := range args[1].([][16]byte) {
			inst := int32(s.instanceOf(id).index)
			found = append(found, ofInstance(x, s.nodes, runKey{inst: inst, node: math32}, instOfRun)...)
			pushed.found = append(pushed.found, ofInstance(x, s.pending, valueKey{inst: inst, id: math32}, instOfValue)...)
			known.found = append(known.found, ofInstance(x, s.context, valueKey{inst: inst, id: math32}, instOfValue)...)
		}
		return nil
	})
	a.then(func(x *db.Exec) error { return known.run(x) })
	a.then(func(x *db.Exec) error { return pushed.run(x) })
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		if s.w.Bug == bugRemovalWaits {
			nodes.found = append(nodes.found, found[i])
			return nil
		}
		v, err := s.nodes.Lock(x, found[i], db.ForUpdate, db.NoWait)
		if v != nil && err == nil {
			nodes.found = append(nodes.found, v)
		}
		return err
	})
	a.then(func(x *db.Exec) error { return nodes.run(x) })
}

// overdue: see overdue.sql.
func (s *eagerStore) overdue(a *asked, args []any) {
	shard, most := args[0].(int), args[1].(int)
	var begun int64
	var recent []*db.Version[runKey, nodeRow]
	over := func(r nodeRow) bool { return r.queued && !r.completed && r.due <= begun }
	a.write = true
	a.then(func(x *db.Exec) error {
		begun = s.now()
		s.nodes.All(x, func(v *db.Version[runKey, nodeRow]) bool {
			if r := v.Value; s.w.insts[v.Row.Key.inst].shard == shard && r.ready() && r.due <= begun && r.due > yearsBefore(begun, 50) {
				recent = append(recent, v)
			}
			return true
		})
		slices.SortFunc(recent, func(a, b *db.Version[runKey, nodeRow]) int { return -compareDue(a.Value, b.Value) })
		recent = recent[:min(len(recent), most)]
		return nil
	})
	a.each(func() int { return len(recent) }, func(x *db.Exec, i int) error {
		if !over(recent[i].Value) {
			return nil
		}
		v, err := s.nodes.Lock(x, recent[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || v != recent[i] || !over(v.Value) { // it is looked for by its address
			return err
		}
		row := v.Value
		row.due = yearsBefore(row.due, 100)
		_, err = s.nodes.Update(x, v, db.NoKeyUpdate, row)
		return err
	})
}

// untidy: see untidy.sql.
func (s *eagerStore) untidy(a *asked, args []any) { s.listUntidy(a, args) }

// tidyReady: see tidy_ready.sql.
func (s *eagerStore) tidyReady(a *asked, args []any) {
	tidyTable(a, s.nodes, s.nodeKey(args[1].([16]byte), math32, ""), instOfRun, db.SkipLocked, args[2].(int))
}

// tidyPending: see tidy_pending.sql.
func (s *eagerStore) tidyPending(a *asked, args []any) {
	tidyTable(a, s.pending, valueKey{inst: int32(s.instanceOf(args[1].([16]byte)).index), id: math32}, instOfValue, db.SkipLocked, args[2].(int))
}

// tidyContext: see tidy_context.sql.
func (s *eagerStore) tidyContext(a *asked, args []any) {
	tidyTable(a, s.context, valueKey{inst: int32(s.instanceOf(args[1].([16]byte)).index), id: math32}, instOfValue, db.SkipLocked, args[2].(int))
}

// tidy: see tidy.sql.
func (s *eagerStore) tidy(a *asked, args []any) {
	inst := int32(s.instanceOf(args[1].([16]byte)).index)
	s.markTidy(a, inst, func(x *db.Exec) int {
		return len(ofInstance(x, s.nodes, runKey{inst: inst, node: math32}, instOfRun)) +
			len(ofInstance(x, s.pending, valueKey{inst: inst, id: math32}, instOfValue)) +
			len(ofInstance(x, s.context, valueKey{inst: inst, id: math32}, instOfValue))
	})
}
