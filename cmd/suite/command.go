package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type command struct {
	args  []string
	dir   string            // empty: this process's
	env   map[string]string // besides the workdir's
	stdin io.Reader
	out   io.Writer // nil: discarded
	err   io.Writer // nil: as out
}

func (c command) String() string {
	words := make([]string, len(c.args))
	for i, a := range c.args {
		words[i] = a
		if a == "" || strings.ContainsAny(a, " $|&;<>()*?'\"\\") {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	line := strings.Join(words, " ")
	if c.dir != "" {
		line = "cd " + c.dir + " && " + line
	}
	return line
}

// run runs the command to its end. If ctx ends first, run interrupts the command and its children, later kills them, and
// returns the context's error.
func (p *workdir) run(ctx context.Context, c command) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.dir, p.environment(c.env), c.stdin, c.out, c.err
	if cmd.Stderr == nil {
		cmd.Stderr = c.out
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = p.timeout
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the rest of the group, if any
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// status is a command's exit status; -1 if it did not run.
func status(err error) int {
	var failed *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failed):
		return failed.ExitCode()
	}
	return -1
}

func within(work func(*workdir) error) (err error) {
	p, err := newWorkdir()
	if err != nil {
		return err
	}
	defer func() {
		if left := p.leave(); left != nil {
			fmt.Fprintln(os.Stderr, "suite:", left)
			err = errors.Join(err, left)
		}
	}()
	return work(p)
}

// spentScript runs a test binary and records the processor time of the binary and its children, which go test does not report.
// $1 is a directory for a file with the package's directory and the output of times, whose last line is about children.
const spentScript = `dir=$1
shift
"$@"
status=$?
{ pwd -P; times; } >"$dir/$$"
exit $status
`

type spentMeter struct{ script, dir, root string }

func (p *workdir) meterSpent() (*spentMeter, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(p.dir, "spent-")
	if err != nil {
		return nil, err
	}
	m := &spentMeter{script: filepath.Join(dir, "run.sh"), dir: filepath.Join(dir, "of"), root: root}
	if err := os.Mkdir(m.dir, 0o755); err != nil {
		return nil, err
	}
	return m, os.WriteFile(m.script, []byte(spentScript), 0o644)
}

// through wraps a command so that its processor time is recorded. A nil meter wraps nothing.
func (m *spentMeter) through(args ...string) []string {
	if m == nil {
		return args
	}
	return append([]string{"sh", m.script, m.dir}, args...)
}

// spent returns the seconds of a package whose tests ended normally.
func (m *spentMeter) spent(name string) float64 {
	files, _ := os.ReadDir(m.dir) // none: a missing column
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(m.dir, f.Name()))
		if err != nil {
			continue
		}
		dir, times, _ := strings.Cut(string(text), "\n")
		if rel, err := filepath.Rel(m.root, dir); err == nil && rel == short(name) {
			return secondsOfChildren(times)
		}
	}
	return 0
}

// secondsOfChildren adds up the last line of the shell's times, such as "1m2.30s 0m4.00s".
func secondsOfChildren(times string) (sum float64) {
	lines := strings.Split(strings.TrimSpace(times), "\n")
	for _, word := range strings.Fields(lines[len(lines)-1]) {
		minutes, seconds, _ := strings.Cut(strings.TrimSuffix(word, "s"), "m")
		m, err1 := strconv.ParseFloat(minutes, 64)
		s, err2 := strconv.ParseFloat(strings.Replace(seconds, ",", ".", 1), 64) // some shells use the locale's format
		if err1 != nil || err2 != nil {
			return 0
		}
		sum += 60*m + s
	}
	return sum
}

// spentByChildren is the processor time of suite's ended commands and their children.
func spentByChildren() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		panic(fmt.Errorf("getrusage: %w", err)) // never fails, by its contract
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
