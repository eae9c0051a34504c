package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Process is one run of an engine's process, seen from whoever started it.
type Process struct {
	source string
	system Execution
	ready  chan struct{} // closed when its engine works
	exited chan struct{} // closed when it has ended and all that it said was heard
	stderr tail

	mu     sync.Mutex // of stdin
	stdin  io.WriteCloser
	closed bool
	err    error // how it ended; read after gone
}

// Source is what it calls itself in the history.
func (p *Process) Source() string { return p.source }

// PID is the system's number for it, on this machine.
func (p *Process) PID() int { return p.system.PID() }

// Signal signals it.
func (p *Process) Signal(s os.Signal) error { return p.system.Signal(s) }

// Ready is closed when its engine works.
func (p *Process) Ready() <-chan struct{} { return p.ready }

// Exited is closed when it has ended and all that it said was heard.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err is how it ended, once it is gone.
func (p *Process) Err() error { return p.err }

// Complaint is the end of what it wrote to its standard error, on one line.
func (p *Process) Complaint() string { return p.stderr.String() }

// LineHandler takes what a process says, a line at a time, from one goroutine for each process.
type LineHandler func(p *Process, line []byte)

// Execution is a process of the system.
type Execution interface {
	PID() int // on this machine
	Signal(s os.Signal) error
	Wait() error // once its output has ended; how it ended
}

// Launcher starts processes, which have their input and output with them. What they say on their standard error goes to
// said.
type Launcher func(ctx context.Context, said io.Writer) (system Execution, in io.WriteCloser, out io.Reader, err error)

// child is a child of this process.
type child struct{ *exec.Cmd }

// PID implements Execution.
func (c child) PID() int { return c.Process.Pid }

// Signal implements Execution.
func (c child) Signal(s os.Signal) error { return c.Process.Signal(s) }

// LaunchChild launches a command, which is the program and its arguments, as a child.
func LaunchChild(command []string) Launcher {
	return func(_ context.Context, said io.Writer) (Execution, io.WriteCloser, io.Reader, error) {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = append(os.Environ(), EngineVariable+"=1")
		cmd.Stderr = said
		cmd.WaitDelay = time.Second
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, nil, nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, nil, nil, err
		}
		return child{cmd}, in, out, cmd.Start()
	}
}

// Start starts an engine. Its process is handed to launched before the engine does anything, so that a caller that kills the
// engine for what it does kills this process; orders that launched gives are read after the setup.
func Start(ctx context.Context, launch Launcher, s Setup, hear LineHandler, launched func(*Process)) (*Process, error) {
	p := &Process{source: s.Source, ready: make(chan struct{}), exited: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	var out io.Reader
	var err error
	if p.system, p.stdin, out, err = launch(ctx, &p.stderr); err != nil {
		return nil, fmt.Errorf("starting an engine's process: %w: %s", err, p.stderr.String())
	}
	// It ends with the process's output, which ends with the process.
	go func() {
		defer close(p.exited)
		p.listen(out, hear)
		p.err = p.system.Wait()
	}()
	launched(p)
	_ = p.write(s) // one that cannot be told has ended
	return p, nil
}

// listen hears whole lines; what a killed process had not finished it has not said.
func (p *Process) listen(out io.Reader, hear LineHandler) {
	in := bufio.NewReaderSize(out, 1<<16)
	ready := false
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if !ready && bytes.HasPrefix(line, []byte(isSaying+`"`+string(SayReady))) {
			ready = true
			close(p.ready)
		}
		hear(p, line)
	}
}

// ErrExited says that a process cannot be told anything any more.
var ErrExited = errors.New("the engine's process has ended")

// Send writes a line to the process.
func (p *Process) Send(what any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.write(what)
}

// write is Tell for a caller that has the lock.
func (p *Process) write(what any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	if p.closed {
		return ErrExited
	}
	if _, err := p.stdin.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("%w: %w", ErrExited, err)
	}
	return nil
}

// Finish asks the process to stop in an orderly way.
func (p *Process) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	_ = p.stdin.Close() // of a process that has ended it is closed
}

// Alive says whether the process can be worked with.
func (p *Process) Alive() bool {
	select {
	case <-p.exited:
		return false
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.closed
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 8 << 10

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-tailBytes):]
	return len(b), nil
}

// String is the kept text on one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.text)), " ")
}
