package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// command is a program that suite runs.
type command struct {
	args  []string
	dir   string            // empty: this one
	env   map[string]string // besides the place's
	stdin io.Reader
	out   io.Writer // nil: discarded
	err   io.Writer // nil: as out
}

// String is the command as one would type it.
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

// run runs the command to its end. If ctx ends first, it asks the command and its children to end, and kills them if they do
// not; the error is then the context's.
func (p *place) run(ctx context.Context, c command) error {
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
	cmd.WaitDelay = p.patience
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // who is left of the group; mostly nobody
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// status is the exit status of a command that ran, and -1 if it did not.
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

// within makes a place, runs what works in it, and leaves nothing of it behind.
func within(work func(*place) error) (err error) {
	p, err := makePlace()
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
