package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/cmd/pulley/console"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
	"pulley/reports/page"
	"pulley/reports/record"
)

// asCommand makes the test binary the command itself. So the command is tested as its users run it, with the race detector
// where the tests have it.
const asCommand = "PULLEY_TEST_AS_COMMAND"

// builtCommand names a command built with the race detector, for tests without. Empty: the test binary is also that command.
const builtCommand = "PULLEY_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "1" {
		main()
		return
	}
	if dsn := os.Getenv(ownDSN); dsn != "" && os.Getenv(pgtest.ServerVariable) == "" {
		_ = os.Setenv(pgtest.ServerVariable, dsn) // the tests still use it
	}
	_ = os.Unsetenv(ownDSN)
	pgtest.Main(m)
}

// ownDSN names a server to the command. No command of a test may find the tester's server there.
const ownDSN = "PULLEY_DSN"

const deadline = 15 * time.Minute

type result struct {
	code     int
	out, err string
}

// command makes a command that ends with the test. It has the race detector only where the tests have it.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return commandWithin(t, os.Args[0], deadline, args...)
}

// raceCommand is command with the race detector, which takes five times the processor time to start and ten times to work. One
// test of each command with concurrent goroutines needs it.
func raceCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return commandWithin(t, raceBinary(), deadline, args...)
}

func raceBinary() string { return cmp.Or(os.Getenv(builtCommand), os.Args[0]) }

func commandWithin(t *testing.T, binary string, within time.Duration, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary, args...)
	// The race detector's runtime waits for a second at the end of every process unless told not to.
	cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0 halt_on_error=1")
	return cmd
}

// call runs a command in this process, which takes a hundredth of the time of a process of its own.
func call(t *testing.T, stdin io.Reader, args ...string) result {
	t.Helper()
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	ended := make(chan result, 1)
	go func() {
		var out, stderr bytes.Buffer
		code := pulley(args, &console.Console{In: stdin, Out: &out, Err: &stderr})
		ended <- result{code: code, out: out.String(), err: stderr.String()}
	}()
	select {
	case got := <-ended:
		return got
	case <-time.After(callDeadline):
		t.Fatalf("pulley %s has not ended after %v", strings.Join(args, " "), callDeadline)
		return result{}
	}
}

// callDeadline is for what waits for something that does not happen. Nothing can end it, but its test can fail.
var callDeadline = depth.Of(2*deadline, time.Hour)

func run(t *testing.T, args ...string) result {
	t.Helper()
	return outcomeOf(t, command(t, args...))
}

func runForRaces(t *testing.T, args ...string) result {
	t.Helper()
	return outcomeOf(t, raceCommand(t, args...))
}

func outcomeOf(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	return result{code: exitStatus(t, cmd.Run()), out: out.String(), err: stderr.String()}
}

func TestBuiltCommandHasTheRaceDetector(t *testing.T) {
	file := os.Getenv(builtCommand)
	if file == "" {
		t.Skipf("%s names no command: the test binary is it", builtCommand)
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Errorf("%s was built without the race detector", file)
	}
}

func exitStatus(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode()
	}
	t.Fatalf("the command did not end by itself: %v", err)
	return -1
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantLine checks that text is one line with the parts in order, and no stack trace.
func wantLine(t *testing.T, text string, parts ...string) {
	t.Helper()
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		t.Errorf("not one line: %q", text)
	}
	wantParts(t, text, parts...)
}

// wantRecord wants a page in dir that carries this file.
func wantRecord(t *testing.T, dir, file, content string) {
	t.Helper()
	html, err := os.ReadFile(filepath.Join(dir, record.ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	files, err := page.Extract(html)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name == file {
			if string(f.Data) != content {
				t.Errorf("%s in the page differs from what was written or printed", file)
			}
			return
		}
	}
	t.Errorf("the page in %s does not carry %s", dir, file)
}

func wantParts(t *testing.T, text string, parts ...string) {
	t.Helper()
	if strings.Contains(text, "goroutine") {
		t.Errorf("a stack trace: %q", text)
	}
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Errorf("%q does not hold %q where it should", text, part)
			return
		}
		rest = after
	}
}

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("out of order") }

