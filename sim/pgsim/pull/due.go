package pull

import (
	"slices"

	"pulley/sim/db"
	"pulley/sim/pgsim"
)

// due returns the wanted rows of a shard in the order of their due times. rest lists workflows whose instances are skipped.
func (s *Store) due(x *db.Exec, shard int, rest []int32, wanted func(*ledgerRow) bool) []*db.Version[pgsim.RunKey, ledgerRow] {
	if slices.Contains(rest, 1) {
		return nil // every instance has workflow 1
	}
	return s.ledger.Sorted(x, shard, func(_ pgsim.RunKey, r *ledgerRow) bool { return wanted(r) })
}

func (s *Store) claim(a *pgsim.Statement, args []any) {
	var begun int64
	var due, locked []*db.Version[pgsim.RunKey, ledgerRow]
	claimable := func(r *ledgerRow) bool { return s.ledger.Claimable(r, begun) }
	a.Write = true
	a.Then(func(x *db.Exec) error {
		begun = s.Now()
		due = s.due(x, args[0].(int), args[4].([]int32), claimable)
		return nil
	})
	n := 0
	a.Each(func() int { return len(due) }, func(x *db.Exec, i int) error {
		if n >= args[1].(int) {
			return nil
		}
		v, err := s.ledger.Lock(x, due[i], db.ForUpdate, db.SkipLocked)
		if err != nil || v == nil || !claimable(&v.Value) {
			return err
		}
		if n++; v == due[i] { // a newer version has another address and is not found
			locked = append(locked, v)
		}
		return nil
	})
	a.Each(func() int { return len(locked) }, func(x *db.Exec, i int) error {
		return s.ledger.LeaseRow(x, a, locked[i], locked[i].Value, args, false)
	})
}

// arguments returns the arguments in the ledger, or else those in arrivals; nil: none.
func (s *Store) arguments(x *db.Exec, key pgsim.RunKey, r *ledgerRow) []byte {
	if r.args != nil {
		return []byte(*r.args)
	}
	for _, v := range pgsim.Find(x, s.arrivals, arrivalKey{RunKey: key}, func(k arrivalKey) bool { return k.RunKey == key }) {
		if v.Value.args != nil {
			return []byte(*v.Value.args)
		}
	}
	return nil
}

func (s *Store) nextDue(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		s.ledger.AddNextDue(a, s.due(x, args[0].(int), args[1].([]int32), (*ledgerRow).Ready))
		return nil
	})
}
