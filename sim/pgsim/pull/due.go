package pull

import (
	"slices"
	"strconv"

	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// due lists what is to be run of a shard by the time when it is due, of instances that do not rest.
func (s *Store) due(x *db.Exec, shard int, rest []int32) (found []*db.Version[pgsim.RunKey, ledgerRow]) {
	if slices.Contains(rest, 1) {
		return nil // every instance has that workflow
	}
	s.ledger.All(x, func(v *db.Version[pgsim.RunKey, ledgerRow]) bool {
		if v.Value.inst.Shard == shard && v.Value.status != ledgerCompleted {
			found = append(found, v)
		}
		return true
	})
	slices.SortFunc(found, func(a, b *db.Version[pgsim.RunKey, ledgerRow]) int { return a.Value.before(&b.Value) })
	return found
}

// before compares rows as the index of what is due does.
func (r *ledgerRow) before(o *ledgerRow) int {
	switch {
	case r.due < o.due || r.due == o.due && r.token < o.token:
		return -1
	case r.due == o.due && r.token == o.token:
		return 0
	}
	return 1
}

func (s *Store) claim(a *pgsim.Statement, args []any) {
	most, owner, lease := args[1].(int), args[2].(string), args[3].(int64)*1000
	var now int64
	var due, locked []*db.Version[pgsim.RunKey, ledgerRow]
	isDue := func(r *ledgerRow) bool {
		return r.status != ledgerCompleted && r.due <= now && (r.status != ledgerLeased || s.World.Bug != cases.BugNeverReclaimed)
	}
	a.Write = true
	a.Then(func(x *db.Exec) error {
		now = s.World.Server.Clock()
		due = slices.DeleteFunc(s.due(x, args[0].(int), args[4].([]int32)), func(v *db.Version[pgsim.RunKey, ledgerRow]) bool { return !isDue(&v.Value) })
		return nil
	})
	n := 0
	a.Each(func() int { return len(due) }, func(x *db.Exec, i int) error {
		if n >= most {
			return nil
		}
		v, err := s.ledger.Lock(x, due[i], db.ForUpdate, db.SkipLocked)
		if err != nil || v == nil || !isDue(&v.Value) {
			return err
		}
		if n++; v == due[i] { // what has come meanwhile is not met by its address
			locked = append(locked, v)
		}
		return nil
	})
	a.Each(func() int { return len(locked) }, func(x *db.Exec, i int) error {
		row := locked[i].Value
		if s.World.Bug != cases.BugLeaseNotFenced {
			row.token = s.Tokens.Next()
		}
		row.status, row.due, row.owner = ledgerLeased, s.World.Server.Clock()+lease, owner
		ok, err := s.ledger.Update(x, locked[i], db.NoKeyUpdate, row)
		if err != nil || !ok {
			return err
		}
		k := locked[i].Row.Key
		args := row.args
		if args == nil {
			args = s.argsOf(x, k)
		}
		a.Give([16]byte(row.inst.ID), k.Node, k.Path, row.token, row.attempt, int32(1), text(args))
		x.Note(judge.Leased{Inst: row.inst, Run: k.Run(), Token: row.token, Attempt: row.attempt, Snapshot: x.Begun()})
		return nil
	})
}

func (s *Store) nextDue(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		if due := s.due(x, args[0].(int), args[1].([]int32)); len(due) > 0 {
			a.Give((due[0].Value.due - s.World.Server.Clock()) / 1000)
		}
		return nil
	})
}

func (s *Store) overdue(a *pgsim.Statement, args []any) {
	var now int64
	var found []*db.Version[pgsim.RunKey, ledgerRow]
	over := func(r *ledgerRow) bool { return r.status == ledgerLeased && r.due <= now }
	a.Write, a.Counts = true, true
	a.Then(func(x *db.Exec) error {
		now = s.World.Server.Clock()
		found = slices.DeleteFunc(s.due(x, args[0].(int), nil), func(v *db.Version[pgsim.RunKey, ledgerRow]) bool {
			return v.Value.due > now || v.Value.due <= pgsim.YearsBefore(now, 50)
		})
		slices.Reverse(found)
		found = found[:min(len(found), args[1].(int))]
		found = slices.DeleteFunc(found, func(v *db.Version[pgsim.RunKey, ledgerRow]) bool { return !over(&v.Value) })
		return nil
	})
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := s.ledger.Lock(x, found[i], db.ForUpdate, db.SkipLocked)
		if err != nil || v == nil || !over(&v.Value) {
			return err
		}
		row := v.Value
		row.due = pgsim.YearsBefore(row.due, 100)
		ok, err := s.ledger.Update(x, v, db.NoKeyUpdate, row)
		if a.Affect(ok); ok {
			x.Note(judge.Step{What: world.PutsFirst, Shard: int64(row.inst.Index), Epoch: row.token})
		}
		return err
	})
}

