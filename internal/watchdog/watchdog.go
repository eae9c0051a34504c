// Package watchdog starts shells that act when this process ends, however it does.
package watchdog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// Watchdog is a shell in its own session. Its standard input ends with this process, or with Release.
type Watchdog struct {
	pipe *os.File // the only other end of the shell's standard input
	pid  int
	done chan struct{}
}

// Start starts a shell with a script that reads its standard input to the end, acts, and exits. NAME=VALUE entries reach it,
// with PATH, as environment, not as arguments, so that a script's search for processes does not match its own shell.
//
// Call Start before anything exists that the shell must clean up, so that our death never leaves it behind.
func Start(script string, environment ...string) (*Watchdog, error) {
	// Both ends are close-on-exec: no process that we start can keep the pipe open.
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("no pipe for the watchdog: %w", err)
	}
	cmd := exec.Command("/bin/sh", "-c", script, "pulley-watchdog")
	cmd.Stdin, cmd.Dir = reader, "/"
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}, environment...)
	// A Ctrl-C on our terminal, or a signal to our group, must not reach the watchdog.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = reader.Close()
	if err != nil {
		_ = writer.Close()
		return nil, fmt.Errorf("the watchdog, a shell, cannot be started: %w", err)
	}
	w := &Watchdog{pipe: writer, pid: cmd.Process.Pid, done: make(chan struct{})}
	// Ends with the shell, which ends after Release.
	go func() {
		defer close(w.done)
		_ = cmd.Wait()
	}()
	return w, nil
}

// PID is the shell's.
func (w *Watchdog) PID() int { return w.pid }

// Done is closed when the shell has ended.
func (w *Watchdog) Done() <-chan struct{} { return w.done }

// Release ends the shell's standard input, after word as the last line if it is not empty, and waits for the shell's end. If
// ctx ends first, Release returns an error and the shell continues.
func (w *Watchdog) Release(ctx context.Context, word string) error {
	if word != "" {
		_, _ = io.WriteString(w.pipe, word+"\n") // the shell may have been killed
	}
	if err := w.pipe.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("the watchdog's pipe: %w", err)
	}
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the watchdog (process %d) did not finish in time: %w", w.pid, context.Cause(ctx))
	}
}
