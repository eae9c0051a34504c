package pgdial

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// TestSettings checks that settings reach the server as they are, whatever is in them, and end with their transaction.
func TestSettings(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	read := func() (path string) {
		if err := conn.QueryRow(t.Context(), "SELECT current_setting('search_path')").Scan(&path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	before := read()
	for _, schema := range []string{"plain", `o'clock`, `back\slash`, `"quoted"`, "E'\\'", "größe"} {
		for _, strings := range []string{"on", "off"} {
			err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
				if _, err := tx.Exec(t.Context(), "SET LOCAL standard_conforming_strings = "+strings); err != nil {
					return err
				}
				_, err := tx.Exec(t.Context(), set(settings(schema), true))
				if got, want := read(), (pgx.Identifier{schema}).Sanitize(); err == nil && got != want {
					t.Errorf("the search path is %s; want %s", got, want)
				}
				return err
			})
			if err != nil {
				t.Errorf("%s: %v", schema, err)
			}
		}
	}
	if after := read(); after != before {
		t.Errorf("the search path stays %s", after)
	}
}
