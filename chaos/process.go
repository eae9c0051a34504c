package chaos

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

// process is one run of an engine's process.
type process struct {
	source string
	system execution
	ready  chan struct{} // closed when its engine works
	gone   chan struct{} // closed when it has ended and all that it said was heard
	stderr tail

	expected bool // its end was asked for; under its host's lock

	mu     sync.Mutex // of stdin
	stdin  io.WriteCloser
	closed bool
	err    error // how it ended; read after gone
}

// hearing takes what a process says, a line at a time, from one goroutine for each process.
type hearing func(p *process, line []byte)

// execution is a process of the system.
type execution interface {
	PID() int // on this machine
	Signal(s os.Signal) error
	Wait() error // once its output has ended; how it ended
}

// launcher starts processes, which have their input and output with them. What they say on their standard error goes to
// said.
type launcher func(ctx context.Context, said io.Writer) (system execution, in io.WriteCloser, out io.Reader, err error)

// child is a child of this process.
type child struct{ *exec.Cmd }

// PID implements execution.
func (c child) PID() int { return c.Process.Pid }

// Signal implements execution.
func (c child) Signal(s os.Signal) error { return c.Process.Signal(s) }

// launchChild launches a command, which is the program and its arguments, as a child.
func launchChild(command []string) launcher {
	return func(_ context.Context, said io.Writer) (execution, io.WriteCloser, io.Reader, error) {
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

// startProcess starts an engine. It is handed to launched before it does anything, so that who kills the engine for what it does
// kills this process; and whatever it is told then, it is told behind its setup.
func startProcess(ctx context.Context, launch launcher, s setup, hear hearing, launched func(*process)) (*process, error) {
	p := &process{source: s.Source, ready: make(chan struct{}), gone: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	var out io.Reader
	var err error
	if p.system, p.stdin, out, err = launch(ctx, &p.stderr); err != nil {
		return nil, fmt.Errorf("starting an engine's process: %w: %s", err, p.stderr.String())
	}
	// It ends with the process's output, which ends with the process.
	go func() {
		defer close(p.gone)
		p.listen(out, hear)
		p.err = p.system.Wait()
	}()
	launched(p)
	_ = p.write(s) // one that cannot be told has ended
	return p, nil
}

// listen hears whole lines; what a killed process had not finished it has not said.
func (p *process) listen(out io.Reader, hear hearing) {
	in := bufio.NewReaderSize(out, 1<<16)
	ready := false
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if !ready && bytes.HasPrefix(line, []byte(isSaying+`"`+string(sayReady))) {
			ready = true
			close(p.ready)
		}
		hear(p, line)
	}
}

// errGone says that a process cannot be told anything any more.
var errGone = errors.New("the engine's process has ended")

// tell writes a line to the process.
func (p *process) tell(what any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.write(what)
}

// write is tell, for who has the lock.
func (p *process) write(what any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	if p.closed {
		return errGone
	}
	if _, err := p.stdin.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}

// finish asks the process to stop in an orderly way.
func (p *process) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	_ = p.stdin.Close() // of a process that has ended it is closed
}

// alive says whether the process can be worked with.
func (p *process) alive() bool {
	select {
	case <-p.gone:
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
