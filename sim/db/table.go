package db

import "slices"

// Table is rows in the order of their keys.
type Table[K, V any] struct {
	Name     string
	Unlogged bool // a crash empties it

	server  *Server
	compare func(a, b K) int
	rows    []*Row[K, V]
}

// Row is all versions of the row with a key.
type Row[K, V any] struct {
	Key         K
	table       *Table[K, V]
	head        *Version[K, V] // the newest; nil: none, or undone
	generations int            // how often the key was inserted
	lock        lock
	deleted     bool
}

// Version is one version of a row, and its address.
type Version[K, V any] struct {
	Row        *Row[K, V]
	Value      V
	by         *Tx
	command    int
	generation int // of the key: a row that is inserted again is another row
	deleted    bool
	older      *Version[K, V]
}

// By returns the number of the transaction that made the version: xmin.
func (v *Version[K, V]) By() uint64 { return v.by.number }

// NewTable adds a table to a server.
func NewTable[K, V any](s *Server, name string, compare func(a, b K) int) *Table[K, V] {
	t := &Table[K, V]{Name: name, server: s, compare: compare}
	s.tables = append(s.tables, t)
	return t
}

func (t *Table[K, V]) place(key K) (int, bool) {
	lo, hi := 0, len(t.rows)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t.compare(t.rows[mid].Key, key) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(t.rows) && t.compare(t.rows[lo].Key, key) == 0
}

func (t *Table[K, V]) row(key K) *Row[K, V] {
	if i, ok := t.place(key); ok {
		return t.rows[i]
	}
	return nil
}

func (r *Row[K, V]) visible(x *Exec) *Version[K, V] {
	for v := r.head; v != nil; v = v.older {
		if v.seen(x) {
			if v.deleted {
				return nil
			}
			return v
		}
	}
	return nil
}

func (v *Version[K, V]) seen(x *Exec) bool {
	if v.by == x.tx {
		return v.command < x.tx.command
	}
	return v.by.seq != 0 && v.by.seq <= x.snapshot
}

// Get returns the version that a statement sees, without a lock; nil: none.
func (t *Table[K, V]) Get(x *Exec, key K) *Version[K, V] {
	if r := t.row(key); r != nil {
		return r.visible(x)
	}
	return nil
}

// Each calls f with the visible versions from a key on, in order, until f returns false. f must not add rows.
func (t *Table[K, V]) Each(x *Exec, from K, f func(*Version[K, V]) bool) {
	i, _ := t.place(from)
	for ; i < len(t.rows); i++ {
		if v := t.rows[i].visible(x); v != nil && !f(v) {
			return
		}
	}
}

// All is Each from the first key on.
func (t *Table[K, V]) All(x *Exec, f func(*Version[K, V]) bool) {
	for i := 0; i < len(t.rows); i++ {
		if v := t.rows[i].visible(x); v != nil && !f(v) {
			return
		}
	}
}

// replaced reports whether the version's row was deleted, as far as the transaction can know without waiting. Its key may have
// another row since.
func (v *Version[K, V]) replaced(tx *Tx) bool {
	newest := v.Row.head
	for newest != nil && newest.by.seq == 0 && newest.by != tx {
		newest = newest.older
	}
	return newest == nil || newest.deleted || newest.generation != v.generation
}

// Policy is what a statement does at a locked row.
type Policy uint8

// The policies.
const (
	Wait Policy = iota
	SkipLocked
	NoWait
)

// Lock locks the row of a visible version and returns the row's newest version, which the statement may not see. Nil: the row was
// deleted, even if its key has another row since; or it was skipped.
func (t *Table[K, V]) Lock(x *Exec, v *Version[K, V], mode Mode, policy Policy) (*Version[K, V], error) {
	r := v.Row
	if !r.lock.holds(x.tx, mode) {
		if x.yields() {
			return nil, errWait
		}
		if v.replaced(x.tx) {
			x.skipDeleted(&r.lock)
			return nil, nil
		}
		if !r.lock.free(x.tx, mode) {
			switch policy {
			case SkipLocked:
				return nil, nil
			case NoWait:
				return nil, ErrLocked
			}
			return nil, r.lock.wait(x.tx, mode)
		}
		r.lock.grant(x.tx, mode)
	}
	x.passed = false
	if v.replaced(x.tx) {
		return nil, nil
	}
	return r.head, nil
}

// Update replaces a version found by address. It returns false if the statement does not see the version or a newer one has come.
func (t *Table[K, V]) Update(x *Exec, v *Version[K, V], mode Mode, value V) (bool, error) {
	if ok, err := t.lockVersion(x, v, mode); !ok || err != nil {
		return false, err
	}
	t.add(x, v.Row, value, false)
	return true, nil
}

// Delete deletes a version found by address, on the same terms.
func (t *Table[K, V]) Delete(x *Exec, v *Version[K, V]) (bool, error) {
	if ok, err := t.lockVersion(x, v, ForUpdate); !ok || err != nil {
		return false, err
	}
	var none V
	t.add(x, v.Row, none, true)
	return true, nil
}

func (t *Table[K, V]) lockVersion(x *Exec, v *Version[K, V], mode Mode) (bool, error) {
	if !v.seen(x) {
		return false, nil
	}
	r := v.Row
	if !r.lock.holds(x.tx, mode) {
		if x.yields() {
			return false, errWait
		}
		if v.replaced(x.tx) {
			x.skipDeleted(&r.lock)
			return false, nil
		}
		if !r.lock.free(x.tx, mode) {
			return false, r.lock.wait(x.tx, mode)
		}
		r.lock.grant(x.tx, mode)
	}
	x.passed = false
	return r.head == v, nil
}

