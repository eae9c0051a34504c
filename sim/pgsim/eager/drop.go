package eager

import (
	"encoding/json"
	"slices"

	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/pgsim"
)

// clear: see clear.sql. The rows of nodes are locked first; then the parts come, the last first.
func (s *Store) clear(a *pgsim.Statement, args []any) {
	ids, nodes, lows, highs := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	vars := args[5].([][16]byte)
	varIDs, varLows, varHighs := args[6].([]int32), args[7].([]string), args[8].([]string)
	type target struct {
		v     *db.Version[pgsim.RunKey, nodeRow]
		stays bool
	}
	var all, found []target
	var pushed, known pgsim.Deletion[pgsim.ValueKey, json.RawMessage]
	a.Write = true
	a.Then(func(x *db.Exec) error {
		pushed.Table, known.Table = s.pending, s.context
		for i := range ids {
			for _, v := range s.between(x, ids[i], nodes[i], lows[i], highs[i], func(nodeRow) bool { return true }) {
				all = append(all, target{v, lows[i] == highs[i]})
			}
			pushed.Found = append(pushed.Found, valuesBetween(x, s.pending, s.nodeKey(ids[i], nodes[i], lows[i]), highs[i])...)
		}
		for i := range vars {
			known.Found = append(known.Found, valuesBetween(x, s.context, s.nodeKey(vars[i], varIDs[i], varLows[i]), varHighs[i])...)
		}
		return nil
	})
	a.Each(func() int { return len(all) }, func(x *db.Exec, i int) error {
		v, err := s.nodes.Lock(x, all[i].v, db.ForUpdate, db.NoWait)
		if v == nil || err != nil {
			return err
		}
		if r := v.Value; !all[i].stays || r.path != "" || r.token != 0 || r.satisfied > 0 || r.completed {
			found = append(found, target{v, all[i].stays})
		}
		return nil
	})
	a.Then(func(x *db.Exec) error { return known.Run(x) })
	a.Then(func(x *db.Exec) error { return pushed.Run(x) })
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		if found[i].stays {
			return nil
		}
		_, err := s.nodes.Delete(x, found[i].v)
		return err
	})
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		if !found[i].stays || s.World.Bug == cases.BugLoopReset {
			return nil
		}
		_, err := s.nodes.Update(x, found[i].v, db.NoKeyUpdate, nodeRow{required: found[i].v.Value.required, due: pgsim.Never, attempt: 1})
		return err
	})
	a.Then(func(*db.Exec) error {
		a.Give(len(found))
		return nil
	})
}

// valuesBetween gives values from one place to another.
func valuesBetween(x *db.Exec, t *db.Table[pgsim.ValueKey, json.RawMessage], from pgsim.RunKey, high string) (found []*db.Version[pgsim.ValueKey, json.RawMessage]) {
	t.Each(x, pgsim.ValueKey{Inst: from.Inst, ID: from.Node, Path: from.Path, Element: pgsim.FirstID}, func(v *db.Version[pgsim.ValueKey, json.RawMessage]) bool {
		k := v.Row.Key
		if k.Inst != from.Inst || k.ID != from.Node || k.Path > high {
			return false
		}
		found = append(found, v)
		return true
	})
	return found
}

// unset: see unset.sql.
func (s *Store) unset(a *pgsim.Statement, args []any) {
	ids, vars, scopes, first := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]int32)
	old := pgsim.Deletion[pgsim.ValueKey, json.RawMessage]{Table: s.context}
	a.Write = true
	a.Then(func(x *db.Exec) error {
		for i := range ids {
			for _, v := range valuesBetween(x, s.context, s.nodeKey(ids[i], vars[i], scopes[i]), scopes[i]) {
				if v.Row.Key.Element >= first[i] {
					old.Found = append(old.Found, v)
				}
			}
		}
		return nil
	})
	a.Then(func(x *db.Exec) error { return old.Run(x) })
}

