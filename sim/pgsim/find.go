package pgsim

import (
	"pulley/sim/cases"
	"pulley/sim/db"
)

// What stands here is how statements find rows, and what they do with those that they have found.

// InstanceKey is a key that begins with an instance.
type InstanceKey[K any] interface {
	Instance() int32
	First(inst int32) K // is before all keys of an instance
}

// Find gives the rows of a table that a statement sees from a key on, as long as something holds of their keys.
func Find[K, V any](x *db.Exec, t *db.Table[K, V], from K, within func(K) bool) (found []*db.Version[K, V]) {
	t.Each(x, from, func(v *db.Version[K, V]) bool {
		if !within(v.Row.Key) {
			return false
		}
		found = append(found, v)
		return true
	})
	return found
}

// OfInstance gives all rows of an instance in a table.
func OfInstance[K InstanceKey[K], V any](x *db.Exec, t *db.Table[K, V], inst int32) []*db.Version[K, V] {
	var none K
	return Find(x, t, none.First(inst), func(k K) bool { return k.Instance() == inst })
}

// OfInstances gives all rows of some instances in a table.
func OfInstances[K InstanceKey[K], V any](x *db.Exec, b *Base, t *db.Table[K, V], ids [][16]byte) (found []*db.Version[K, V]) {
	for _, id := range ids {
		found = append(found, OfInstance(x, t, int32(b.InstanceOf(id).Index))...)
	}
	return found
}

// CommittedOf calls f with what is committed of an instance in a table, in the order of keys.
func CommittedOf[K InstanceKey[K], V any](t *db.Table[K, V], inst int32, f func(key K, value V)) {
	var none K
	t.CommittedFrom(none.First(inst), func(key K, value V) bool {
		if key.Instance() != inst {
			return false
		}
		f(key, value)
		return true
	})
}

// ValuesOf gives what is stored of a variable, or of an aggregate, from an element on.
func ValuesOf[V any](x *db.Exec, t *db.Table[ValueKey, V], from ValueKey) []*db.Version[ValueKey, V] {
	return Find(x, t, from, func(k ValueKey) bool { return k.SameID(from) && k.Path == from.Path })
}

// LockRow locks a row that the statement sees and gives its newest version, if a condition holds for both.
func LockRow[K, V any](x *db.Exec, t *db.Table[K, V], key K, mode db.Mode, holds func(V) bool) (*db.Version[K, V], error) {
	v := t.Get(x, key)
	if v == nil || !holds(v.Value) {
		return nil, nil
	}
	v, err := t.Lock(x, v, mode, db.Wait)
	if err != nil || v == nil || !holds(v.Value) {
		return nil, err
	}
	return v, nil
}

// LockAll adds the steps of a statement that locks the rows which it finds, in their order, and counts those of which a condition
// holds then.
func LockAll[K, V any](a *Statement, t *db.Table[K, V], policy db.Policy, find func(*db.Exec) []*db.Version[K, V], holds func(V) bool) {
	lockAll(a, t, policy, find, holds, func(_, locked int64) any { return locked })
}

// LockAndCheck is LockAll, and says whether all that was found is locked, and the condition holds of it.
func LockAndCheck[K, V any](b *Base, a *Statement, t *db.Table[K, V], policy db.Policy, find func(*db.Exec) []*db.Version[K, V], holds func(V) bool) {
	lockAll(a, t, policy, find, holds, func(found, locked int64) any {
		return found == locked || b.World.Bug == cases.BugSeenCountsAsLocked
	})
}

func lockAll[K, V any](a *Statement, t *db.Table[K, V], policy db.Policy, find func(*db.Exec) []*db.Version[K, V], holds func(V) bool, give func(found, locked int64) any) {
	var found []*db.Version[K, V]
	count := int64(0)
	a.Then(func(x *db.Exec) error {
		found = find(x)
		return nil
	})
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := t.Lock(x, found[i], db.ForUpdate, policy)
		if v != nil && holds(v.Value) {
			count++
		}
		return err
	})
	a.Then(func(*db.Exec) error {
		a.AddRow(give(int64(len(found)), count))
		return nil
	})
}

// Any is a condition that always holds.
func Any[V any](V) bool { return true }

// Remove is DELETE … WHERE of one row.
func Remove[K, V any](x *db.Exec, t *db.Table[K, V], v *db.Version[K, V], holds func(V) bool) (bool, error) {
	v, err := t.Lock(x, v, db.ForUpdate, db.Wait)
	if err != nil || v == nil || !holds(v.Value) {
		return false, err
	}
	t.Remove(x, v)
	return true, nil
}

// DeleteAll adds the steps of a statement that takes away the rows which it finds, by their addresses, and says how many they were.
func DeleteAll[K, V any](a *Statement, t *db.Table[K, V], find func(*db.Exec) []*db.Version[K, V]) {
	a.Write, a.Counts = true, true
	DeletePart(a, t, find, func(V) { a.Affected++ })
}

// DeletePart adds the steps of a part of a statement that takes away the rows which it finds. Those who want to are told of each.
func DeletePart[K, V any](a *Statement, t *db.Table[K, V], find func(*db.Exec) []*db.Version[K, V], removed ...func(V)) {
	var found []*db.Version[K, V]
	a.Then(func(x *db.Exec) error {
		found = find(x)
		return nil
	})
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		ok, err := t.Delete(x, found[i])
		for _, tell := range removed {
			if ok {
				tell(found[i].Value)
			}
		}
		return err
	})
}
