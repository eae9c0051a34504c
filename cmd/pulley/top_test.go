package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"pulley/cmd/pulley/console"
	"pulley/internal/pgtest"
)

// topped is a store in which instances run and have ended, and a limit and a schedule stand.
func topped(t *testing.T) (where []string, running string) {
	t.Helper()
	where = []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.SchemaOf(t, "push")}
	do := func(args ...string) result {
		t.Helper()
		got := call(t, nil, append(args, where...)...)
		if got.code != 0 {
			t.Fatalf("%v: %+v", args, got)
		}
		return got
	}
	short, long := file(t, "short.ir", "fn main(input: [], output: [x]):\n    x = 1\n"), file(t, "long\x1b[2J.ir", "fn main(input: [], output: [x]):\n    sleep 3600\n    x = 1\n")
	do("limit", "set", "backlog", "--instances", "7")
	do("schedule", "add", "nightly", short, "--cron", "30 2 * * *", "--paused")
	for range 3 {
		do("submit", short)
	}
	running = strings.TrimSpace(do("submit", long).out)
	do("work", "--idle-exit", "1s")
	return where, running
}

func TestTop(t *testing.T) {
	t.Parallel()
	where, id := topped(t)
	got := call(t, nil, append([]string{"top"}, where...)...)
	if got.code != 0 || strings.Contains(got.out, "\x1b") || strings.Count(got.out, "instance") == 0 {
		t.Fatalf("%+v", got)
	}
	wantParts(t, got.out, "of backend push, 20", "4 instances: 1 running, 3 completed, 0 failed, 0 canceled", " a second", "  Limit backlog has ", " of 7 instances.", "  Schedule nightly", " is paused", id, ".ir  ")
	var o struct {
		Recent    struct{ Instances, Running, Completed int }
		Limits    []struct{ Limit, Reason string }
		Schedules []struct{ Reason string }
		Instances []struct {
			ID, Workflow string
			WaitsFor     string `json:"waits_for"`
		}
	}
	got = call(t, nil, append([]string{"top", "--format", "json", "--looks", "2", "--every", "500ms"}, where...)...)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &o); err != nil || len(lines) != 2 {
		t.Fatalf("%v: %+v", err, got)
	}
	if o.Recent.Running != 1 || o.Recent.Completed != 3 || len(o.Limits) != 1 || o.Limits[0].Reason != "free" || len(o.Schedules) != 1 || o.Schedules[0].Reason != "paused" ||
		len(o.Instances) != 1 || o.Instances[0].ID != id || !strings.HasPrefix(o.Instances[0].WaitsFor, "It ") {
		t.Errorf("%+v", o)
	}
	if got := call(t, nil, append([]string{"top", "--workflow", "short.ir"}, where...)...); !strings.Contains(got.out, "3 instances: 0 running, 3 completed") || !strings.Contains(got.out, "no instance runs") {
		t.Errorf("%+v", got)
	}
	for want, args := range map[string][]string{
		"--every 10ms: choose from 500ms to 1h": {"--every", "10ms"},
		"--count 101: choose from 1 to 100":     {"--count", "101"},
		"--looks -1: choose 1 or more":          {"--looks=-1"},
		"there is no such schema":               {"--schema", "nobody_was_here"},
	} {
		got := call(t, nil, append(append([]string{"top"}, where[:2]...), args...)...)
		if got.code != console.ExitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

// On a terminal it draws pages that fit, until Ctrl-C, and leaves the terminal as it was.
func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	where, id := topped(t)
	cmd, terminal := inTerminal(t, append([]string{"top", "--every", "500ms"}, where...)...)
	seen, buffer := "", make([]byte, 4096)
	for strings.Count(seen, "\x1b[H") < 3 {
		n, err := terminal.Read(buffer)
		if seen += string(buffer[:n]); err != nil {
			t.Fatalf("%v after %q", err, seen)
		}
	}
	if _, err := terminal.Write([]byte{3}); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	for {
		n, err := terminal.Read(buffer)
		if seen += string(buffer[:n]); err != nil { // the other end has closed
			break
		}
	}
	if code := exitStatus(t, cmd.Wait()); code != 128+int(syscall.SIGINT) {
		t.Errorf("status %d", code)
	}
	_, pages, _ := strings.Cut(seen, "\x1b[?1049h\x1b[?25l")
	pages, after, left := strings.Cut(pages, "\x1b[?25h\x1b[?1049l")
	if !left || !strings.Contains(after, "interrupted") {
		t.Errorf("the terminal is left with %q", seen[max(0, len(seen)-200):])
	}
	for page := range strings.SplitSeq(strings.TrimPrefix(pages, "\x1b[H"), "\x1b[H") {
		lines := strings.Split(strings.ReplaceAll(strings.TrimSuffix(page, "\x1b[J"), "\x1b[K", ""), "\r\n")
		if len(lines) > 24 || !strings.Contains(page, id[:20]) || strings.Contains(strings.ReplaceAll(page, "\x1b[K", ""), "\x1b[2") {
			t.Errorf("a page of %d lines: %q", len(lines), page)
		}
		for _, line := range lines {
			if n := len([]rune(line)); n > 80 {
				t.Errorf("a line of %d cells: %q", n, line)
			}
		}
	}
}