// remove: see remove.sql. What it is itself comes first, and then its parts, the last first; the rows of nodes are
// locked when theirs comes.
func (s *Store) remove(a *pgsim.Statement, args []any) {
	var found []*db.Version[pgsim.RunKey, nodeRow]
	nodes := pgsim.Deletion[pgsim.RunKey, nodeRow]{Table: s.nodes}
	pushed, known := pgsim.Deletion[pgsim.ValueKey, json.RawMessage]{Table: s.pending}, pgsim.Deletion[pgsim.ValueKey, json.RawMessage]{Table: s.context}
	a.Write = true
	a.Then(func(x *db.Exec) error {
		for _, id := range args[1].([][16]byte) {
			inst := int32(s.InstanceOf(id).Index)
			found = append(found, pgsim.OfInstance(x, s.nodes, pgsim.RunKey{Inst: inst, Node: pgsim.FirstID}, pgsim.InstOfRun)...)
			pushed.Found = append(pushed.Found, pgsim.OfInstance(x, s.pending, pgsim.ValueKey{Inst: inst, ID: pgsim.FirstID}, pgsim.InstOfValue)...)
			known.Found = append(known.Found, pgsim.OfInstance(x, s.context, pgsim.ValueKey{Inst: inst, ID: pgsim.FirstID}, pgsim.InstOfValue)...)
		}
		return nil
	})
	a.Then(func(x *db.Exec) error { return known.Run(x) })
	a.Then(func(x *db.Exec) error { return pushed.Run(x) })
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		if s.World.Bug == cases.BugRemovalWaits {
			nodes.Found = append(nodes.Found, found[i])
			return nil
		}
		v, err := s.nodes.Lock(x, found[i], db.ForUpdate, db.NoWait)
		if v != nil && err == nil {
			nodes.Found = append(nodes.Found, v)
		}
		return err
	})
	a.Then(func(x *db.Exec) error { return nodes.Run(x) })
}

// overdue: see overdue.sql.
func (s *Store) overdue(a *pgsim.Statement, args []any) {
	shard, most := args[0].(int), args[1].(int)
	var begun int64
	var recent []*db.Version[pgsim.RunKey, nodeRow]
	over := func(r nodeRow) bool { return r.queued && !r.completed && r.due <= begun }
	a.Write = true
	a.Then(func(x *db.Exec) error {
		begun = s.now()
		s.nodes.All(x, func(v *db.Version[pgsim.RunKey, nodeRow]) bool {
			if r := v.Value; s.World.Instances[v.Row.Key.Inst].Shard == shard && r.ready() && r.due <= begun && r.due > pgsim.YearsBefore(begun, 50) {
				recent = append(recent, v)
			}
			return true
		})
		slices.SortFunc(recent, func(a, b *db.Version[pgsim.RunKey, nodeRow]) int { return -compareDue(a.Value, b.Value) })
		recent = recent[:min(len(recent), most)]
		return nil
	})
	a.Each(func() int { return len(recent) }, func(x *db.Exec, i int) error {
		if !over(recent[i].Value) {
			return nil
		}
		v, err := s.nodes.Lock(x, recent[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || v != recent[i] || !over(v.Value) { // it is looked for by its address
			return err
		}
		row := v.Value
		row.due = pgsim.YearsBefore(row.due, 100)
		_, err = s.nodes.Update(x, v, db.NoKeyUpdate, row)
		return err
	})
}

// cleanNodes: see cleanup/rows.sql.
func (s *Store) cleanNodes(a *pgsim.Statement, args []any) {
	pgsim.CleanTable(&s.Base, a, s.nodes, args, s.FirstRun, pgsim.InstOfRun, db.SkipLocked)
}

// cleanPending: see cleanup/rows.sql.
func (s *Store) cleanPending(a *pgsim.Statement, args []any) {
	pgsim.CleanTable(&s.Base, a, s.pending, args, s.FirstValue, pgsim.InstOfValue, db.SkipLocked)
}

// cleanContext: see cleanup/rows.sql.
func (s *Store) cleanContext(a *pgsim.Statement, args []any) {
	pgsim.CleanTable(&s.Base, a, s.context, args, s.FirstValue, pgsim.InstOfValue, db.SkipLocked)
}

// markCleaned: see cleanup/mark.sql.
func (s *Store) markCleaned(a *pgsim.Statement, args []any) {
	s.MarkCleaned(a, args, func(x *db.Exec, inst int32) int {
		return len(pgsim.OfInstance(x, s.nodes, s.FirstRun(inst), pgsim.InstOfRun)) +
			len(pgsim.OfInstance(x, s.pending, s.FirstValue(inst), pgsim.InstOfValue)) +
			len(pgsim.OfInstance(x, s.context, s.FirstValue(inst), pgsim.InstOfValue))
	})
}
