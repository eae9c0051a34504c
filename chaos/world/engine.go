package world

import (
	"context"
	_ "embed"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/chaos/hosts"
	"pulley/chaos/process"
	"pulley/engine/oracle"
	"pulley/internal/pause"
)

//go:embed sql/sessions.sql
var sessionsSQL string

// engineHost is the place of one engine: a wire and the current process. It implements fault.Engine.
type engineHost struct {
	index         int
	kase          cases.Case
	launch        process.Launcher
	host          *hosts.Host
	wire          *fault.Wire
	onLine        func(engine int, source string, line []byte) process.Word
	lost          func(engine int, source string)
	record        func(...oracle.Event)
	admin         func(context.Context) (*pgx.Conn, error)
	background    context.Context // of the work after a process's end
	endBackground context.CancelFunc

	mu         sync.Mutex
	current    *run
	runs       int
	ordersDone int
	unasked    []string
	past       sync.WaitGroup
}

// run is a process of the place.
type run struct {
	*process.Process
	expected bool // its end was requested; under the host's lock
}

func (h *engineHost) Start(ctx context.Context) error {
	h.mu.Lock()
	h.runs++
	s := process.Setup{Case: h.kase.ForEngines(), DSN: h.wire.DSN(), Index: h.index, Source: fmt.Sprintf("engine %d.%d", h.index, h.runs)}
	h.mu.Unlock()
	h.wire.Starting(true)
	defer h.wire.Starting(false)
	p, err := process.Start(ctx, h.launch, s, h.handleLine, func(p *process.Process) {
		h.mu.Lock()
		defer h.mu.Unlock()
		current := &run{Process: p}
		h.current = current
		h.past.Go(func() { h.ended(current) })
	})
	if err != nil {
		return err
	}
	select {
	case <-p.Ready():
		return nil
	case <-p.Exited():
		return fmt.Errorf("engine %d did not start: %w: %s", h.index, p.Err(), p.Complaint())
	case <-ctx.Done():
		return fmt.Errorf("engine %d did not start in time: %w", h.index, context.Cause(ctx))
	}
}

// ended waits for the end of a process and notes an unexpected one.
func (h *engineHost) ended(p *run) {
	<-p.Exited()
	p.Finish()
	h.mu.Lock()
	defer h.mu.Unlock()
	var started bool
	select {
	case <-p.Ready():
		started = true
	default:
	}
	if started && !p.expected {
		h.unasked = append(h.unasked, fmt.Sprintf("the process of %s ended by itself: %v: %s", p.Source(), p.Err(), p.Complaint()))
	}
	h.lost(h.index, p.Source())
	h.past.Go(func() { h.forget(p) })
}

const exitTimeout = 20 * time.Second

// forget waits until the server has no session of an ended process and records that. If it cannot be seen, it is not recorded,
// and the process's last calls may be executed at any time.
func (h *engineHost) forget(p *run) {
	ctx, cancel := context.WithTimeout(h.background, exitTimeout)
	defer cancel()
	for ctx.Err() == nil {
		if n, err := h.sessions(ctx, p.Source()); err == nil && n == 0 {
			h.record(oracle.Event{Kind: oracle.SessionsClosed, Process: p.Source()})
			return
		}
		_ = pause.For(ctx, 20*time.Millisecond)
	}
}

func (h *engineHost) sessions(ctx context.Context, source string) (n int, err error) {
	conn, err := h.admin(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return n, conn.QueryRow(ctx, sessionsSQL, process.Application(source)).Scan(&n)
}

func (h *engineHost) use(c cases.Case) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kase = c
}

func (h *engineHost) handleLine(p *process.Process, line []byte) {
	if h.onLine(h.index, p.Source(), line) == process.SayMisbehaved {
		h.mu.Lock()
		h.ordersDone++
		h.mu.Unlock()
	}
}

func (h *engineHost) process() *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current
}

// expect notes that the current process is about to be ended.
func (h *engineHost) expect() *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current != nil {
		h.current.expected = true
	}
	return h.current
}

func (h *engineHost) Signal(s syscall.Signal) error {
	p := h.process()
	if s == syscall.SIGKILL {
		p = h.expectKill()
	}
	if err := p.Signal(s); err != nil {
		return fmt.Errorf("signal %v to %s: %w", s, p.Source(), err)
	}
	return nil
}

func (h *engineHost) expectKill() *run {
	p := h.expect()
	h.record(oracle.Event{Kind: oracle.Killed, Process: p.Source()})
	return p
}

func (h *engineHost) Exited() <-chan struct{} { return h.process().Exited() }

func (h *engineHost) Stop(ctx context.Context) error {
	p := h.expect()
	p.Finish()
	select {
	case <-p.Exited():
	case <-ctx.Done():
		return fmt.Errorf("%s has not stopped: %w", p.Source(), context.Cause(ctx))
	}
	if p.Err() != nil {
		return fmt.Errorf("%s stopped with %w: %s", p.Source(), p.Err(), p.Complaint())
	}
	return nil
}

func (h *engineHost) Order(o fault.Order) error {
	p := h.process()
	if o.Die > 0 {
		p = h.expect()
	}
	return p.Send(process.Order{Fault: &o})
}

func (h *engineHost) OrdersDone() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ordersDone
}

func (h *engineHost) close() {
	if p := h.expect(); p != nil {
		_ = p.Signal(syscall.SIGKILL)
		<-p.Exited()
	}
	h.endBackground()
	h.past.Wait()
	h.wire.Close()
}
