package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pulley/adapter"
	"pulley/adapter/check"
	"pulley/adapter/protocol"
	"pulley/engine/pgserver"
)

// TestCheck builds the adapter and checks it on a Postgres, which PULLEY_DSN may name.
func TestCheck(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "dbos")
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
		Settings: map[string]string{"poll_ms": "100", "step_retries": "4", "retry_ms": "20"},
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
		{"poll_ms", "soon", `poll_ms is "soon"; choose a number from 1 to 3600000`},
		{"step_retries", "-1", `step_retries is "-1"; choose a number from 0 to 1000`},
		{"retry_ms", "0", `retry_ms is "0"; choose a number from 1 to 3600000`},
		{"connections", "4", `connections is "4"; choose a number from 5 to 1000`},
		{"start", "soon", `start is "soon"; choose queue or direct`},
		{"start", "direct", ""},
		{"step_retries", "0", ""},
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

// TestOrder has a graph whose second branch is listed after all of the first.
func TestOrder(t *testing.T) {
	t.Parallel()
	w := protocol.Workload{Name: "w", Result: "d", Tasks: []protocol.Task{
		{Name: "a"}, {Name: "b", Needs: []string{"a"}}, {Name: "c"}, {Name: "d", Needs: []string{"b", "c"}},
	}}
	var got []string
	for _, task := range inOrder(&w) {
		got = append(got, task.Name)
	}
	if want := []string{"a", "c", "b", "d"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}
