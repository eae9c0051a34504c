package db

// computedRow is what a statement has computed for a row before it had to wait for it. It is computed anew only if another version of
// the row has come meanwhile: after a holder that has left the row alone, a clock that the statement has read stays what
// it was.
type computedRow[K, V any] struct {
	key   K
	of    *Version[K, V] // that was found; nil: an insertion
	value V
}

// takeComputed gives what a statement has kept for a row of the table, and forgets it.
func (t *Table[K, V]) takeComputed(x *Exec, key K, of *Version[K, V]) (value V, ok bool) {
	k, ok := x.computed.(*computedRow[K, V])
	if !ok || t.compare(k.key, key) != 0 || k.of != of {
		return value, false
	}
	x.computed = nil
	return k.value, true
}

// UpdateWhere is UPDATE … WHERE of the row of a key: what the statement sees is held against the condition, and replaced. If the
// statement has had to wait, and another version has come, that takes its place in both. It gives the new value, and
// whether there is one.
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
