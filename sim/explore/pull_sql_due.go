package explore

import (
	"slices"
	"strconv"

	"pulley/sim/db"
)

// due lists what is to be run of a shard by the time when it is due, of instances that do not rest.
func (s *pullStore) due(x *db.Exec, shard int, rest []int32) (found []*db.Version[runKey, ledgerRow]) {
	if slices.Contains(rest, 1) {
		return nil // every instance has that workflow
	}
	s.ledger.All(x, func(v *db.Version[runKey, ledgerRow]) bool {
		if v.Value.inst.shard == shard && v.Value.status != ledgerCompleted {
			found = append(found, v)
		}
		return true
	})
	slices.SortFunc(found, func(a, b *db.Version[runKey, ledgerRow]) int { return a.Value.before(&b.Value) })
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

func (s *pullStore) claim(a *asked, args []any) {
	most, owner, lease := args[1].(int), args[2].(string), args[3].(int64)*1000
	var now int64
	var due, locked []*db.Version[runKey, ledgerRow]
	isDue := func(r *ledgerRow) bool {
		return r.status != ledgerCompleted && r.due <= now && (r.status != ledgerLeased || s.w.Bug != bugNeverReclaimed)
	}
	a.write = true
	a.then(func(x *db.Exec) error {
		now = s.w.server.clock()
		due = slices.DeleteFunc(s.due(x, args[0].(int), args[4].([]int32)), func(v *db.Version[runKey, ledgerRow]) bool { return !isDue(&v.Value) })
		return nil
	})
	n := 0
	a.each(func() int { return len(due) }, func(x *db.Exec, i int) error {
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
	a.each(func() int { return len(locked) }, func(x *db.Exec, i int) error {
		row := locked[i].Value
		if s.w.Bug != bugLeaseNotFenced {
			row.token = s.tokens.Next()
		}
		row.status, row.due, row.owner = ledgerLeased, s.w.server.clock()+lease, owner
		ok, err := s.ledger.Update(x, locked[i], db.NoKeyUpdate, row)
		if err != nil || !ok {
			return err
		}
		k := locked[i].Row.Key
		args := row.args
		if args == nil {
			args = s.argsOf(x, k)
		}
		a.give([16]byte(row.inst.id), k.node, k.path, row.token, row.attempt, int32(1), text(args))
		x.Note(leasedNote{row.inst, k.run(), row.token, row.attempt, x.Begun()})
		return nil
	})
}

func (s *pullStore) nextDue(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		if due := s.due(x, args[0].(int), args[1].([]int32)); len(due) > 0 {
			a.give((due[0].Value.due - s.w.server.clock()) / 1000)
		}
		return nil
	})
}

func (s *pullStore) overdue(a *asked, args []any) {
	var now int64
	var found []*db.Version[runKey, ledgerRow]
	over := func(r *ledgerRow) bool { return r.status == ledgerLeased && r.due <= now }
	a.write, a.counts = true, true
	a.then(func(x *db.Exec) error {
		now = s.w.server.clock()
		found = slices.DeleteFunc(s.due(x, args[0].(int), nil), func(v *db.Version[runKey, ledgerRow]) bool {
			return v.Value.due > now || v.Value.due <= yearsBefore(now, 50)
		})
		slices.Reverse(found)
		found = found[:min(len(found), args[1].(int))]
		found = slices.DeleteFunc(found, func(v *db.Version[runKey, ledgerRow]) bool { return !over(&v.Value) })
		return nil
	})
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := s.ledger.Lock(x, found[i], db.ForUpdate, db.SkipLocked)
		if err != nil || v == nil || !over(&v.Value) {
			return err
		}
		row := v.Value
		row.due = yearsBefore(row.due, 100)
		ok, err := s.ledger.Update(x, v, db.NoKeyUpdate, row)
		if a.affect(ok); ok {
			x.Note(shardNote{PutsFirst, int64(row.inst.index), row.token})
		}
		return err
	})
}

// leases has a step for each lease, with its row locked, if that has the token and is leased.
func (s *pullStore) leases(a *asked, args []any, running bool, policy db.Policy, do func(x *db.Exec, ord int32, v *db.Version[runKey, ledgerRow]) error) {
	ords, ids, nodes, paths, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	a.each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
		key, ok := s.keyAt(args[0], ids, nodes, paths, i)
		if !ok || running && !s.runs(x, s.w.insts[key.inst]) {
			return nil
		}
		leased := func(v *db.Version[runKey, ledgerRow]) bool {
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

func (s *pullStore) held(a *asked, args []any) {
	s.leases(a, args, false, db.Wait, func(_ *db.Exec, ord int32, _ *db.Version[runKey, ledgerRow]) error {
		a.give(ord)
		return nil
	})
}

func (s *pullStore) standing(a *asked, args []any) {
	ords, ids, nodes, paths, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	a.then(func(x *db.Exec) error {
		for i := range ords {
			key, ok := s.keyAt(args[0], ids, nodes, paths, i)
			if !ok || !s.runs(x, s.w.insts[key.inst]) {
				continue
			}
			if v := s.ledger.Get(x, key); v != nil && v.Value.token == tokens[i] && v.Value.status == ledgerLeased {
				a.give(ords[i])
			}
		}
		return nil
	})
}

func (s *pullStore) renew(a *asked, args []any) {
	policy := db.SkipLocked
	if s.w.Bug == bugExtendWaits {
		policy = db.Wait
	}
	a.write = true
	s.leases(a, args, true, policy, func(x *db.Exec, ord int32, v *db.Version[runKey, ledgerRow]) error {
		row := v.Value
		row.due = s.w.server.clock() + args[6].(int64)*1000
		ok, err := s.ledger.Update(x, v, db.NoKeyUpdate, row)
		if ok {
			a.give(ord)
		}
		return err
	})
}

func (s *pullStore) release(a *asked, args []any) {
	lost := func(v *db.Version[runKey, ledgerRow]) bool {
		return v.Value.status == ledgerLeased && (strconv.FormatUint(v.By(), 10) == args[2].(string) || s.w.Bug == bugReleasedOthers)
	}
	var found []*db.Version[runKey, ledgerRow]
	a.write, a.counts = true, true
	a.then(func(x *db.Exec) error {
		found = slices.DeleteFunc(s.all(x, args), func(v *db.Version[runKey, ledgerRow]) bool { return !lost(v) })
		return nil
	})
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := s.ledger.Lock(x, found[i], db.ForUpdate, db.SkipLocked)
		if err != nil || v == nil || !lost(v) {
			return err
		}
		row := v.Value
		row.status, row.due, row.owner = ledgerQueued, s.w.server.clock(), ""
		ok, err := s.ledger.Update(x, v, db.NoKeyUpdate, row)
		a.affect(ok)
		return err
	})
}
