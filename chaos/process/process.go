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

// Process is one run of an engine's process, as its starter sees it.
type Process struct {
	source string
	system Execution
	ready  chan struct{} // closed when its engine works
	exited chan struct{} // closed when it has ended and all its lines were handled
	stderr tail

	mu     sync.Mutex
	stdin  io.WriteCloser
	closed bool
	err    error // how it ended; read after exited is closed
}

// Source returns its name in the history.
func (p *Process) Source() string { return p.source }

// PID returns its number on this machine.
func (p *Process) PID() int { return p.system.PID() }

// Signal signals it.
func (p *Process) Signal(s os.Signal) error { return p.system.Signal(s) }

// Ready is closed when its engine works.
func (p *Process) Ready() <-chan struct{} { return p.ready }

// Exited is closed when it has ended and all its lines were handled.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err returns how it ended, once it has exited.
func (p *Process) Err() error { return p.err }

// Complaint returns the end of its standard error, on one line.
func (p *Process) Complaint() string { return p.stderr.String() }

// LineHandler receives a process's lines, from one goroutine for each process.
type LineHandler func(p *Process, line []byte)

// Execution is a process of the system.
type Execution interface {
	PID() int // on this machine
	Signal(s os.Signal) error
	Wait() error // returns how it ended; called once its output has ended
}

// Launcher starts a process with pipes for its input and output. said receives its standard error.
type Launcher func(ctx context.Context, said io.Writer) (system Execution, in io.WriteCloser, out io.Reader, err error)

type child struct{ *exec.Cmd }

func (c child) PID() int { return c.Process.Pid }

func (c child) Signal(s os.Signal) error { return c.Process.Signal(s) }

// LaunchChild launches a command as a child.
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

// Start starts an engine. launched receives the process before the engine does anything, so that a caller that reacts to the
// engine by killing it kills this process. Orders that launched sends are read after the setup.
func Start(ctx context.Context, launch Launcher, s Setup, hear LineHandler, launched func(*Process)) (*Process, error) {
	p := &Process{source: s.Source, ready: make(chan struct{}), exited: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	var out io.Reader
	var err error
	if p.system, p.stdin, out, err = launch(ctx, &p.stderr); err != nil {
		return nil, fmt.Errorf("starting an engine's process: %w: %s", err, p.stderr.String())
	}
	// It ends with the process's output.
	go func() {
		defer close(p.exited)
		p.listen(out, hear)
		p.err = p.system.Wait()
	}()
	launched(p)
	_ = p.write(s) // fails only if the process has ended
	return p, nil
}

// listen handles whole lines; a killed process may leave an unfinished one.
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

// ErrExited says that a process can receive nothing any more.
var ErrExited = errors.New("the engine's process has ended")

// Send writes a line to the process.
func (p *Process) Send(what any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.write(what)
}

// write is Send for a caller that holds the lock.
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

// Finish tells the process to stop in an orderly way.
func (p *Process) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	_ = p.stdin.Close() // closed already if the process has ended
}

// Alive reports whether the process accepts orders.
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

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-tailBytes):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.text)), " ")
}
