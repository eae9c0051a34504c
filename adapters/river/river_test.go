package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulley/adapter"
	"pulley/adapter/check"
	"pulley/engine/pgserver"
)

// TestCheck builds the adapter and has pulley's check look for mistakes of it.
func TestCheck(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("River looks for the jobs of a killed process every 30 s")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	binary := filepath.Join(t.TempDir(), "river")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server, err := pgserver.Open(ctx, pgserver.Options{}) // PULLEY_DSN, if it is set
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.WithoutCancel(ctx)) })
	report, err := check.Run(ctx, check.Options{
		Command: []string{binary}, DSN: server.DSN(), Timeout: time.Minute,
		Settings: map[string]string{"max_attempts": "5", "retry_ms": "100"}, // an instance that gives up takes a second per attempt
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		t.Error(f)
	}
	t.Logf("%d checks passed; left out: %s", len(report.Passed), strings.Join(report.LeftOut, "; "))
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, want string }{
		{"job_timeout_ms", "soon", `job_timeout_ms is "soon"; choose a number from 1 to 86400000`},
		{"rescue_after_ms", "4999", `rescue_after_ms is "4999"; choose a number from 5000 to 86400000`},
		{"fetch_poll_ms", "99", `fetch_poll_ms is "99"; choose a number from 100 to 86400000`},
		{"max_attempts", "0", `max_attempts is "0"; choose a number from 1 to 1000`},
		{"complete", "soon", `complete is "soon"; choose tx or batch`},
		{"complete", "batch", ""},
		{"guard", "half", `guard is "half"; choose on or off`},
		{"retry_ms", "0", ""},
		{"guard", "off", ""},
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
	defaultTexts := map[string]string{}
	for _, s := range defaults.list() {
		defaultTexts[s.Name] = s.Default
	}
	if s, err := parseSettings(defaultTexts); err != nil || s != defaults {
		t.Errorf("the defaults are read as %+v (%v)", s, err)
	}
}
