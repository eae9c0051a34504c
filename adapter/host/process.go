package host

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"pulley/adapter/protocol"
	"pulley/engine/worker/procgroup"
)

// The bounds of waits whose context has no deadline.
const (
	HelloTimeout  = 30 * time.Second
	ReadyTimeout  = time.Minute // of setup and open
	AnswerTimeout = time.Minute // of submit and look
	StopTimeout   = 30 * time.Second
)

// Process is one process of an adapter. Its methods are safe for concurrent use, but for the order that the protocol has:
// Hello, Setup, Open, then Submit and Look, then Stop.
type Process struct {
	host   *Host
	number int
	group  *procgroup.Group
	over   chan struct{} // closed when the process has ended and its output was read

	writing chan struct{} // capacity 1; held while in is written to
	in      *os.File

	slots chan struct{} // one entry for each batch without an answer

	mu      sync.Mutex
	awaited protocol.Kind          // hello, ready, or empty
	control chan protocol.Response // capacity 1; receives the awaited one
	ready   bool                   // ready came once
	calls   map[int64]*Call
	promise protocol.Promises
	cause   error // why the host ended the process; nil: it did not
	said    []string
}

// Setup is what a process needs to know before it works.
type Setup struct {
	Create    bool // of exactly one process of a run, which makes what the system needs
	Store     protocol.Store
	Settings  map[string]string // see [Settings]
	Workloads []protocol.Workload
}

// Number is the process's number in the run.
func (p *Process) Number() int { return p.number }

// Pid is the number of the process in the system.
func (p *Process) Pid() int { return p.group.Pid() }

// Done is closed when the process has ended and all that it wrote was observed.
func (p *Process) Done() <-chan struct{} { return p.over }

// State returns how the process ended; nil if unknown. It must be called after Done is closed.
func (p *Process) State() *os.ProcessState { return p.group.State() }

// Kill kills the process, with whatever it started. Done is closed soon.
func (p *Process) Kill() { p.group.Kill() }

// Pause stops the process and its children without their knowledge, and Continue lets them continue.
func (p *Process) Pause() { p.group.Signal(syscall.SIGSTOP) }

// Continue ends a pause.
func (p *Process) Continue() { p.group.Signal(syscall.SIGCONT) }

// Hello greets the process and returns what it says of itself, which is valid. It waits for HelloTimeout by default.
func (p *Process) Hello(ctx context.Context) (*protocol.Hello, error) {
	r, err := p.request(ctx, protocol.Request{Kind: protocol.KindHello, Version: protocol.Version}, protocol.KindHello, HelloTimeout)
	if err != nil {
		return nil, err
	}
	if err := r.Hello.Validate(); err != nil {
		return nil, &Misbehaviour{
			About: "hello", Expected: "a hello that is right", Came: "one where " + joinLines(err),
			Advice: "correct that; docs/adapter.md has its fields",
		}
	}
	p.setPromises(&r.Hello.Promises)
	return r.Hello, nil
}

// Promises are what the system promises: those of Hello, and after Setup with its settings.
func (p *Process) Promises() protocol.Promises {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.promise
}

func (p *Process) setPromises(promises *protocol.Promises) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.promise = *promises
}

// Setup tells the process what it needs to know, and waits until it is ready, for ReadyTimeout by default. For an adapter that
// cannot work here, see [CannotWork].
func (p *Process) Setup(ctx context.Context, s Setup) error {
	if err := p.host.learnWorkloads(s.Workloads); err != nil {
		return err
	}
	r, err := p.request(ctx, protocol.Request{
		Kind: protocol.KindSetup, Create: s.Create, Store: &s.Store, Settings: s.Settings, Workloads: s.Workloads,
	}, protocol.KindReady, ReadyTimeout)
	if err != nil || r.Promises == nil {
		return err
	}
	if err := r.Promises.Validate(); err != nil {
		return &Misbehaviour{
			About: "ready", Expected: "promises that are right", Came: "some where " + joinLines(err), Advice: "correct that; docs/adapter.md has them",
		}
	}
	p.setPromises(r.Promises)
	return nil
}

// Open lets the process begin to work on so many tasks at once, at least 1, and waits until it is ready, for ReadyTimeout by
// default.
func (p *Process) Open(ctx context.Context, slots int, report protocol.Report) error {
	if slots < 1 {
		return errors.New("a process needs one slot or more")
	}
	_, err := p.request(ctx, protocol.Request{Kind: protocol.KindOpen, Process: p.number, Slots: slots, Report: report}, protocol.KindReady, ReadyTimeout)
	return err
}

