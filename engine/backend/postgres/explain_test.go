package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend/postgres"
)

func TestExplain(t *testing.T) {
	full := &pgconn.PgError{Severity: "ERROR", Code: "53100", Message: "no space left"}
	for _, c := range []struct {
		name  string
		err   error
		has   string
		hides string
	}{
		{"standby", &pgconn.PgError{Severity: "ERROR", Code: "0A000", Message: "cannot access temporary or unlogged relations during recovery"}, "the server is a standby", ""},
		{"joined with itself", errors.Join(full, full), "the server's disk is full", ""},
		{"explained twice", postgres.Explain(postgres.Explain(full)), "the server's disk is full", ""},
		{"explained and wrapped", postgres.Explain(fmt.Errorf("writing: %w", postgres.Explain(full))), "the server's disk is full", ""},
		{"keywords", errors.New("cannot parse `host=h password=hunter2 user=u`"), "password=***", "hunter2"},
		{"quoted", errors.New(`cannot parse host=h password='hun\'ter 2' user=u`), "password=***", "ter 2"},
		{"url", errors.New("cannot parse postgres://u:hun@ter2@h/db"), "postgres://u:***h/db", "ter2"},
		{"url parameter", errors.New("cannot parse postgres://h/db?password=hunter2&user=u"), "password=***&user=u", "hunter2"},
	} {
		got := postgres.Explain(c.err).Error()
		if !strings.HasPrefix(got, "postgres: ") || strings.Contains(got, "\n") || strings.Count(got, c.has) != 1 || c.hides != "" && strings.Contains(got, c.hides) {
			t.Errorf("%s: %q; want one line with %q, once", c.name, got, c.has)
		}
		if strings.Count(got, "no space left") > 1 {
			t.Errorf("%s: %q says it twice", c.name, got)
		}
		if !errors.Is(postgres.Explain(c.err), c.err) {
			t.Errorf("%s: the error is lost from its chain", c.name)
		}
	}
	if postgres.Explain(nil) != nil {
		t.Error("Explain(nil) is an error")
	}
}
