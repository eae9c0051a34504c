package pgsim

import (
	"fmt"

	"pulley/sim/cases"
	"pulley/sim/db"
)

// What stands here is of the sweeps of designs on a Host.

// OfInstance gives all rows of an instance in a table.
func OfInstance[K, V any](x *db.Exec, t *db.Table[K, V], from K, inst func(K) int32) (found []*db.Version[K, V]) {
	of := inst(from)
	t.Each(x, from, func(v *db.Version[K, V]) bool {
		if inst(v.Row.Key) != of {
			return false
		}
		found = append(found, v)
		return true
	})
	return found
}

// ListUntidy gives ids of instances that have ended and may have left rows.
func (b *Base) ListUntidy(a *Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		b.Instances.All(x, func(v *db.Version[int32, InstanceRow]) bool {
			if v.Value.Untidy && v.Value.Inst.Shard == args[0].(int) {
				a.Give([16]byte(v.Value.Inst.ID))
			}
			return len(a.Out.List) < args[1].(int)
		})
		return nil
	})
}

// TidyTable removes rows of an instance in key order. Those that somebody holds are waited for, or left.
func TidyTable[K, V any](a *Statement, t *db.Table[K, V], from K, inst func(K) int32, policy db.Policy, most int) {
	var found []*db.Version[K, V]
	locked := 0
	a.Write = true
	a.Then(func(x *db.Exec) error {
		found = OfInstance(x, t, from, inst)
		return nil
	})
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		if locked == most {
			return nil
		}
		v, err := t.Lock(x, found[i], db.ForUpdate, policy)
		if v == nil || err != nil {
			return err
		}
		locked++
		ok, err := t.Delete(x, v)
		if ok {
			a.Affected++
		}
		return err
	})
}

// MarkTidy marks an instance as tidy that has ended, if nothing is left of it.
func (b *Base) MarkTidy(a *Statement, inst int32, rows func(*db.Exec) int) {
	a.Write = true
	a.Then(func(x *db.Exec) error {
		left := rows(x)
		_, ok, err := b.Instances.UpdateWhere(x, inst, db.NoKeyUpdate,
			func(r InstanceRow) bool { return r.Untidy && (left == 0 || b.World.Bug == cases.BugTidyUnseen) },
			func(r InstanceRow) InstanceRow {
				r.Untidy = false
				return r
			})
		a.Affect(ok)
		return err
	})
}

// Left counts a row of an instance that has ended.
func (b *Base) Left(out map[string]int, table string, inst int32) {
	if b.ended(inst) {
		out[fmt.Sprintf("%s of instance %d", table, inst)]++
	}
}
