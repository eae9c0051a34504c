package eager

import (
	"encoding/json"
	"slices"

	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/pgsim"
)

// clear is clear.sql. It locks the rows of nodes first; then its parts run, last first.
func (s *Store) clear(a *pgsim.Statement, args []any) {
	ids, nodes, lows, highs := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	vars := args[5].([][16]byte)
	varIDs, varLows, varHighs := args[6].([]int32), args[7].([]string), args[8].([]string)
	type target struct {
		v     *db.Version[pgsim.RunKey, nodeRow]
		stays bool
	}
	var all, found []target
	a.Write = true
	a.Then(func(x *db.Exec) error {
		for i := range ids {
			for _, v := range s.between(x, ids[i], nodes[i], lows[i], highs[i]) {
				all = append(all, target{v, lows[i] == highs[i]})
			}
		}
		return nil
	})
	a.Each(func() int { return len(all) }, func(x *db.Exec, i int) error {
		v, err := s.nodes.Lock(x, all[i].v, db.ForUpdate, db.NoWait)
		if v == nil || err != nil {
			return err
		}
		if r := v.Value; !all[i].stays || r.path != "" || r.Token != 0 || r.satisfied > 0 || r.completed {
			found = append(found, target{v, all[i].stays})
		}
		return nil
	})
	s.deleteBetween(a, s.context, vars, varIDs, varLows, varHighs)
	s.deleteBetween(a, s.pending, ids, nodes, lows, highs)
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
		_, err := s.nodes.Update(x, found[i].v, db.NoKeyUpdate, nodeRow{Queued: waiting, required: found[i].v.Value.required})
		return err
	})
	a.Then(func(*db.Exec) error {
		a.AddRow(len(found))
		return nil
	})
}

func (s *Store) deleteBetween(a *pgsim.Statement, t *db.Table[pgsim.ValueKey, json.RawMessage], instances [][16]byte, ids []int32, lows, highs []string) {
	pgsim.DeletePart(a, t, func(x *db.Exec) (found []*db.Version[pgsim.ValueKey, json.RawMessage]) {
		for i := range ids {
			from := s.Key(instances[i], ids[i], lows[i]).Value(pgsim.FirstElement)
			found = append(found, pgsim.Find(x, t, from, func(k pgsim.ValueKey) bool { return k.SameID(from) && k.Path <= highs[i] })...)
		}
		return found
	})
}

func (s *Store) unset(a *pgsim.Statement, args []any) {
	ids, vars, scopes, first := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]int32)
	pgsim.DeleteAll(a, s.context, func(x *db.Exec) (found []*db.Version[pgsim.ValueKey, json.RawMessage]) {
		for i := range ids {
			found = append(found, pgsim.ValuesOf(x, s.context, s.Key(ids[i], vars[i], scopes[i]).Value(first[i]))...)
		}
		return found
	})
}

// end is end.sql. Its main statement runs first, then its parts, last first; the part that deletes rows of nodes also locks them.
func (s *Store) end(a *pgsim.Statement, args []any) {
	ids, nodes, places, shared := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]bool)
	var all []pgsim.Ended
	a.Then(func(x *db.Exec) error {
		for i, id := range ids {
			inst := int32(s.InstanceOf(id).Index)
			isBusy := func() bool {
				return slices.ContainsFunc(pgsim.OfInstance(x, s.nodes.Table, inst), func(v *db.Version[pgsim.RunKey, nodeRow]) bool {
					return v.Value.Token != 0 && !v.Value.completed && v.Row.Key != s.Key(id, nodes[i], places[i])
				})
			}
			all = append(all, s.CleanupAtEnd(x, inst, shared[i], isBusy))
		}
		return nil
	})
	s.MarkNeedsCleanup(a, &all, func(i int) { a.AddRow(ids[i]) })
	pgsim.DeletePart(a, s.context, func(x *db.Exec) []*db.Version[pgsim.ValueKey, json.RawMessage] {
		return pgsim.OfEnded(x, s.context, all)
	})
	pgsim.DeletePart(a, s.pending, func(x *db.Exec) []*db.Version[pgsim.ValueKey, json.RawMessage] {
		return pgsim.OfEnded(x, s.pending, all)
	})
	var found, locked []*db.Version[pgsim.RunKey, nodeRow]
	a.Then(func(x *db.Exec) error {
		found = pgsim.OfEnded(x, s.nodes.Table, all)
		return nil
	})
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		if s.World.Bug == cases.BugRemovalWaits {
			locked = append(locked, found[i])
			return nil
		}
		v, err := s.nodes.Lock(x, found[i], db.ForUpdate, db.NoWait)
		if v != nil && err == nil {
			locked = append(locked, v)
		}
		return err
	})
	pgsim.DeletePart(a, s.nodes.Table, func(*db.Exec) []*db.Version[pgsim.RunKey, nodeRow] { return locked })
}
