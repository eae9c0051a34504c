package db_test

import (
	"cmp"
	"errors"
	"testing"

	"pulley/sim/db"
)

// rig is a server with one table, and sessions that are taken forward by hand.
type rig struct {
	*db.Server
	table *db.Table[int, int]
	ready []*db.Session
}

func newRig() *rig {
	r := &rig{Server: &db.Server{}}
	r.table = db.NewTable[int, int](r.Server, "t", cmp.Compare[int])
	r.Ready = func(s *db.Session) { r.ready = append(r.ready, s) }
	return r
}

// statement is a function as a statement.
type statement func(x *db.Exec) error

func (s statement) Run(x *db.Exec) error { return s(x) }

// put upserts a value.
func (r *rig) put(key, value int) db.Statement {
	return statement(func(x *db.Exec) error {
		_, _, err := r.table.Upsert(x, key, value, func(int) (int, bool, error) { return value, true, nil })
		return err
	})
}

// do executes a batch and gives its error, or a state where it waits.
func (r *rig) do(s *db.Session, batch ...db.Statement) (err error) {
	err = errWaits
	s.Execute(batch, func(e error) { err = e })
	s.Run()
	return err
}

var errWaits = errors.New("it waits")

// goOn has those go on that were told that they can.
func (r *rig) resumed() {
	for len(r.ready) > 0 {
		s := r.ready[0]
		r.ready = r.ready[1:]
		s.Run()
	}
}

