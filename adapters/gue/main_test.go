package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulley/adapter/check"
	"pulley/engine/pgserver"
)

// TestCheck builds the adapter and checks it on a Postgres, which PULLEY_DSN may name.
func TestCheck(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "gue")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	server, err := pgserver.Open(t.Context(), pgserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	report, err := check.Run(t.Context(), check.Options{
		Command: []string{binary}, DSN: server.DSN(), Timeout: time.Minute, Settings: map[string]string{"poll_ms": "100"},
		Log: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		t.Error(f)
	}
	if len(report.Passed) == 0 {
		t.Error("nothing was checked")
	}
}

// TestMigration compares the migration with that of gue's version in use.
func TestMigration(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/vgarvardt/gue/v5").Output()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "migrations", "schema.sql"))
	if err != nil {
		t.Fatal(err)
	}
	if migration != string(want) {
		t.Errorf("migration.sql is not that of gue; it has\n%s", want)
	}
}