func (t *Table[K, V]) add(x *Exec, r *Row[K, V], value V, deleted bool) {
	x.Server.number(x.tx)
	if r.head == nil || r.head.deleted {
		r.generations++
	}
	r.head = &Version[K, V]{Row: r, Value: value, by: x.tx, command: x.tx.command, generation: r.generations, deleted: deleted, older: r.head}
	x.tx.changed = append(x.tx.changed, r)
}

// Change replaces the newest version of a locked row, whether the statement sees it or not. An UPDATE does so with a row that it
// waited for and whose condition still holds.
func (t *Table[K, V]) Change(x *Exec, v *Version[K, V], value V) { t.add(x, v.Row, value, false) }

// Remove deletes a row that is locked for update, as Change replaces it.
func (t *Table[K, V]) Remove(x *Exec, v *Version[K, V]) {
	var none V
	t.add(x, v.Row, none, true)
}

// claim locks a key for an insertion. It returns the key's row and the newest version; nil: there is none.
func (t *Table[K, V]) claim(x *Exec, key K, mode Mode) (*Row[K, V], *Version[K, V], error) {
	if x.yields() {
		return nil, nil, errWait
	}
	i, ok := t.place(key)
	if !ok {
		r := &Row[K, V]{Key: key, table: t}
		t.rows = slices.Insert(t.rows, i, r)
		r.lock.grant(x.tx, ForUpdate)
		x.passed = false
		return r, nil, nil
	}
	r := t.rows[i]
	if r.head == nil || r.head.deleted || r.head.by.seq == 0 && r.head.by != x.tx {
		mode = ForUpdate // wait for the transaction that inserts or deletes the key
	}
	if !r.lock.holds(x.tx, mode) {
		if !r.lock.free(x.tx, mode) {
			return nil, nil, r.lock.wait(x.tx, mode)
		}
		r.lock.grant(x.tx, mode)
	}
	x.passed = false
	if r.head == nil || r.head.deleted {
		return r, nil, nil
	}
	return r, r.head, nil
}

// Insert adds a row, or fails with ErrUnique.
func (t *Table[K, V]) Insert(x *Exec, key K, value V) error {
	ok, err := t.InsertNew(x, key, value)
	if err == nil && !ok {
		err = ErrUnique
	}
	return err
}

// InsertNew adds a row unless the key exists: ON CONFLICT DO NOTHING.
func (t *Table[K, V]) InsertNew(x *Exec, key K, value V) (bool, error) {
	r := t.row(key)
	if r != nil && r.head != nil && !r.head.deleted && (r.head.by.seq != 0 || r.head.by == x.tx) {
		return false, nil // no wait: a deletion in progress counts as later
	}
	r, v, err := t.claimWith(x, key, ForUpdate, &value)
	if err != nil || v != nil {
		return false, err
	}
	t.add(x, r, value, false)
	return true, nil
}

// claimWith is claim for a value; after a wait it restores the value of the first try.
func (t *Table[K, V]) claimWith(x *Exec, key K, mode Mode, value *V) (*Row[K, V], *Version[K, V], error) {
	if first, ok := t.takeComputed(x, key, nil); ok {
		*value = first
	}
	r, v, err := t.claim(x, key, mode)
	if Waits(err) {
		x.computed = &computedRow[K, V]{key: key, value: *value}
	}
	return r, v, err
}

// Upsert adds a row or changes the existing newest version: ON CONFLICT DO UPDATE. It fails if the statement itself made that
// version. change may refuse or fail.
func (t *Table[K, V]) Upsert(x *Exec, key K, value V, change func(old V) (V, bool, error)) (V, bool, error) {
	r, v, err := t.claimWith(x, key, NoKeyUpdate, &value)
	if err != nil {
		return value, false, err
	}
	if v != nil {
		if v.by == x.tx && v.command == x.tx.command {
			return value, false, ErrTwice
		}
		var ok bool
		if value, ok, err = change(v.Value); err != nil || !ok {
			return value, false, err
		}
	}
	t.add(x, r, value, false)
	return value, true, nil
}

func (r *Row[K, V]) undo(tx *Tx) {
	for r.head != nil && r.head.by == tx {
		r.head = r.head.older
	}
}

// prune removes what no statement can see.
func (r *Row[K, V]) prune() {
	if r.deleted {
		return
	}
	if r.head != nil {
		if r.head.by.seq == 0 {
			return // its transaction prunes later
		}
		r.head.older = nil
	}
	if (r.head == nil || r.head.deleted) && len(r.lock.holders)+len(r.lock.waiters) == 0 {
		if i, ok := r.table.place(r.Key); ok && r.table.rows[i] == r {
			r.table.rows = slices.Delete(r.table.rows, i, i+1)
			r.deleted = true
		}
	}
}

// Committed calls f with the committed rows in key order, for checks from outside.
func (t *Table[K, V]) Committed(f func(key K, value V) bool) {
	for _, r := range t.rows {
		if !r.report(f) {
			return
		}
	}
}

// CommittedFrom is Committed from a key on.
func (t *Table[K, V]) CommittedFrom(from K, f func(key K, value V) bool) {
	i, _ := t.place(from)
	for ; i < len(t.rows); i++ {
		if !t.rows[i].report(f) {
			return
		}
	}
}

func (r *Row[K, V]) report(f func(key K, value V) bool) bool {
	v := r.head
	for v != nil && v.by.seq == 0 {
		v = v.older
	}
	return v == nil || v.deleted || f(r.Key, v.Value)
}

func (t *Table[K, V]) crashed() {
	if t.Unlogged {
		t.rows = nil
	}
}