// value gives what is committed; -1: nothing.
func (r *rig) value(key int) int {
	got := -1
	r.table.Committed(func(k, v int) bool {
		if k == key {
			got = v
		}
		return true
	})
	return got
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestIsolation wants nothing to be seen before it is committed, or after it was rolled back.
func TestIsolation(t *testing.T) {
	r := newRig()
	a, b := r.Open(1), r.Open(2)
	must(t, r.do(a, r.put(1, 1)))
	must(t, r.do(a, db.Begin, r.put(1, 2), r.put(2, 2)))
	seen := 0
	look := statement(func(x *db.Exec) error {
		seen = 0
		r.table.All(x, func(v *db.Version[int, int]) bool { seen = seen*10 + v.Value; return true })
		return nil
	})
	must(t, r.do(b, look))
	if seen != 1 || r.value(1) != 1 {
		t.Errorf("before the commit another sees %d", seen)
	}
	if must(t, r.do(a, look)); seen != 22 {
		t.Errorf("before the commit the transaction itself sees %d", seen)
	}
	must(t, r.do(a, db.Rollback))
	if must(t, r.do(b, look)); seen != 1 {
		t.Errorf("after the rollback another sees %d", seen)
	}
	must(t, r.do(a, r.put(2, 3)))
	if must(t, r.do(b, look)); seen != 13 {
		t.Errorf("after the commit another sees %d", seen)
	}
}

// TestWaitersReadAgain wants who waits for a row to go on with what it is then, in the order of coming; and a row that
// was found by its address to be missed once it is another version.
func TestWaitersReadAgain(t *testing.T) {
	r := newRig()
	a, b, c := r.Open(1), r.Open(2), r.Open(3)
	must(t, r.do(a, r.put(1, 1)))
	must(t, r.do(a, db.Begin, r.put(1, 10)))
	add := func() db.Statement {
		return statement(func(x *db.Exec) error {
			_, _, err := r.table.Upsert(x, 1, 0, func(old int) (int, bool, error) { return old*2 + 1, true, nil })
			return err
		})
	}
	met, locked := true, 0
	var found *db.Version[int, int]
	byAddress := statement(func(x *db.Exec) error {
		if found == nil {
			found = r.table.Get(x, 1)
		}
		v, err := r.table.Lock(x, found, db.ForUpdate, db.Wait)
		if err != nil {
			return err
		}
		locked = v.Value
		met, err = r.table.Update(x, v, db.NoKeyUpdate, 99)
		return err
	})
	if err := r.do(b, add()); err != errWaits {
		t.Fatalf("the second writer got %v", err)
	}
	if err := r.do(c, byAddress); err != errWaits {
		t.Fatalf("the third got %v", err)
	}
	must(t, r.do(a, db.Commit))
	r.resumed()
	if got := r.value(1); got != 21 {
		t.Errorf("the value is %d, not that of the first doubled by the second", got)
	}
	if locked != 21 || met {
		t.Errorf("the third locked %d (met by its address: %t); want 21, which its snapshot does not have", locked, met)
	}
}

// TestDeadlock wants the one that closes a circle to be given up, and the other to go on.
func TestDeadlock(t *testing.T) {
	r := newRig()
	a, b := r.Open(1), r.Open(2)
	must(t, r.do(a, r.put(1, 1), r.put(2, 1)))
	must(t, r.do(a, db.Begin, r.put(1, 2)))
	must(t, r.do(b, db.Begin, r.put(2, 3)))
	if err := r.do(a, r.put(2, 2)); err != errWaits {
		t.Fatalf("the first got %v", err)
	}
	if err := r.do(b, r.put(1, 3)); !errors.Is(err, db.ErrDeadlock) {
		t.Fatalf("who closed the circle got %v", err)
	}
	r.resumed()
	must(t, r.do(a, db.Commit))
	if err := r.do(b, db.Commit); !errors.Is(err, db.ErrNoRollback) {
		t.Errorf("the commit of what had failed gave %v", err)
	}
	if r.value(1) != 2 || r.value(2) != 2 {
		t.Errorf("the values are %d and %d", r.value(1), r.value(2))
	}
}

// TestLockTimeout has one of two that wait in a circle not wait for long: neither is given up for that, and the one is failed
// when it has waited, which is when the server's owner says so.
func TestLockTimeout(t *testing.T) {
	r := newRig()
	a, b := r.Open(1), r.Open(2)
	must(t, r.do(a, r.put(1, 1), r.put(2, 1)))
	must(t, r.do(a, db.Begin, r.put(1, 2)))
	must(t, r.do(b, db.Begin, r.put(2, 3), db.LockTimeout))
	if err := r.do(b, r.put(1, 3)); err != errWaits || !b.Tx().TimesOut() {
		t.Fatalf("the first got %v", err)
	}
	if err := r.do(a, r.put(2, 2)); err != errWaits || a.Tx().TimesOut() || r.Deadlocks > 0 {
		t.Fatalf("who closed the circle got %v; %d deadlocks", err, r.Deadlocks)
	}
	b.Fail(db.ErrLockTimeout)
	r.resumed()
	if a.State() != db.InTx || b.State() != db.InTx {
		t.Fatalf("after the one was failed, the other is %s", a.State())
	}
	if err := r.do(b, db.LockTimeout); !errors.Is(err, db.ErrFailed) {
		t.Errorf("in a transaction that has failed: %v", err)
	}
	must(t, r.do(b, db.Rollback))
	must(t, r.do(a, db.Commit))
	if r.value(1) != 2 || r.value(2) != 2 {
		t.Errorf("the values are %d and %d", r.value(1), r.value(2))
	}
	must(t, r.do(b, db.LockTimeout, db.Begin, r.put(1, 4)))
	if b.Tx().TimesOut() {
		t.Error("what was set outlived its transaction")
	}
	must(t, r.do(b, db.Rollback))
	must(t, r.do(a, db.Begin, r.put(1, 5)))
	must(t, r.do(b, db.Begin, r.put(2, 6), db.LockTimeout))
	if err := r.do(a, r.put(2, 5)); err != errWaits {
		t.Fatalf("the first got %v", err)
	}
	if err := r.do(b, r.put(1, 6)); err != errWaits || r.Deadlocks > 0 {
		t.Errorf("who closed the circle, and does not wait for long, got %v; %d deadlocks", err, r.Deadlocks)
	}
}

// TestUnique wants an insert to wait for another of its key, and to fail if that is committed.
func TestUnique(t *testing.T) {
	for _, end := range []db.Statement{db.Commit, db.Rollback} {
		r := newRig()
		a, b := r.Open(1), r.Open(2)
		insert := statement(func(x *db.Exec) error { return r.table.Insert(x, 1, 1) })
		must(t, r.do(a, db.Begin, insert))
		var err error
		b.Execute([]db.Statement{insert}, func(e error) { err = e })
		if b.Run(); b.State() != db.Waiting {
			t.Fatalf("the second insert is %s", b.State())
		}
		must(t, r.do(a, end))
		r.resumed()
		if want := end == db.Commit; errors.Is(err, db.ErrUnique) != want || r.value(1) != 1 {
			t.Errorf("after %v the second insert gave %v", end, err)
		}
	}
}

// TestLockModes wants an append's lock on a key to let others through, but no change of the key; and those who do not
// want to wait, not to.
func TestLockModes(t *testing.T) {
	r := newRig()
	a, b, c := r.Open(1), r.Open(2), r.Open(3)
	must(t, r.do(a, r.put(1, 1)))
	lock := func(mode db.Mode, policy db.Policy, got *bool) db.Statement {
		return statement(func(x *db.Exec) error {
			v, err := r.table.Lock(x, r.table.Get(x, 1), mode, policy)
			*got = v != nil
			return err
		})
	}
	var got bool
	must(t, r.do(a, db.Begin, lock(db.KeyShare, db.Wait, &got)))
	must(t, r.do(b, lock(db.KeyShare, db.Wait, &got)))
	must(t, r.do(b, lock(db.NoKeyUpdate, db.Wait, &got)))
	if must(t, r.do(b, lock(db.ForUpdate, db.SkipLocked, &got))); got {
		t.Error("a locked row was not skipped")
	}
	if err := r.do(b, lock(db.ForUpdate, db.NoWait, &got)); !errors.Is(err, db.ErrLocked) {
		t.Errorf("who does not wait got %v", err)
	}
	if err := r.do(c, lock(db.ForUpdate, db.Wait, &got)); err != errWaits {
		t.Errorf("a change of the key got %v", err)
	}
	a.End()
	r.resumed()
	if c.State() != db.Idle || !got {
		t.Errorf("when the holder is gone, the waiter is %s", c.State())
	}
}

// TestOvertaken has one come who gets on with the holder of a row, and another that waits for the holder does not: who comes
// goes first, as with Postgres, where nobody queues who need not wait. One that has waited behind the other does not.
func TestOvertaken(t *testing.T) {
	r := newRig()
	a, b, c, d := r.Open(1), r.Open(2), r.Open(3), r.Open(4)
	must(t, r.do(a, r.put(1, 1)))
	lock := func(mode db.Mode) db.Statement {
		return statement(func(x *db.Exec) error {
			_, err := r.table.Lock(x, r.table.Get(x, 1), mode, db.Wait)
			return err
		})
	}
	must(t, r.do(a, db.Begin, lock(db.KeyShare)))
	if err := r.do(b, db.Begin, lock(db.ForUpdate)); err != errWaits {
		t.Fatalf("who does not get on with the holder got %v", err)
	}
	must(t, r.do(c, db.Begin, lock(db.NoKeyUpdate)))
	if err := r.do(d, db.Begin, lock(db.NoKeyUpdate)); err != errWaits {
		t.Fatalf("who does not get on with one of the holders got %v", err)
	}
	must(t, r.do(c, db.Commit))
	r.resumed()
	if d.State() != db.Waiting {
		t.Error("who stands behind another has overtaken it")
	}
	must(t, r.do(a, db.Commit))
	r.resumed()
	if b.State() != db.InTx || d.State() != db.Waiting {
		t.Errorf("then the first is %s and the second %s", b.State(), d.State())
	}
}

// TestCrash wants what was committed to stay, and nothing else; and steps of a statement to be where others can go first.
func TestCrash(t *testing.T) {
	r := newRig()
	unlogged := db.NewTable[int, int](r.Server, "u", cmp.Compare[int])
	unlogged.Unlogged = true
	a, b := r.Open(1), r.Open(2)
	must(t, r.do(a, r.put(1, 1), statement(func(x *db.Exec) error { return unlogged.Insert(x, 1, 1) })))
	must(t, r.do(a, db.Begin, r.put(1, 2)))
	asked := 0
	r.Yield = func() bool { asked++; return asked == 2 }
	b.Execute([]db.Statement{r.put(2, 2), r.put(3, 3)}, func(error) { t.Error("the answer of a crashed server came") })
	if !b.Run() || b.State() != db.Running {
		t.Fatalf("the second step was not interrupted: %s", b.State())
	}
	r.Crash()
	if a.State() != db.TxEnded || b.State() != db.TxEnded || len(r.Sessions()) != 0 {
		t.Error("a session outlived the crash")
	}
	rows := 0
	unlogged.Committed(func(int, int) bool { rows++; return true })
	if r.value(1) != 1 || r.value(2) != -1 || rows != 0 {
		t.Errorf("after the crash there are %d and %d, and %d rows that were not logged", r.value(1), r.value(2), rows)
	}
	var q db.Sequence
	if first := q.Next(); first != 1 {
		t.Errorf("the sequence begins with %d", first)
	}
	if q.Crash(); q.Next() <= 2 {
		t.Error("a sequence that crashed leaves nothing out")
	}
}

// TestPassedRow has a transaction wait for a row that its statement then passes by, and wait for another: who comes for
// the first does not stand behind it.
func TestPassedRow(t *testing.T) {
	r := newRig()
	a, b, c, d := r.Open(1), r.Open(2), r.Open(3), r.Open(4)
	must(t, r.do(a, r.put(1, 1), r.put(2, 2)))
	must(t, r.do(a, db.Begin, r.put(1, 10)))
	must(t, r.do(c, db.Begin, r.put(2, 20)))
	row := 1
	passing := statement(func(x *db.Exec) error {
		_, _, err := r.table.Upsert(x, row, 0, func(int) (int, bool, error) { return 30, true, nil })
		row = 2
		return err
	})
	if err := r.do(b, db.Begin, passing); err != errWaits {
		t.Fatalf("it does not wait for the first row: %v", err)
	}
	must(t, r.do(a, db.Commit))
	r.resumed()
	if b.State() != db.Waiting {
		t.Fatalf("it does not wait for the second row: %v", b.State())
	}
	must(t, r.do(d, r.put(1, 40)))
	must(t, r.do(c, db.Commit))
	r.resumed()
	must(t, r.do(b, db.Commit))
	if r.value(1) != 40 || r.value(2) != 30 {
		t.Errorf("the rows are %d and %d, want 40 and 30", r.value(1), r.value(2))
	}
}

// TestWaitersLeaveWhatIsReplaced wants who waits for a row that is taken away to get nothing, and to lock nothing, although
// whoever took it away has put another one under its key.
func TestWaitersLeaveWhatIsReplaced(t *testing.T) {
	r := newRig()
	a, b, c := r.Open(1), r.Open(2), r.Open(3)
	must(t, r.do(a, r.put(1, 1)))
	var seen, got *db.Version[int, int]
	remove := statement(func(x *db.Exec) error {
		_, err := r.table.Delete(x, r.table.Get(x, 1))
		return err
	})
	lock := statement(func(x *db.Exec) (err error) {
		if seen == nil {
			seen = r.table.Get(x, 1)
		}
		got, err = r.table.Lock(x, seen, db.ForUpdate, db.Wait)
		return err
	})
	must(t, r.do(a, db.Begin, remove))
	if err := r.do(b, db.Begin, lock); err != errWaits {
		t.Fatalf("whoever is to lock what another takes away got %v", err)
	}
	must(t, r.do(a, r.put(1, 2), db.Commit))
	r.resumed()
	if got != nil {
		t.Errorf("it locked %v", got.Value)
	}
	must(t, r.do(c, r.put(1, 3))) // others are not kept from the new one
	if seen = nil; r.do(b, lock) != nil || got == nil || got.Value != 3 {
		t.Errorf("the next statement locks %v, want 3", got)
	}
}
