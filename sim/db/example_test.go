package db_test

import (
	"cmp"
	"fmt"

	"pulley/sim/db"
)

// step is a function as a statement.
type step func(x *db.Exec) error

func (s step) Run(x *db.Exec) error { return s(x) }

// Two sessions add to one row. The second waits for the lock of the first, and computes from what that has committed.
func Example() {
	var ready []*db.Session
	server := &db.Server{Ready: func(s *db.Session) { ready = append(ready, s) }}
	accounts := db.NewTable[string, int](server, "accounts", cmp.Compare[string])
	add := func(amount int) db.Statement {
		return step(func(x *db.Exec) error {
			_, _, err := accounts.Upsert(x, "Ada", amount, func(old int) (int, bool, error) { return old + amount, true, nil })
			return err
		})
	}
	first, second := server.Open(1), server.Open(2)
	send := func(s *db.Session, batch ...db.Statement) {
		s.Execute(batch, func(err error) { fmt.Println("session", s.ID, "is answered:", err) })
		s.Run()
	}
	send(first, add(10)) // in autocommit
	send(first, db.Begin, add(1))
	send(second, add(100))
	fmt.Println("session 2 is", second.State())
	send(first, db.Commit)
	for _, s := range ready {
		s.Run()
	}
	accounts.Committed(func(name string, amount int) bool { fmt.Println(name, amount); return true })
	// Output:
	// session 1 is answered: <nil>
	// session 1 is answered: <nil>
	// session 2 is waiting for a lock
	// session 1 is answered: <nil>
	// session 2 is answered: <nil>
	// Ada 111
}
