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

// untidy: see untidy.sql.
func (b *Base) untidy(a *Statement, args []any) {
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

// FirstRun is before all runs of an instance.
func (b *Base) FirstRun(inst int32) RunKey { return RunKey{Inst: inst, Node: FirstID} }

// FirstValue is before all values of an instance.
func (b *Base) FirstValue(inst int32) ValueKey { return ValueKey{Inst: inst, ID: FirstID} }

// CleanTable removes rows of instances in key order. Those that somebody holds are waited for, or left. From gives what is
// before all rows of an instance.
func CleanTable[K, V any](b *Base, a *Statement, t *db.Table[K, V], args []any, from func(inst int32) K, inst func(K) int32, policy db.Policy) {
	ids, most := args[1].([][16]byte), args[2].(int)
	var found []*db.Version[K, V]
	locked := 0
	a.Write = true
	a.Then(func(x *db.Exec) error {
		for _, id := range ids {
			found = append(found, OfInstance(x, t, from(int32(b.InstanceOf(id).Index)), inst)...)
		}
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

// MarkCleaned marks instances as cleaned up that have ended, if nothing is left of them.
func (b *Base) MarkCleaned(a *Statement, args []any, rows func(x *db.Exec, inst int32) int) {
	ids := args[1].([][16]byte)
	a.Write = true
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		inst := int32(b.InstanceOf(ids[i]).Index)
		left := rows(x, inst)
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
