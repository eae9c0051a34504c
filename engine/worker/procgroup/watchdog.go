package procgroup

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

//go:embed watchdog.sh
var watchdogScript string

// watchdog is a shell in a session of its own that kills whoever carries the mark when this process is gone.
type watchdog struct {
	pipe *os.File      // its other end is the shell's standard input; nobody else holds this one
	pid  int           // of the shell
	done chan struct{} // closed when the shell ended
}

// startWatchdog must be called before the first process with the mark is started.
func startWatchdog(mark string) (*watchdog, error) {
	// Both ends are close-on-exec: no process that we start can keep the pipe open.
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("no pipe for the watchdog of processes: %w", err)
	}
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "pulley-watchdog")
	cmd.Stdin = reader
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "PULLEY_MARK=" + mark}
	// Its own session: a Ctrl-C on our terminal, or a signal to our group, is not for the watchdog.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = reader.Close()
	if err != nil {
		_ = writer.Close()
		return nil, fmt.Errorf("the watchdog of processes, a shell, cannot be started: %w", err)
	}
	w := &watchdog{pipe: writer, pid: cmd.Process.Pid, done: make(chan struct{})}
	// This goroutine ends with the shell, which ends after release, with bounded waits.
	go func() {
		defer close(w.done)
		_ = cmd.Wait()
	}()
	return w, nil
}

// release ends the watchdog and waits for it. Unless nothing is left of the processes, it kills them first.
func (w *watchdog) release(ctx context.Context, nothingLeft bool) error {
	if nothingLeft {
		_, _ = io.WriteString(w.pipe, "done\n") // without it, it looks by itself
	}
	if err := w.pipe.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("the pipe of the watchdog of processes: %w", err)
	}
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the watchdog of processes (process %d) did not finish in time: %w", w.pid, context.Cause(ctx))
	}
}
