package explore

import (
	"pulley/sim/db"
)

// asked is a statement of the journal, made of steps. Each is called until it does not wait any more; what a step has
// done it must find done when it is called again.
type asked struct {
	name     string // for people
	steps    []func(*db.Exec) error
	at       int
	write    bool // it needs room on the disk
	rows     [][]any
	wire     [][]byte // of a prepared statement: its row
	affected int
}

func (a *asked) writes() bool { return a.write }

func (a *asked) done() bool { return a.at == len(a.steps) }

// Run implements db.Statement.
func (a *asked) Run(x *db.Exec) error {
	for ; a.at < len(a.steps); a.at++ {
		if err := a.steps[a.at](x); err != nil {
			return err
		}
	}
	return nil
}

func (a *asked) then(step func(*db.Exec) error) *asked {
	a.steps = append(a.steps, step)
	return a
}

// each adds a step for each of so many things, whose number is known when it comes to that.
func (a *asked) each(n func() int, do func(x *db.Exec, i int) error) *asked {
	i := 0
	return a.then(func(x *db.Exec) error {
		for ; i < n(); i++ {
			if err := do(x, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// notify has those who listen hear of the commit.
func (a *asked) notify(channel, payload string) *asked {
	return a.then(func(x *db.Exec) error {
		x.Note(notice{channel, payload})
		return nil
	})
}

func (a *asked) give(row ...any) { a.rows = append(a.rows, row) }

// change is UPDATE … WHERE of one row: the condition is looked at again when the row is locked.
func change[K, V any](x *db.Exec, t *db.Table[K, V], key K, mode db.Mode, holds func(V) bool, to func(V) V) (V, bool, error) {
	var none V
	v := t.Get(x, key)
	if v == nil || !holds(v.Value) {
		return none, false, nil
	}
	v, err := t.Lock(x, v, mode, db.Wait)
	if err != nil || v == nil || !holds(v.Value) {
		return none, false, err
	}
	value := to(v.Value)
	t.Change(x, v, value)
	return value, true, nil
}

// remove is DELETE … WHERE of one row.
func remove[K, V any](x *db.Exec, t *db.Table[K, V], v *db.Version[K, V], holds func(V) bool) (bool, error) {
	v, err := t.Lock(x, v, db.ForUpdate, db.Wait)
	if err != nil || v == nil || !holds(v.Value) {
		return false, err
	}
	t.Remove(x, v)
	return true, nil
}

// lockOne locks a row that the statement sees and gives its newest version, if a condition holds for both.
func lockOne[K, V any](x *db.Exec, t *db.Table[K, V], key K, mode db.Mode, holds func(V) bool) (*db.Version[K, V], error) {
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
