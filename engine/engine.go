package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/plan"
)

// Errors of an engine's methods.
var (
	ErrNotRunning = errors.New("the engine is not running; call Start first, and nothing after Stop")
	ErrStarted    = errors.New("the engine was started or stopped before; make a new one with New")
)

// Engine runs workflow instances that a backend stores. It is used once: New, Start, Stop. Its methods are safe for concurrent
// use.
type Engine struct {
	cfg     Config
	machine *dispatch.Machine // only used by the loop
	waits   *waits
	share   string // names the engine in limits: its owner, and what no other engine has

	// Inputs of the loop, unbuffered. Only notified has one place, which means "at least once".
	events   *eventQueue
	submits  chan *submission
	forgets  chan dispatch.Ticket
	ends     chan backend.Instance
	notified chan struct{}
	wakes    chan struct{} // a signal may have come; one place
	freed    chan struct{} // an instance has ended, so that a limit may have a place; one place
	drains   chan time.Time
	tickets  atomic.Uint64

	idle      atomic.Bool  // the machine is, after its last step
	unlooked  atomic.Int32 // goroutines of repeat that have not finished a turn
	unbounded atomic.Bool  // the last turn with limits found none of instances
	programs  programCache

	work          context.Context // for actions and calls: Start's values, without an end
	background    context.Context
	endBackground context.CancelFunc
	running       sync.WaitGroup // all goroutines except the loop's and the pool's
	pool          *pool

	scheduling    context.Context // new turns with schedules begin until it ends
	endScheduling context.CancelFunc

	mu      sync.Mutex
	begun   bool // Start or Stop was called
	started bool
	err     error
	done    chan struct{}
}

// New makes an engine; nothing runs before Start. The error lists every field of cfg that is out of bounds.
func New(cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	machine, err := dispatch.New(cfg.dispatch())
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	e := &Engine{
		cfg:      cfg,
		machine:  machine,
		waits:    newWaits(),
		share:    cfg.Owner + " " + uuid.NewString(),
		events:   newEventQueue(),
		submits:  make(chan *submission),
		forgets:  make(chan dispatch.Ticket),
		ends:     make(chan backend.Instance),
		notified: make(chan struct{}, 1),
		wakes:    make(chan struct{}, 1),
		freed:    make(chan struct{}, 1),
		drains:   make(chan time.Time),
		done:     make(chan struct{}),
	}
	e.pool = newPool(e.begin)
	return e, nil
}

// Start starts the engine in the background. When ctx ends, the engine stops as with Stop, and Err returns the cause. A second
// Start fails with ErrStarted.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.begun {
		return ErrStarted
	}
	e.begun, e.started = true, true
	// The end of ctx does not cut work off; Drain bounds it.
	e.work = context.WithoutCancel(ctx)
	e.background, e.endBackground = context.WithCancel(e.work)
	if l, ok := e.cfg.Backend.(backend.Listener); ok {
		e.running.Go(func() { e.listen(l) })
	}
	e.running.Go(e.pollWaits)
	e.scheduling, e.endScheduling = context.WithCancel(e.background)
	if e.cfg.Schedules {
		e.repeat(e.scheduleTurns())
	}
	if e.cfg.Retention > 0 {
		e.repeat(e.retentionTurns())
	}
	if e.cfg.Signals {
		e.repeat(e.signalTurns())
	}
	go e.run(ctx)
	return nil
}

func (e *Engine) run(ctx context.Context) {
	l := newLoop(ctx, e)
	l.run()
	e.endBackground()
	e.pool.close()
	e.running.Wait()
	if l.cut {
		e.mu.Lock()
		e.err = fmt.Errorf("engine: stopped: %w", context.Cause(ctx))
		e.mu.Unlock()
	}
	close(e.done)
}

// Stop takes no more work, returns the tasks that have not started, and waits for running ones: for Drain, or less if ctx ends
// earlier. Then it cancels them, and commits what is complete. If ctx ends first, Stop returns an error, and Done tells when
// the rest has ended. Stop may be called twice, or before Start.
func (e *Engine) Stop(ctx context.Context) error {
	e.mu.Lock()
	if !e.begun {
		e.begun = true
		close(e.done)
	}
	e.mu.Unlock()
	e.drain(e.drainUntil(ctx))
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
	}
	e.drain(e.cfg.now())
	select {
	case <-e.done:
		return nil
	default:
		return fmt.Errorf("engine: still stopping, actions or calls of the backend have not returned: %w", context.Cause(ctx))
	}
}

// drainUntil leaves part of ctx's time for what follows the drain.
func (e *Engine) drainUntil(ctx context.Context) time.Time {
	drain := e.cfg.Drain
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		drain = min(drain, left-min(left/4, time.Second))
	}
	return e.cfg.now().Add(drain)
}

func (e *Engine) drain(until time.Time) {
	e.mu.Lock()
	started := e.started
	e.mu.Unlock()
	if !started {
		return
	}
	select {
	case e.drains <- until:
	case <-e.background.Done():
	}
}

// Idle reports that the engine has looked for work everywhere, found none, and has nothing left to store. It does not count actions that
// run or wait for permits, nor what becomes due later. It is false before the first looks are answered.
func (e *Engine) Idle() bool { return e.idle.Load() && e.unlooked.Load() == 0 }

// Done is closed when the engine has stopped and none of its goroutines runs.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Err returns why the engine stopped: nil before Done, and after a Stop.
func (e *Engine) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

func (e *Engine) alive() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.started || e.background.Err() != nil {
		return ErrNotRunning
	}
	return nil
}

type programCache struct {
	mu   sync.Mutex
	seen map[*plan.Program]bool
}

const programsKept = 256

func (c *programCache) checked(p *plan.Program, check func() error) error {
	c.mu.Lock()
	seen := c.seen[p]
	c.mu.Unlock()
	if seen {
		return nil
	}
	if err := check(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil || len(c.seen) >= programsKept {
		c.seen = map[*plan.Program]bool{}
	}
	c.seen[p] = true
	return nil
}
