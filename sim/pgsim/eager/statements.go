package eager

import (
	"encoding/json"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/eager"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
)

var eagerSQL = pgsim.Join(map[string]pgsim.Build[*Store]{
	"insert_instances": (*Store).insertInstances, "guard": (*Store).guard, "read": (*Store).read, "gather": (*Store).gather,
	"gates": (*Store).gates, "gates_more": (*Store).gatesMore, "barriers": (*Store).barriers, "barriers_now": (*Store).barriersNow,
	"clear": (*Store).clear, "unset": (*Store).unset, "end": (*Store).end, "workflows": (*Store).workflows,
}, pgsim.QueueSQL(func(s *Store) *pgsim.Queue[nodeRow, *nodeRow] { return s.nodes }),
	pgsim.CleanupSQL[*Store](db.SkipLocked, "node_ready_state", "node_pending_context", "instance_eval_context"))

var texts = pgsim.Statements(eager.SQL, eagerSQL)

var eagerApplySQL = func() string {
	text, err := eager.SQL("apply")
	if err != nil {
		panic(err)
	}
	return text
}()

func (s *Store) insertInstances(a *pgsim.Statement, args []any) {
	ids, statuses, results, failures := args[1].([][16]byte), args[4].([]string), args[5].([]*string), args[6].([]*string)
	a.Write = true
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		row := pgsim.InstanceRow{Inst: s.InstanceOf(ids[i]), Status: backend.Status(statuses[i]), Submitted: s.Now()}
		row.End(results[i], failures[i])
		ok, err := s.Instances.InsertNew(x, int32(row.Inst.Index), row)
		if !ok || err != nil {
			return err
		}
		a.AddRow(ids[i], pgsim.XID(x))
		if row.Status != backend.Running {
			x.Note(judge.Ended{Inst: row.Inst, Status: row.Status})
		}
		return nil
	})
}

func (s *Store) guard(a *pgsim.Statement, args []any) {
	ords, ids, nodes, places, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	a.Each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
		if s.Running(x, ids[i]) == nil && s.World.Bug != cases.BugEndedTwice {
			return nil
		}
		v, err := pgsim.LockRow(x, s.nodes.Table, s.Key(ids[i], nodes[i], places[i]), db.ForUpdate, func(r nodeRow) bool {
			return (r.Token == tokens[i] || s.World.Bug == cases.BugTokenIgnored) && r.Leased()
		})
		if v != nil {
			a.AddRow(ords[i], v.Value.path, v.Value.Attempt, int32(1), pgsim.XID(x))
		}
		return err
	})
}

func (s *Store) read(a *pgsim.Statement, args []any) {
	ords, ids, vars, scopes := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	a.Then(func(x *db.Exec) error {
		for i := range ords {
			for _, v := range pgsim.ValuesOf(x, s.context, s.Key(ids[i], vars[i], scopes[i]).Value(pgsim.FirstElement)) {
				a.AddRow(ords[i], vars[i], scopes[i], v.Row.Key.Element, []byte(v.Value))
			}
		}
		return nil
	})
}

func (s *Store) gather(a *pgsim.Statement, args []any) {
	ords, ids, nodes, places := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	type found struct {
		ord int32
		v   *db.Version[pgsim.ValueKey, json.RawMessage]
	}
	var all []found
	a.Then(func(x *db.Exec) error {
		for i := range ords {
			for _, v := range pgsim.ValuesOf(x, s.pending, s.Key(ids[i], nodes[i], places[i]).Value(0)) {
				all = append(all, found{ords[i], v})
			}
		}
		return nil
	})
	a.Each(func() int { return len(all) }, func(x *db.Exec, i int) error {
		ok, err := s.pending.Delete(x, all[i].v)
		if ok {
			a.AddRow(all[i].ord, all[i].v.Row.Key.Element, []byte(all[i].v.Value))
		}
		return err
	})
}

func (s *Store) between(x *db.Exec, id [16]byte, node int32, low, high string) []*db.Version[pgsim.RunKey, nodeRow] {
	from := s.Key(id, node, low)
	return pgsim.Find(x, s.nodes.Table, from, func(k pgsim.RunKey) bool { return k.SameNode(from) && k.Path <= high })
}

func (s *Store) gates(a *pgsim.Statement, args []any) { s.lockGates(a, args, db.Wait) }

func (s *Store) gatesMore(a *pgsim.Statement, args []any) { s.lockGates(a, args, db.NoWait) }

func (s *Store) lockGates(a *pgsim.Statement, args []any, policy db.Policy) {
	ids, nodes, lows, highs := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	pgsim.LockAndCheck(&s.Base, a, s.nodes.Table, policy, func(x *db.Exec) (found []*db.Version[pgsim.RunKey, nodeRow]) {
		for i := range ids {
			found = append(found, s.between(x, ids[i], nodes[i], lows[i], highs[i])...)
		}
		found = slices.DeleteFunc(found, func(v *db.Version[pgsim.RunKey, nodeRow]) bool { return !v.Value.open() })
		switch s.World.Bug {
		case cases.BugGatesOpen:
			return nil
		case cases.BugMapOrder:
			s.World.Rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
		}
		return found
	}, nodeRow.open)
}

func (s *Store) barriers(a *pgsim.Statement, args []any) { s.lockBarriers(a, args, db.Wait) }

func (s *Store) barriersNow(a *pgsim.Statement, args []any) {
	s.lockBarriers(a, args, db.NoWait)
}

func (s *Store) lockBarriers(a *pgsim.Statement, args []any, policy db.Policy) {
	ids, nodes, places := args[1].([][16]byte), args[2].([]int32), args[3].([]string)
	pgsim.LockAll(a, s.nodes.Table, policy, func(x *db.Exec) (found []*db.Version[pgsim.RunKey, nodeRow]) {
		for i := range ids {
			if v := s.nodes.Get(x, s.Key(ids[i], nodes[i], places[i])); v != nil {
				found = append(found, v)
			}
		}
		return found
	}, pgsim.Any)
}

func (s *Store) workflows(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		for _, id := range args[1].([][16]byte) {
			if s.Running(x, id) != nil {
				a.AddRow(id, int32(1))
			}
		}
		return nil
	})
}
