package db_test

import (
	"testing"

	"pulley/sim/db"
)

// number notes the transaction's number.
func number(to *uint64) db.Statement {
	return statement(func(x *db.Exec) error {
		*to = x.Number()
		return nil
	})
}

// TestStatus wants the end of a transaction to be told by its number, and numbers to be given again after a crash that had
// not come to disk: those that are greater than all that were given when the last transaction was committed.
func TestStatus(t *testing.T) {
	r := newRig()
	var first, second, third, fourth, again uint64
	a, b, c := r.Open(1), r.Open(2), r.Open(3)
	must(t, r.do(a, db.Begin, number(&first), r.put(1, 1)))
	must(t, r.do(b, db.Begin, number(&second), r.put(2, 2)))
	must(t, r.do(a, db.Commit))
	must(t, r.do(b, db.Rollback))
	must(t, r.do(b, db.Begin, number(&third), r.put(3, 3)))
	must(t, r.do(c, r.put(4, 4))) // it has all that is before on disk
	must(t, r.do(c, db.Begin, number(&fourth)))
	for n, want := range map[uint64]db.TxStatus{first: db.Done, second: db.Aborted, third: db.InProgress, fourth: db.InProgress, fourth + 1: "", 0: ""} {
		if got := r.Status(n); got != want {
			t.Errorf("transaction %d is %q; want %q", n, got, want)
		}
	}
	r.Crash()
	for n, want := range map[uint64]db.TxStatus{first: db.Done, second: db.Aborted, third: db.Aborted, fourth: ""} {
		if got := r.Status(n); got != want {
			t.Errorf("after a crash transaction %d is %q; want %q", n, got, want)
		}
	}
	must(t, r.do(r.Open(4), number(&again), r.put(5, 5)))
	if again != fourth || r.Status(fourth) != db.Done {
		t.Errorf("after a crash a transaction has number %d and is %q; want %d and %q", again, r.Status(again), fourth, db.Done)
	}
}

// TestCrowd has many wait for one row, each behind all before: the look for a circle comes by each of them once, not once
// for each way to it.
func TestCrowd(t *testing.T) {
	const crowd = 200
	r := newRig()
	must(t, r.do(r.Open(0), r.put(1, 0)))
	holder := r.Open(1)
	must(t, r.do(holder, db.Begin, r.put(1, 1)))
	var errs [crowd]error
	for i := range crowd {
		errs[i] = errWaits
		s := r.Open(2 + i)
		s.Execute([]db.Statement{r.put(1, 2+i)}, func(err error) { errs[i] = err })
		s.Run()
	}
	must(t, r.do(holder, db.Commit))
	r.resumed()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("number %d in the crowd: %v", i, err)
		}
	}
	if got := r.value(1); got != 1+crowd {
		t.Errorf("the value is %d; want that of the last, %d", got, 1+crowd)
	}
}
