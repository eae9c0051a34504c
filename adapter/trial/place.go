package trial

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"pulley/adapter/host"
	"pulley/adapter/judge"
	"pulley/adapter/protocol"
	"pulley/chaos/fault"
)

// place is where one process of the adapter runs at a time: its number, its wire and its current incarnation. It implements
// fault.Engine.
type place struct {
	number int
	run    *run
	world  *world
	wire   *fault.Wire
	setup  host.Setup

	mu      sync.Mutex
	current *incarnation
	past    sync.WaitGroup
}

// incarnation is one process of a place.
type incarnation struct {
	*host.Process
	expected bool // its end was asked for; under the place's lock
	open     bool // it works
}

// Start implements fault.Engine.
func (p *place) Start(ctx context.Context) error { return p.begin(ctx, false) }

// begin starts a process, and returns when it works.
func (p *place) begin(ctx context.Context, create bool) error {
	p.wire.Starting(true)
	defer p.wire.Starting(false)
	p.mu.Lock()
	p.run.history.incarnate(p.number)
	started, err := p.world.host.Start(p.number)
	if err != nil {
		p.mu.Unlock()
		return err
	}
	in := &incarnation{Process: started}
	p.current = in
	p.past.Go(func() { p.noteEnd(in) })
	p.mu.Unlock()
	hello, err := in.Hello(ctx)
	if err != nil {
		return err
	}
	setup := p.setup
	setup.Create = create
	if setup.Settings, err = p.run.greet(hello); err != nil {
		return err
	}
	if err := in.Setup(ctx, setup); err != nil {
		return err
	}
	p.run.promise(in.Promises())
	if err := in.Open(ctx, p.run.Slots, protocol.ReportTasks); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	in.open = true
	p.run.history.note(judge.Entry{Kind: judge.Opened, Process: p.number})
	return nil
}

// noteEnd waits for the end of a process and notes one that nobody asked for.
func (p *place) noteEnd(in *incarnation) {
	<-in.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	in.open = false
	if !in.expected {
		p.run.history.note(judge.Entry{Kind: judge.Died, Process: p.number, Message: fmt.Sprint(in.State())})
	}
}

// expect notes that the current process is about to be ended, and returns it; nil: there was none yet.
func (p *place) expect() *incarnation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		p.current.expected = true
	}
	return p.current
}

// working returns the current process if it works; nil: it does not.
func (p *place) working() *incarnation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil || !p.current.open {
		return nil
	}
	return p.current
}

// wait returns when no process of the place is left.
func (p *place) wait() { p.past.Wait() }

var errNoProcess = errors.New("the process was never started")

// Signal implements fault.Engine.
func (p *place) Signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		return errNoProcess
	}
	switch s {
	case syscall.SIGKILL:
		select {
		case <-p.current.Done():
			return nil
		default:
		}
		if !p.current.expected {
			p.run.history.note(judge.Entry{Kind: judge.Killed, Process: p.number})
		}
		p.current.expected, p.current.open = true, false
		p.current.Kill()
	case syscall.SIGSTOP:
		p.current.Pause()
	case syscall.SIGCONT:
		p.current.Continue()
	default:
		return fmt.Errorf("the signal %v has no meaning for an adapter", s)
	}
	return nil
}

// Exited implements fault.Engine.
func (p *place) Exited() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current.Done()
}

// Stop implements fault.Engine.
func (p *place) Stop(ctx context.Context) error {
	in := p.expect()
	if in == nil {
		return errNoProcess
	}
	p.mu.Lock()
	in.open = false
	p.mu.Unlock()
	return in.Stop(ctx)
}

// errNoOrders is the answer to an order.
var errNoOrders = errors.New("an adapter follows no orders")

// Order implements fault.Engine.
func (p *place) Order(fault.Order) error { return errNoOrders }

// OrdersDone implements fault.Engine.
func (p *place) OrdersDone() int { return 0 }
