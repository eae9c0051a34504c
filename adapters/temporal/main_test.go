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

// TestCheck builds the adapter and checks it on a Postgres, which PULLEY_DSN may name. max_attempts lets instances fail, and with
// rounds_per_run every round is a run of its own.
func TestCheck(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a server of Temporal is started nine times")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute)
	defer cancel()
	binary := filepath.Join(t.TempDir(), "temporal")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	server, err := pgserver.Open(ctx, pgserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	report, err := check.Run(ctx, check.Options{
		Command: []string{binary}, DSN: server.DSN(), Timeout: time.Minute,
		Settings: map[string]string{"max_attempts": "5", "retry_ms": "100", "rounds_per_run": "1"},
		Log:      func(line string) { t.Log(line) },
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
		{"shards", "many", `shards is "many"; choose a number from 1 to 512`},
		{"pollers", "1", `pollers is "1"; choose a number from 2 to 1000`},
		{"workflow_task_ms", "999", `workflow_task_ms is "999"; choose a number from 1000 to 120000`},
		{"retry_most_ms", "999", `retry_most_ms is "999"; choose a number from 1000 to 86400000`},
		{"max_attempts", "-1", `max_attempts is "-1"; choose a number from 0 to 1000`},
		{"eager", "often", `eager is "often"; choose on or off`},
		{"eager", "on", ""},
		{"activity_ms", "100", ""},
	} {
		texts := defaultTexts()
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
	if s, err := parseSettings(defaultTexts()); err != nil || s != defaults {
		t.Errorf("the defaults are read as %+v (%v)", s, err)
	}
}

func defaultTexts() map[string]string {
	texts := map[string]string{}
	for _, s := range defaults.list() {
		texts[s.Name] = s.Default
	}
	return texts
}

// TestLog checks that the server cannot flood the log, and that a fatal message ends the process.
func TestLog(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	ended := false
	l := &logger{out: &out, exit: func() { ended = true }}
	l.Info("it starts")
	for range 10 * linesMost {
		l.Warn("the database is\naway")
	}
	l.second = l.second.Add(-time.Minute)
	l.Error("it is back")
	l.Fatal("it does not start")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{"warn: the database is away", "180 more lines of the server", "error: it is back", "fatal: it does not start"}
	if len(lines) != linesMost+3 || lines[0] != want[0] || strings.Join(lines[linesMost:], "\n") != strings.Join(want[1:], "\n") {
		t.Errorf("%d lines, the last of which are\n%s", len(lines), strings.Join(lines[max(0, len(lines)-4):], "\n"))
	}
	if !ended {
		t.Error("the process goes on")
	}
}
