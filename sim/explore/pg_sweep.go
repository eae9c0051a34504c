package explore

import (
	"fmt"

	"pulley/sim/db"
)

// What stands here is of the sweeps of designs on a pgHost.

// ofInstance gives all rows of an instance in a table.
func ofInstance[K, V any](x *db.Exec, t *db.Table[K, V], from K, inst func(K) int32) (found []*db.Version[K, V]) {
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

// listUntidy gives ids of instances that have ended and may have left rows.
func (b *base) listUntidy(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		b.instances.All(x, func(v *db.Version[int32, instanceRow]) bool {
			if v.Value.untidy && v.Value.inst.shard == args[0].(int) {
				a.give([16]byte(v.Value.inst.id))
			}
			return len(a.out.list) < args[1].(int)
		})
		return nil
	})
}

// tidyTable removes rows of an instance in key order. Those that somebody holds are waited for, or left.
func tidyTable[K, V any](a *asked, t *db.Table[K, V], from K, inst func(K) int32, policy db.Policy, most int) {
	var found []*db.Version[K, V]
	locked := 0
	a.write = true
	a.then(func(x *db.Exec) error {
		found = ofInstance(x, t, from, inst)
		return nil
	})
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
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
			a.affected++
		}
		return err
	})
}

// markTidy marks an instance as tidy that has ended, if nothing is left of it.
func (b *base) markTidy(a *asked, inst int32, rows func(*db.Exec) int) {
	a.write = true
	a.then(func(x *db.Exec) error {
		left := rows(x)
		_, ok, err := b.instances.UpdateWhere(x, inst, db.NoKeyUpdate,
			func(r instanceRow) bool { return r.untidy && (left == 0 || b.w.Bug == bugTidyUnseen) },
			func(r instanceRow) instanceRow {
				r.untidy = false
				return r
			})
		a.affect(ok)
		return err
	})
}

// left counts a row of an instance that has ended.
func (b *base) left(out map[string]int, table string, inst int32) {
	if b.ended(inst) {
		out[fmt.Sprintf("%s of instance %d", table, inst)]++
	}
}