func TestAPanicIsOneLine(t *testing.T) {
	t.Setenv("PULLEY_STACK", "")
	var stderr bytes.Buffer
	if code := pulley([]string{"version"}, &console.Console{In: strings.NewReader(""), Out: panicking{}, Err: &stderr}); code != console.ExitBug {
		t.Errorf("exit status %d, want %d", code, console.ExitBug)
	}
	wantLine(t, stderr.String(), "pulley: out of order; this is a bug")
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", "fn main(input: [], output: [x]):\n    x = 1\n")
	for _, c := range []struct {
		name  string
		args  []string
		parts []string
	}{
		{"no command", nil, []string{"pulley: expected one of", `"run"`, `"submit"`, "see pulley help"}},
		{"unknown command", []string{"rum"}, []string{`unexpected argument rum, did you mean`, `"run"`}},
		{"unknown flag", []string{"run", prog, "--backends", "push"}, []string{"unknown flag --backends, did you mean \"--backend\"? See pulley help run"}},
		{"no file", []string{"run"}, []string{`expected "<file>"`, "see pulley help run"}},
		{"two files", []string{"graph", prog, prog}, []string{"unexpected argument"}},
		{"flag twice", []string{"graph", prog, "--format", "dot", "--format=text"}, []string{"--format is there twice"}},
		{"no value", []string{"run", prog, "--input"}, []string{"--input"}},
		{"format", []string{"run", prog, "--format", "yaml"}, []string{"--format must be one of", `"yaml"`}},
		{"workers, no number", []string{"run", prog, "--workers", "many"}, []string{"--workers", "many"}},
		{"workers, none", []string{"run", prog, "--workers", "0"}, []string{"--workers 0: choose from 1 to 100000"}},
		{"timeout", []string{"run", prog, "--timeout", "soon"}, []string{"--timeout"}},
		{"negative timeout", []string{"run", prog, "--timeout=-1s"}, []string{"--timeout -1s: choose a positive time"}},
		{"id", []string{"run", prog, "--id", "7"}, []string{`--id "7": this is not a UUID such as `}},
		{"backend", []string{"run", prog, "--backend", "pusch"}, []string{`no backend "pusch", did you mean "push"? See pulley list backends`}},
		{"option", []string{"run", prog, "--backend", "push:scan=sql"}, []string{`no option "scan=sql"`, "push:batch="}},
		{"option's value", []string{"run", prog, "--backend", "pull:scan=both"}, []string{`scan is "both"; choose app or sql`}},
		{"option's number", []string{"run", prog, "--backend", "push:batch=0"}, []string{`batch is "0"; choose a number from 1 to 10000`}},
		{"memory with a DSN", []string{"run", prog, "--backend", "memory", "--dsn", "postgres://x"}, []string{"backend memory uses no database; leave --dsn out"}},
		{"memory with a schema", []string{"run", prog, "--backend", "memory", "--schema", "s"}, []string{"backend memory has no schema"}},
		{"a schema's name", []string{"run", prog, "--schema", strings.Repeat("x", 64)}, []string{"choose one of at most 63 bytes"}},
		{"unknown limit", []string{"graph", prog, "--limit", "node=3"}, []string{"--limit node: there is no such limit; there are source_bytes, nesting, nodes,"}},
		{"limit of none", []string{"graph", prog, "--limit", "nodes=0"}, []string{"--limit nodes=0: choose 1 or more"}},
		{"all from standard input", []string{"run", "-", "--input", "-"}, []string{"standard input cannot be both"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := call(t, nil, c.args...)
			if got.code != console.ExitUsage || got.out != "" {
				t.Errorf("exit status %d, output %q", got.code, got.out)
			}
			wantLine(t, got.err, c.parts...)
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {"graph", "--help"}, {"doctor", "--help"}, {"version"}, {"--version"}} {
		got := run(t, args...)
		if got.code != 0 || got.err != "" || got.out == "" {
			t.Errorf("%v: exit status %d, output %q, errors %q", args, got.code, got.out, got.err)
		}
	}
	help := call(t, nil, "help", "run").out
	wantParts(t, help, "Exit status: 0 if the instance completed, 1 if it failed or was canceled,", "pulley list actions", "--dsn")
}

func TestAClosedOutputIsAnError(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", "fn main(input: [], output: [x]):\n    x = 1\n")
	for _, args := range [][]string{{"run", prog, "--backend", "memory"}, {"graph", prog}, {"version"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		var stderr bytes.Buffer
		cmd := command(t, args...)
		cmd.Stdout, cmd.Stderr = w, &stderr
		if code := exitStatus(t, cmd.Run()); code != console.ExitUsage {
			t.Errorf("%v: exit status %d", args, code)
		}
		_ = w.Close()
		wantLine(t, stderr.String(), "pulley: writing the output: ", "broken pipe")
	}
}
