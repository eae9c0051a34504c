package pgserver

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

//go:embed watchdog.sh
var watchdogScript string

// watchdog is a shell in a session of its own that ends our server and removes its directories when
// this process is gone, or when release is called.
type watchdog struct {
	pipe *os.File      // its other end is the shell's standard input; nobody else holds this one
	pid  int           // of the shell
	done chan struct{} // closed when the shell ended
}

// startWatchdog must be called before the first process that uses the directories is started: then
// there is no moment at which our death leaves one behind.
func startWatchdog(dirs []string) (*watchdog, error) {
	// Both ends are close-on-exec: no process that we start can keep the pipe open.
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("no pipe for the watchdog: %w", err)
	}
	cmd := watchdogCommand(dirs, reader)
	err = cmd.Start()
	_ = reader.Close()
	if err != nil {
		_ = writer.Close()
		return nil, fmt.Errorf("the watchdog, a shell, cannot be started: %w", err)
	}
	w := &watchdog{pipe: writer, pid: cmd.Process.Pid, done: make(chan struct{})}
	// This goroutine ends with the shell, which ends after release, with bounded waits.
	go func() {
		defer close(w.done)
		_ = cmd.Wait()
	}()
	return w, nil
}

func watchdogCommand(dirs []string, stdin io.Reader) *exec.Cmd {
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "pulley-watchdog")
	cmd.Stdin = stdin
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "PULLEY_DIRS=" + strings.Join(dirs, "\n")}
	// Its own session: a Ctrl-C on our terminal, or a signal to our group, is not for the watchdog.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// release lets the watchdog do its work now and waits until it is done.
func (w *watchdog) release(ctx context.Context) error {
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

// clearLeftovers does a dead watchdog's work: it ends the servers of the directories and removes them.
func clearLeftovers(ctx context.Context, dirs []string) error {
	w, err := startWatchdog(dirs)
	if err != nil {
		return err
	}
	return w.release(ctx)
}
