package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"pulley/adapter"
	"pulley/adapter/check"
	"pulley/engine/pgserver"
)

// TestCheck builds the adapter and checks it on a Postgres, which PULLEY_DSN may name.
func TestCheck(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "goworkflows")
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
		Command: []string{binary}, DSN: server.DSN(), Timeout: time.Minute,
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

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, want string }{
		{"poll_ms", "soon", `poll_ms is "soon"; choose a number from 1 to 3600000`},
		{"workflow_lock_ms", "99", `workflow_lock_ms is "99"; choose a number from 100 to 3600000`},
		{"max_attempts", "0", `max_attempts is "0"; choose a number from 1 to 1000`},
		{"connections", "4", `connections is "4"; choose a number from 5 to 1000`},
		{"sticky_ms", "0", ""},
	} {
		texts := map[string]string{}
		for _, s := range defaults.list() {
			texts[s.Name] = s.Default
		}
		texts[c.name] = c.value
		_, err := (&system{}).Configure(&adapter.Env{Settings: texts})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s=%s: %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	if got, want := quote(`a'b\c`), `'a\'b\\c'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
