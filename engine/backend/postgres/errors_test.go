package postgres

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

// TestPoisoned checks which errors are the data's fault. A proxy may send an error with a short code or none.
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

func TestExplain(t *testing.T) {
	full := &pgconn.PgError{Severity: "ERROR", Code: "53100", Message: "no space left"}
	for _, c := range []struct {
		name  string
		err   error
		has   string
		hides string
	}{
		{"joined with itself", errors.Join(full, full), "the server's disk is full", ""},
		{"explained twice", Explain(Explain(full)), "the server's disk is full", ""},
		{"explained and wrapped", Explain(fmt.Errorf("writing: %w", Explain(full))), "the server's disk is full", ""},
		{"keywords", errors.New("cannot parse `host=h password=hunter2 user=u`"), "password=***", "hunter2"},
		{"quoted", errors.New(`cannot parse host=h password='hun\'ter 2' user=u`), "password=***", "ter 2"},
		{"url", errors.New("cannot parse postgres://u:hun@ter2@h/db"), "postgres://u:***h/db", "ter2"},
		{"url parameter", errors.New("cannot parse postgres://h/db?password=hunter2&user=u"), "password=***&user=u", "hunter2"},
	} {
		got := Explain(c.err).Error()
		if !strings.HasPrefix(got, "postgres: ") || strings.Contains(got, "\n") || strings.Count(got, c.has) != 1 || c.hides != "" && strings.Contains(got, c.hides) {
			t.Errorf("%s: %q; want one line with %q, once", c.name, got, c.has)
		}
		if strings.Count(got, "no space left") > 1 {
			t.Errorf("%s: %q says it twice", c.name, got)
		}
		if !errors.Is(Explain(c.err), c.err) {
			t.Errorf("%s: the error is lost from its chain", c.name)
		}
	}
	if Explain(nil) != nil {
		t.Error("Explain(nil) is an error")
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
