package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulley/cmd/pulley/console"
	"pulley/cmd/pulley/stored"
	"pulley/engine/pgserver"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

type started struct {
	cmd    *exec.Cmd
	lines  *bufio.Scanner // of standard error
	stdout strings.Builder
}

// start starts pulley run and returns when the instance is stored.
func start(t *testing.T, env []string, args ...string) *started {
	t.Helper()
	s := &started{cmd: raceCommand(t, append([]string{"run", "--verbose"}, args...)...)}
	s.cmd.Env = append(s.cmd.Env, env...)
	s.cmd.Stdout = &s.stdout
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.lines = bufio.NewScanner(stderr)
	var told []string
	for s.lines.Scan() {
		told = append(told, s.lines.Text())
		if strings.HasSuffix(s.lines.Text(), " is stored") {
			return s
		}
	}
	t.Fatalf("the command ended before its instance was stored: %v: %s", s.cmd.Wait(), strings.Join(told, "\n"))
	return nil
}

func (s *started) wait(t *testing.T) (code int, last string) {
	t.Helper()
	for s.lines.Scan() {
		last = s.lines.Text()
	}
	return exitStatus(t, s.cmd.Wait()), last
}

const sleeper = "fn main(input: [], output: []):\n    @sleep(ms=3600000)\n"

func TestASignalEndsEverything(t *testing.T) {
	t.Parallel()
	prog := file(t, "sleeper.ir", sleeper)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			dir := openDir(t)
			env := []string{"TMPDIR=" + dir}
			s := start(t, env, prog, "--format", "json")
			if len(processesOf(t, dir)) == 0 {
				t.Fatalf("no server runs in %s: this test sees nothing", dir)
			}
			for range 2 { // as timeout does
				if err := s.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
			}
			code, last := s.wait(t)
			if code != 128+int(sig) || s.stdout.Len() != 0 {
				t.Errorf("exit status %d, output %q", code, s.stdout.String())
			}
			wantParts(t, last, "pulley: ")
			if strings.Contains(last, "--id") {
				t.Errorf("nothing is kept, but %q", last)
			}
			wantNothingLeft(t, dir)

			if sig != syscall.SIGINT && !depth.Night() {
				return // an empty directory cannot disturb the next run
			}
			again := command(t, "run", pipeline, "--input", `{"fan_out": 6, "loop_iters": 2}`)
			again.Env = append(again.Env, env...)
			if out, err := again.Output(); err != nil || string(out) != "completed: 120\n" {
				t.Errorf("the next run: %v, %q", err, out)
			}
			wantNothingLeft(t, dir)
		})
	}
}

// openDir has a short name, since the path of a socket has a bound. Every account may enter: root's server runs under another
// account.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-ww", "-o", "pid=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, dir+"/") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func wantNothingLeft(t *testing.T, dir string) {
	t.Helper()
	if left := processesOf(t, dir); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s is left", e.Name())
	}
}

func TestAnInstanceContinuesUnderItsID(t *testing.T) {
	t.Parallel()
	prog := file(t, "steps.ir", "fn main(input: [n], output: [done]):\n    done = []\n    for i in range(n):\n        @sleep(ms=25)\n        done = done + [i]\n")
	args := []string{prog, "--input", `{"n": 40}`, "--dsn", pgtest.DSN(t), "--schema", pgtest.Schema(t)}
	s := start(t, nil, args...)
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	code, last := s.wait(t)
	if code != 130 || s.stdout.Len() != 0 {
		t.Fatalf("exit status %d, output %q, %q", code, s.stdout.String(), last)
	}
	id := regexp.MustCompile(`with --id (\S+) the same command continues$`).FindStringSubmatch(last)
	if id == nil {
		t.Fatalf("no id in %q", last)
	}
	args = append([]string{"run"}, append(args, "--id", id[1], "--format", "json")...)
	first := run(t, args...)
	if first.code != 0 || !strings.HasPrefix(first.out, `{"status":"completed","result":[0,1,2,`) {
		t.Fatalf("%+v", first)
	}
	if again := call(t, nil, args...); again.code != 0 || again.out != first.out {
		t.Errorf("the result of an instance that has ended: %+v", again)
	}
}

func TestATimeoutIsNoResult(t *testing.T) {
	t.Parallel()
	got := call(t, nil, "run", file(t, "sleeper.ir", sleeper), "--backend", "memory", "--timeout", "50ms", "--format", "json")
	if got.code != console.ExitUsage || got.out != "" {
		t.Errorf("%+v", got)
	}
	wantLine(t, got.err, "pulley: the instance did not end within 50ms; --timeout gives it longer")
}

func TestALostDatabaseIsGivenUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	server, err := pgserver.Open(ctx, pgserver.Options{Ways: []pgserver.Way{pgserver.WayLocal, pgserver.WayDownload}, StartTimeout: deadline})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(ctx); err != nil {
			t.Errorf("ending the server: %v", err)
		}
	}()
	prog := file(t, "p.ir", "fn main(input: [], output: []):\n    for i in range(100000):\n        @sleep(ms=10)\n")
	s := start(t, nil, prog, "--dsn", server.DSN(), "--format", "json")
	if err := server.Stop(ctx, pgserver.StopImmediate); err != nil {
		t.Fatal(err)
	}
	code, last := s.wait(t)
	if code != console.ExitUsage || s.stdout.Len() != 0 {
		t.Errorf("exit status %d, output %q", code, s.stdout.String())
	}
	wantParts(t, last, "pulley: no progress for ", "postgres: ", "instance ", " stays in schema pulley_push")
}

func TestTrouble(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var given error
	tr := &pgProblem{report: func(string) {}, deadline: func(err error) { given = err }, now: func() time.Time { return now }}
	why := errors.New("the disk is full")
	problem := func(after time.Duration) {
		now = now.Add(after)
		tr.problem(why)
	}
	problem(0)
	problem(stored.CallTimeout)
	tr.success()
	problem(stored.CallTimeout)
	problem(stored.CallTimeout + 3*retryMax) // too long after the previous problem
	problem(exitTimeout - time.Second - 5*time.Second)
	if given != nil {
		t.Fatalf("given up too early: %v", given)
	}
	problem(6 * time.Second)
	if !errors.Is(given, why) || !strings.HasPrefix(given.Error(), "no progress for 15s: ") {
		t.Errorf("got %v", given)
	}
}

func interruptWhenTold(t *testing.T, part string, args ...string) {
	t.Helper()
	cmd := raceCommand(t, args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told := false
	var all []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); all = append(all, lines.Text()) {
		if strings.Contains(lines.Text(), part) && !told {
			told = true
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	if code := exitStatus(t, cmd.Wait()); code != 130 || !told {
		t.Errorf("exit status %d; told of %q: %v; it said: %s", code, part, told, strings.Join(all, "\n"))
	}
}
