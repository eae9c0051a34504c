package pgstore_test

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"pulley/internal/pgstore"
)

// What to do about an error follows from what it leaves open.
func ExampleUnconfirmed() {
	for _, err := range []error{
		&pgconn.PgError{Severity: "ERROR", Code: "40P01", Message: "deadlock detected"},
		&pgconn.PgError{Severity: "ERROR", Code: "22P05", Message: "unsupported Unicode escape sequence"},
		errors.New("read tcp: connection reset by peer"),
	} {
		switch {
		case pgstore.Contended(err):
			fmt.Println("make the call again:", err)
		case pgstore.Poisoned(err):
			fmt.Println("leave out the member that is at fault:", err)
		case pgstore.Unconfirmed(err):
			fmt.Println("find out whether it was committed:", err)
		}
	}
	// Output:
	// make the call again: ERROR: deadlock detected (SQLSTATE 40P01)
	// leave out the member that is at fault: ERROR: unsupported Unicode escape sequence (SQLSTATE 22P05)
	// find out whether it was committed: read tcp: connection reset by peer
}
