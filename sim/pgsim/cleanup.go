package pgsim

import (
	"slices"

	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/world"
)

// This file simulates the cleanup of designs.

func (b *Base) needsCleanup(a *Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		b.Instances.All(x, func(v *db.Version[int32, InstanceRow]) bool {
			if v.Value.NeedsCleanup && v.Value.Inst.Shard == args[0].(int) {
				a.AddRow([16]byte(v.Value.Inst.ID))
			}
			return len(a.Out.List) < args[1].(int)
		})
		return nil
	})
}

type instanceTable interface {
	name() string
	rows(x *db.Exec, inst int32) int                           // counts an instance's rows that a statement sees
	clean(b *Base, a *Statement, args []any, policy db.Policy) // see cleanup/rows.sql
	committed(f func(inst int32))                              // calls f with the instance of each committed row
}

type instanceRows[K InstanceKey[K], V any] struct{ *db.Table[K, V] }

// NewTable adds a table with rows of instances to a design.
func NewTable[K InstanceKey[K], V any](b *Base, name string, compare func(a, b K) int) *db.Table[K, V] {
	t := db.NewTable[K, V](b.World.Server.Server, name, compare)
	b.tables = append(b.tables, instanceRows[K, V]{t})
	return t
}

func (t instanceRows[K, V]) name() string { return t.Name }

func (t instanceRows[K, V]) rows(x *db.Exec, inst int32) int {
	return len(OfInstance(x, t.Table, inst))
}

func (t instanceRows[K, V]) committed(f func(inst int32)) {
	t.Committed(func(k K, _ V) bool {
		f(k.Instance())
		return true
	})
}

func (t instanceRows[K, V]) clean(b *Base, a *Statement, args []any, policy db.Policy) {
	ids, most := args[1].([][16]byte), args[2].(int)
	var found []*db.Version[K, V]
	locked := 0
	a.Write = true
	a.Then(func(x *db.Exec) error {
		found = OfInstances(x, b, t.Table, ids)
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
		a.Affect(ok)
		return err
	})
}

// CleanupSQL returns the statements that clean up tables after ended instances and mark those instances. policy applies to rows
// that another transaction has locked.
func CleanupSQL[S Store](policy db.Policy, tables ...string) map[string]Build[S] {
	all := map[string]Build[S]{"mark_cleaned": func(s S, a *Statement, args []any) { s.Common().markCleaned(a, args) }}
	for _, name := range tables {
		all["cleanup_"+name] = func(s S, a *Statement, args []any) {
			b := s.Common()
			b.tables[slices.IndexFunc(b.tables, func(t instanceTable) bool { return t.name() == name })].clean(b, a, args, policy)
		}
	}
	return all
}

func (b *Base) markCleaned(a *Statement, args []any) {
	ids := args[1].([][16]byte)
	a.Write = true
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		inst, left := int32(b.InstanceOf(ids[i]).Index), 0
		for _, t := range b.tables {
			left += t.rows(x, inst)
		}
		_, ok, err := b.Instances.UpdateWhere(x, inst, db.NoKeyUpdate,
			func(r InstanceRow) bool {
				return r.NeedsCleanup && (left == 0 || b.World.Bug == cases.BugCleanedUnseen)
			},
			func(r InstanceRow) InstanceRow {
				r.NeedsCleanup = false
				return r
			})
		a.Affect(ok)
		return err
	})
}

// Leftovers implements world.Store.
func (b *Base) Leftovers() map[world.LeftoverRows]int {
	out := map[world.LeftoverRows]int{}
	for _, t := range b.tables {
		t.committed(func(inst int32) { b.CountLeftover(out, t.name(), inst) })
	}
	return out
}

// CountLeftover counts a row if its instance has ended.
func (b *Base) CountLeftover(out map[world.LeftoverRows]int, table string, inst int32) {
	if b.ended(inst) {
		out[world.LeftoverRows{Table: table, Instance: inst}]++
	}
}
