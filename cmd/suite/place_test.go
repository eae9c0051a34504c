package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// stubborn is a shell with a child in a session of its own, which no signal to the shell's group reaches.
const stubborn = `setsid sh -c 'echo begun; exec sleep 600' & wait`

func needProc(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil || !exists("/proc/self/environ") {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI must have Linux' /proc and setsid")
		}
		t.Skip("this needs Linux' /proc and setsid")
	}
}

func TestProcessesThatBeginAnotherProgramAreSeen(t *testing.T) {
	needProc(t)
	p, err := newWorkdir()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(p.dir, "again.sh")
	if err := os.WriteFile(script, []byte(`[ "$1" = 0 ] && { echo done; read line; exit 0; }; exec sh "$0" $(($1 - 1))`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", script, "300")
	cmd.Env = append([]string{"LONG=" + strings.Repeat("x", 100_000)}, p.environment(nil)...) // the mark is far behind
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = out.Read(make([]byte, 16)) // the line was printed, or the process ended, which the loop finds out
	}()
	for looks, going := 0, true; going; looks++ {
		if len(p.processes()) == 0 {
			t.Fatalf("look %d found no process", looks)
		}
		select {
		case <-done:
			going = false
		default:
		}
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if err := p.leave(); err != nil {
		t.Error(err)
	}
}

func TestNothingStaysBehind(t *testing.T) {
	needProc(t)
	p, err := newWorkdir()
	if err != nil {
		t.Fatal(err)
	}
	p.timeout = 200 * time.Millisecond
	if err := os.WriteFile(filepath.Join(p.dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancelCause(t.Context())
	why := errors.New("interrupted by the test")
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- p.run(ctx, command{args: []string{"sh", "-c", stubborn}, out: writer})
		_ = writer.Close()
	}()
	if _, err := reader.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	if len(p.processes()) < 2 {
		t.Errorf("%d processes carry the mark, want the shell and its child", len(p.processes()))
	}
	interrupt(why)
	go func() { _, _ = io.Copy(io.Discard, reader) }() // ends when the pipe is closed
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("the command ended with %v, want the context's cause", err)
	}
	if err := p.leave(); err == nil || !strings.Contains(err.Error(), "were killed") {
		t.Errorf("leaving: %v, want to be told of the process that did not end", err)
	}
	if left := p.processes(); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if exists(p.dir) || exists(p.fast) {
		t.Errorf("%s or %s is left", p.dir, p.fast)
	}
}

func TestKilledRunsAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	running, err := newWorkdir()
	if err != nil {
		t.Fatal(err)
	}
	killed, err := newWorkdir()
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.lock.Close(); err != nil { // as the kernel does
		t.Fatal(err)
	}
	for _, p := range []*workdir{running, killed} {
		long := time.Now().Add(-time.Hour)
		if err := os.Chtimes(p.dir, long, long); err != nil {
			t.Fatal(err)
		}
	}
	removeAbandoned()
	if exists(killed.dir) {
		t.Error("what the killed run left is still there")
	}
	if !exists(running.dir) {
		t.Error("the directory of a run that continues was removed")
	}
	if err := running.leave(); err != nil {
		t.Error(err)
	}
}

func TestCommandsTellHowTheyEnded(t *testing.T) {
	err := within(func(p *workdir) error {
		var out bytes.Buffer
		if err := p.run(t.Context(), command{args: []string{"sh", "-c", `echo "$X $TMPDIR $GOTMPDIR"; exit 3`}, env: map[string]string{"X": "1"}, out: &out}); status(err) != 3 {
			t.Errorf("status %d (%v), want 3", status(err), err)
		}
		if want := "1 " + p.fast + " " + p.dir + "\n"; out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
		if err := p.run(t.Context(), command{args: []string{"/no/such/program"}}); err == nil || status(err) != -1 {
			t.Errorf("a program that does not exist: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCommandsCanBeTypedAgain(t *testing.T) {
	got := command{args: []string{"go", "test", "-run", "^A$|^B$", "it's"}, dir: "x"}.String()
	if want := `cd x && go test -run '^A$|^B$' 'it'\''s'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
