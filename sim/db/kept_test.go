package db_test

import (
	"testing"

	"pulley/sim/db"
)

// TestKept wants what a statement has computed before it waited for a row to stay, unless the row has changed meanwhile: the
// statement reads a clock that goes on.
func TestKept(t *testing.T) {
	always := func(int) bool { return true }
	for _, c := range []struct {
		name   string
		holder func(r *rig) db.Statement
		ends   db.Statement
		then   func(r *rig, clock *int) db.Statement
		want   int
	}{
		{"the row is left alone", lockRow, db.Commit, update(always), 1},
		{"the change is taken back", func(r *rig) db.Statement { return r.put(1, 50) }, db.Rollback, update(always), 1},
		{"the row is changed", func(r *rig) db.Statement { return r.put(1, 50) }, db.Commit, update(always), 2},
		{"what it found was right, and is not read again", lockRow, db.Commit, update(onceOf(1)), 1},
		{"the change makes it wrong", func(r *rig) db.Statement { return r.put(1, 50) }, db.Commit, update(func(v int) bool { return v == 100 }), 50},
		{"an insertion that another takes back", func(r *rig) db.Statement { return r.put(2, 50) }, db.Rollback, insert, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, clock := newRig(), 1
			a, b := r.Open(1), r.Open(2)
			must(t, r.do(a, r.put(1, 100)))
			must(t, r.do(a, db.Begin, c.holder(r)))
			if err := r.do(b, c.then(r, &clock)); err != errWaits {
				t.Fatalf("it does not wait: %v", err)
			}
			clock++
			must(t, r.do(a, c.ends))
			r.resumed()
			if got := max(r.value(1)%100, r.value(2)); got != c.want {
				t.Errorf("the row is %d; want %d", got, c.want)
			}
		})
	}
}

// lockRow locks row 1 and leaves it alone.
func lockRow(r *rig) db.Statement {
	return statement(func(x *db.Exec) error {
		_, err := r.table.Lock(x, r.table.Get(x, 1), db.ForUpdate, db.Wait)
		return err
	})
}

// update sets row 1 to what a clock says, where a condition holds.
func update(holds func(int) bool) func(*rig, *int) db.Statement {
	return func(r *rig, clock *int) db.Statement {
		return statement(func(x *db.Exec) error {
			_, _, err := r.table.UpdateWhere(x, 1, db.NoKeyUpdate, holds, func(int) int { return *clock })
			return err
		})
	}
}

// onceOf is a condition that holds so many times.
func onceOf(times int) func(int) bool {
	return func(int) bool {
		times--
		return times >= 0
	}
}

// insert adds row 2 with what a clock says.
func insert(r *rig, clock *int) db.Statement {
	return statement(func(x *db.Exec) error { return r.table.Insert(x, 2, *clock) })
}