// leases has a step for each lease, with its row locked, if that has the token and is leased.
func (s *Store) leases(a *pgsim.Statement, args []any, running bool, policy db.Policy, do func(x *db.Exec, ord int32, v *db.Version[pgsim.RunKey, ledgerRow]) error) {
	ords, ids, nodes, paths, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	a.Each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
		key, ok := s.keyAt(args[0], ids, nodes, paths, i)
		if !ok || running && !s.runs(x, s.World.Instances[key.Inst]) {
			return nil
		}
		leased := func(v *db.Version[pgsim.RunKey, ledgerRow]) bool {
			return v != nil && v.Value.token == tokens[i] && v.Value.status == ledgerLeased
		}
		v := s.ledger.Get(x, key)
		if !leased(v) {
			return nil
		}
		v, err := s.ledger.Lock(x, v, db.ForUpdate, policy)
		if err != nil || !leased(v) {
			return err
		}
		return do(x, ords[i], v)
	})
}

func (s *Store) held(a *pgsim.Statement, args []any) {
	s.leases(a, args, false, db.Wait, func(_ *db.Exec, ord int32, _ *db.Version[pgsim.RunKey, ledgerRow]) error {
		a.Give(ord)
		return nil
	})
}

func (s *Store) standing(a *pgsim.Statement, args []any) {
	ords, ids, nodes, paths, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	a.Then(func(x *db.Exec) error {
		for i := range ords {
			key, ok := s.keyAt(args[0], ids, nodes, paths, i)
			if !ok || !s.runs(x, s.World.Instances[key.Inst]) {
				continue
			}
			if v := s.ledger.Get(x, key); v != nil && v.Value.token == tokens[i] && v.Value.status == ledgerLeased {
				a.Give(ords[i])
			}
		}
		return nil
	})
}

func (s *Store) renew(a *pgsim.Statement, args []any) {
	policy := db.SkipLocked
	if s.World.Bug == cases.BugExtendWaits {
		policy = db.Wait
	}
	a.Write = true
	s.leases(a, args, true, policy, func(x *db.Exec, ord int32, v *db.Version[pgsim.RunKey, ledgerRow]) error {
		row := v.Value
		row.due = s.World.Server.Clock() + args[6].(int64)*1000
		ok, err := s.ledger.Update(x, v, db.NoKeyUpdate, row)
		if ok {
			a.Give(ord)
		}
		return err
	})
}

func (s *Store) release(a *pgsim.Statement, args []any) {
	lost := func(v *db.Version[pgsim.RunKey, ledgerRow]) bool {
		return v.Value.status == ledgerLeased && (strconv.FormatUint(v.By(), 10) == args[2].(string) || s.World.Bug == cases.BugReleasedOthers)
	}
	var found []*db.Version[pgsim.RunKey, ledgerRow]
	a.Write, a.Counts = true, true
	a.Then(func(x *db.Exec) error {
		found = slices.DeleteFunc(s.all(x, args), func(v *db.Version[pgsim.RunKey, ledgerRow]) bool { return !lost(v) })
		return nil
	})
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := s.ledger.Lock(x, found[i], db.ForUpdate, db.SkipLocked)
		if err != nil || v == nil || !lost(v) {
			return err
		}
		row := v.Value
		row.status, row.due, row.owner = ledgerQueued, s.World.Server.Clock(), ""
		ok, err := s.ledger.Update(x, v, db.NoKeyUpdate, row)
		a.Affect(ok)
		return err
	})
}
