package pgstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestUnconfirmed(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{pgx.ErrTxCommitRollback, false},
		{&pgconn.PgError{Severity: "ERROR", Code: "23505"}, false},
		{fmt.Errorf("at COMMIT: %w", &pgconn.PgError{Severity: "ERROR", Code: "40P01"}), false},
		{&pgconn.PgError{Severity: "FATAL", Code: "57P01"}, true},
		{&pgconn.PgError{Severity: "FATAL", Code: "25P03"}, true},
		{&pgconn.PgError{Severity: "ERROR", Code: "08006"}, true},
		{&pgconn.PgError{Severity: "ERROR", Code: "40003"}, true},
		{io.ErrUnexpectedEOF, true},
		{context.DeadlineExceeded, true},
		{errors.New("conn closed"), true},
	} {
		if got := Unconfirmed(c.err); got != c.want {
			t.Errorf("Unconfirmed(%v) is %t; want %t", c.err, got, c.want)
		}
	}
}

// A proxy may send an error with a short code or none.
func TestPoisoned(t *testing.T) {
	for code, want := range map[string]bool{"22003": true, "23505": true, "54000": true, "40001": false, "2": false, "": false} {
		if got := Poisoned(fmt.Errorf("at a statement: %w", &pgconn.PgError{Code: code})); got != want {
			t.Errorf("with code %q it is %t, want %t", code, got, want)
		}
	}
	if Poisoned(io.ErrUnexpectedEOF) {
		t.Error("a connection that was lost is held for the fault of the data")
	}
}

func TestCheckVersion(t *testing.T) {
	for number, ok := range map[int]bool{90624: false, 120022: false, 130000: true, 180001: true} {
		err := checkVersion(number)
		if (err == nil) != ok {
			t.Errorf("version %d: %v", number, err)
		}
		if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("version %d; 13 or later", number/10000)) {
			t.Errorf("version %d: %v; want both versions named", number, err)
		}
	}
}
