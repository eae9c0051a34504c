package pairs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Command is a program that is run to its end.
type Command struct {
	Dir  string   // empty: the current directory
	Env  []string // added to this process' environment
	Args []string
	// exit statuses besides 0 that are no error
	Accept []int
	// bounds the run; zero: DefaultTimeout
	Timeout time.Duration
}

// DefaultTimeout bounds a command: large builds and long benchmarks take minutes.
const DefaultTimeout = 30 * time.Minute

// endsWithin is the time between an interrupt and a kill.
const endsWithin = 20 * time.Second

const outputMax = 64 << 20

// Run runs the command and returns its standard output. When ctx ends, it interrupts the program, and later kills it. The error
// is one line with the last line of standard error.
func (c Command) Run(ctx context.Context) ([]byte, error) {
	timeout := cmp.Or(c.Timeout, DefaultTimeout)
	running, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took more than %v", timeout))
	defer cancel()
	cmd := exec.CommandContext(running, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append(os.Environ(), c.Env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endsWithin
	var stdout, stderr limited
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if running.Err() != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%s: %w", c.name(), context.Cause(running))
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		for _, code := range c.Accept {
			if exit.ExitCode() == code {
				return stdout.Bytes(), nil
			}
		}
		if line := lastLine(stderr.String()); line != "" {
			return nil, fmt.Errorf("%s: %s (%w)", c.name(), line, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name(), err)
	}
	return stdout.Bytes(), nil
}

func (c Command) name() string {
	text := strings.Join(c.Args, " ")
	if at := strings.LastIndexByte(c.Args[0], '/'); at >= 0 {
		text = strings.Join(append([]string{c.Args[0][at+1:]}, c.Args[1:]...), " ")
	}
	if len(text) > 120 {
		text = text[:120] + "…"
	}
	return text
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := outputMax - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