// request writes a message of a process's beginning, and waits for its answer.
func (p *Process) request(ctx context.Context, r protocol.Request, answer protocol.Kind, within time.Duration) (protocol.Response, error) {
	line, err := r.Line()
	if err != nil {
		return protocol.Response{}, err
	}
	p.mu.Lock()
	if answer != protocol.KindHello { // a process may say hello first
		p.awaited, p.control = answer, make(chan protocol.Response, 1)
	}
	control := p.control
	p.mu.Unlock()
	ctx, cancel := bound(ctx, within)
	defer cancel()
	if err := p.Write(ctx, line); err != nil {
		return protocol.Response{}, err
	}
	a, err := await(ctx, p, control, string(answer)+" as the answer to "+string(r.Kind))
	if err == nil && a.Kind == protocol.KindError {
		err = &Refused{Process: p.number, Message: a.Message}
	}
	return a, err
}

// bound gives a context without a deadline one.
func bound(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, within)
}

// await waits for what comes through a channel, until the process or ctx ends.
func await[T any](ctx context.Context, p *Process, channel <-chan T, awaited string) (got T, err error) {
	begun := time.Now()
	select {
	case got = <-channel:
		return got, nil
	case <-p.over:
		select {
		case got = <-channel: // it came before the end
			return got, nil
		default:
			return got, p.failure()
		}
	case <-ctx.Done():
		return got, p.late(ctx, awaited, begun)
	}
}

// late is the error of a wait that the context ended.
func (p *Process) late(ctx context.Context, awaited string, begun time.Time) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return &Late{Process: p.number, Awaited: awaited, Within: time.Since(begun).Round(time.Millisecond)}
}

// failure is the error of calls after the process has ended.
func (p *Process) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause != nil {
		return p.cause
	}
	return &Died{Process: p.number, State: p.State(), Said: p.said, BeforeReady: !p.ready}
}

// Stop lets the process end in order, and waits for its end with status 0, for StopTimeout by default. It kills a process that
// does not end in time.
func (p *Process) Stop(ctx context.Context) error {
	ctx, cancel := bound(ctx, StopTimeout)
	defer cancel()
	line, err := protocol.Request{Kind: protocol.KindStop}.Line()
	if err != nil {
		return err
	}
	_ = p.Write(ctx, line) // its end tells more than an error of writing
	return p.EndInput(ctx)
}

// EndInput ends the process's standard input, as the death of this program does, and waits as Stop does.
func (p *Process) EndInput(ctx context.Context) error {
	ctx, cancel := bound(ctx, StopTimeout)
	defer cancel()
	select {
	case p.writing <- struct{}{}:
		_ = p.in.Close()
		<-p.writing
	case <-ctx.Done():
	case <-p.over:
	}
	_, err := await(ctx, p, (chan struct{})(nil), "end with status 0 after its standard input had ended")
	var died *Died
	switch {
	case errors.As(err, &died) && died.State != nil && died.State.Success():
		return nil
	case errors.As(err, &died):
		return err
	}
	p.Kill()
	return err
}

// Write writes bytes to the process as they are, for those that speak to it in unusual ways. A wait for the process to read has
// the bound of ctx, or AnswerTimeout.
func (p *Process) Write(ctx context.Context, text []byte) error {
	ctx, cancel := bound(ctx, AnswerTimeout)
	defer cancel()
	begun := time.Now()
	const awaited = "reading of its standard input"
	select {
	case p.writing <- struct{}{}:
		defer func() { <-p.writing }()
	case <-p.over:
		return p.failure()
	case <-ctx.Done():
		return p.late(ctx, awaited, begun)
	}
	_ = p.in.SetWriteDeadline(time.Time{})
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = p.in.SetWriteDeadline(time.Unix(1, 0))
		close(ended)
	})
	n, err := p.in.Write(text)
	if !stop() {
		<-ended // else it would end the next write
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		if n > 0 { // nobody can write after half a message
			p.end(p.late(ctx, awaited, begun))
		}
		return p.late(ctx, awaited, begun)
	}
	return p.inputEnded(ctx, err)
}

// inputEnded is the error of writing to a process that reads no more, which has usually ended.
func (p *Process) inputEnded(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	select {
	case <-p.over:
		return p.failure()
	case <-ctx.Done():
		return &Misbehaviour{
			About: "input", Expected: "a process that reads its standard input", Came: err.Error(),
			Advice: "leave standard input open until the process ends",
		}
	}
}

// end kills the process, and gives waiting calls an error that says why.
func (p *Process) end(cause error) {
	p.mu.Lock()
	if p.cause == nil {
		p.cause = cause
	}
	p.mu.Unlock()
	p.Kill()
}
