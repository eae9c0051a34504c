package db

// computedRow is the value that a statement computed before it waited for a row's lock. It is computed again only if a newer
// version has come since then. Otherwise, for instance, a clock reading must stay.
type computedRow[K, V any] struct {
	key   K
	of    *Version[K, V] // the version found; nil: an insertion
	value V
}

func (t *Table[K, V]) takeComputed(x *Exec, key K, of *Version[K, V]) (value V, ok bool) {
	k, ok := x.computed.(*computedRow[K, V])
	if !ok || t.compare(k.key, key) != 0 || k.of != of {
		return value, false
	}
	x.computed = nil
	return k.value, true
}

// UpdateWhere is UPDATE … WHERE of a key's row. It checks the condition and computes the new value from the visible version. If
// it has waited and a newer version has come, it does both again with that one. It returns the new value and whether the row was
// updated.
func (t *Table[K, V]) UpdateWhere(x *Exec, key K, mode Mode, holds func(V) bool, to func(V) V) (V, bool, error) {
	var none V
	seen := t.Get(x, key)
	if seen == nil {
		return none, false, nil
	}
	value, had := t.takeComputed(x, key, seen)
	if !had {
		if !holds(seen.Value) {
			return none, false, nil
		}
		value = to(seen.Value)
	}
	v, err := t.Lock(x, seen, mode, Wait)
	if Waits(err) {
		x.computed = &computedRow[K, V]{key, seen, value}
	}
	if err != nil || v == nil {
		return none, false, err
	}
	if v != seen {
		if !holds(v.Value) {
			return none, false, nil
		}
		value = to(v.Value)
	}
	t.Change(x, v, value)
	return value, true, nil
}
