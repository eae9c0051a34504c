// Package watchdog starts shells that do something when this process is gone, however it ends.
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

// Watchdog is a shell in a session of its own, whose standard input ends when this process does, or when it is released.
type Watchdog struct {
	pipe *os.File      // its other end is the shell's standard input; nobody else holds this one
	pid  int           // of the shell
	done chan struct{} // closed when the shell ended
}

// Start starts a shell with a script, which reads its standard input to the end before it acts, and ends by itself. Its environment is
// PATH and what is given, as NAME=VALUE: not arguments, so that the shell is not taken for what it looks for.
//
// It must be called before what the shell is to clean up after exists: then there is no moment at which our death leaves it behind.
func Start(script string, environment ...string) (*Watchdog, error) {
	// Both ends are close-on-exec: no process that we start can keep the pipe open.
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("no pipe for the watchdog: %w", err)
	}
	cmd := exec.Command("/bin/sh", "-c", script, "pulley-watchdog")
	cmd.Stdin, cmd.Dir = reader, "/"
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}, environment...)
	// Its own session: a Ctrl-C on our terminal, or a signal to our group, is not for the watchdog.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = reader.Close()
	if err != nil {
		_ = writer.Close()
		return nil, fmt.Errorf("the watchdog, a shell, cannot be started: %w", err)
	}
	w := &Watchdog{pipe: writer, pid: cmd.Process.Pid, done: make(chan struct{})}
	// This goroutine ends with the shell, which ends after Release, with bounded waits.
	go func() {
		defer close(w.done)
		_ = cmd.Wait()
	}()
	return w, nil
}

// PID is that of the shell.
func (w *Watchdog) PID() int { return w.pid }

// Done is closed when the shell has ended.
func (w *Watchdog) Done() <-chan struct{} { return w.done }

// Release ends the shell's standard input, with a last word to its script, and waits for the shell's end, or for that of ctx: then the shell
// goes on.
func (w *Watchdog) Release(ctx context.Context, word string) error {
	if word != "" {
		_, _ = io.WriteString(w.pipe, word+"\n") // a shell that somebody has killed hears nothing
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
