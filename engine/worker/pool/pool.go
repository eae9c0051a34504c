package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"pulley/engine/worker"
	"pulley/engine/worker/procgroup"
	"pulley/engine/worker/protocol"
)

// The failure types of this package, in addition to those of package worker.
const (
	TypeWorkerDied = "WorkerDied" // workers died with the attempt, up to the bound
	TypeStart      = "StartError"
)

var errClosed = errors.New("the pool of workers is closed")

// Pool runs attempts in workers. Its methods are safe for concurrent use.
type Pool struct {
	config  Config
	program string
	argv    []string // with the command that sets limits
	keeper  *procgroup.Supervisor

	tickets chan struct{} // one per attempt in the pool
	retry   chan struct{} // capacity 1: an attempt came while the pool had given up

	alive   context.Context // its end kills the workers
	kill    context.CancelFunc
	open    context.Context // its end lets them finish
	shut    context.CancelFunc
	slots   sync.WaitGroup
	greeted chan struct{} // closed when first is set

	mu      sync.Mutex
	desk    desk
	first   *protocol.Greeting
	gaveUp  int           // processes that are not started any more
	broken  error         // why no worker can be started; nil while one may be
	changed chan struct{} // closed and replaced when broken changes
	started bool
	closed  bool
}

// New makes a pool; Start starts its workers, in groups of the supervisor, which must outlive Close.
func New(c Config, keeper *procgroup.Supervisor) (*Pool, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	program, err := procgroup.Find(c.Command[0], c.Dir)
	if err != nil {
		return nil, err
	}
	argv, err := c.Limits.Command(append([]string{program}, c.Command[1:]...))
	if err != nil {
		return nil, err
	}
	p := &Pool{
		config: c, program: program, argv: argv, keeper: keeper,
		tickets: make(chan struct{}, c.AtOnce), retry: make(chan struct{}, 1),
		greeted: make(chan struct{}), changed: make(chan struct{}), desk: desk{maxDeliveries: c.MaxDeliveries},
	}
	p.alive, p.kill = context.WithCancel(context.Background())
	p.open, p.shut = context.WithCancel(p.alive)
	return p, nil
}

// Start starts the workers, and waits for the first greeting. It fails if there is none, with the last output, and when ctx
// ends; the caller must close the pool nevertheless.
func (p *Pool) Start(ctx context.Context) error {
	p.mu.Lock()
	if p.started || p.closed {
		p.mu.Unlock()
		return errors.New("the pool of workers was started, or closed, already")
	}
	p.started = true
	changed := p.changed
	for i := range p.config.Processes {
		p.slots.Go(func() { p.keepAlive(i + 1) })
	}
	p.mu.Unlock()
	select {
	case <-p.greeted:
		return nil
	case <-changed:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.broken // nil if one could be started just now
	case <-ctx.Done():
		return fmt.Errorf("%s: no worker has said hello yet: %w", p.config.Name, context.Cause(ctx))
	}
}

// Actions are those of the first worker's greeting, in order, ready to be registered; none before Start.
func (p *Pool) Actions() []worker.Action {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil {
		return nil
	}
	var actions []worker.Action
	for _, a := range p.first.Actions {
		action := worker.Action{Name: a.Name, Doc: a.Doc, Run: p.Func(a.Name)}
		if a.Args != nil && !a.Open && (a.Required == nil || len(a.Required) == len(a.Args)) {
			action.Args = slices.Clone(a.Args)
		}
		actions = append(actions, action)
	}
	return actions
}

// Waiting is the number of attempts that wait for a worker.
func (p *Pool) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.desk.waiting.Len() + p.desk.last.Len()
}

// AtWork is the number of attempts in workers.
func (p *Pool) AtWork() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.desk.slots {
		n += len(s.work)
	}
	return n
}

// Kill kills a worker that has attempts, as if it had died, and reports whether there was one. It is for tests.
func (p *Pool) Kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.desk.slots {
		if len(s.work) > 0 {
			s.owner.group.Kill()
			return true
		}
	}
	return false
}

// Func returns an action of the pool's workers. Name is their name for it.
func (p *Pool) Func(name string) worker.Func {
	return func(ctx context.Context, call worker.Call) (any, error) { return p.run(ctx, name, call) }
}

func (p *Pool) run(ctx context.Context, name string, call worker.Call) (any, error) {
	select {
	case p.tickets <- struct{}{}:
	case <-ctx.Done():
		return nil, worker.EndOf(ctx)
	}
	defer func() { <-p.tickets }()
	fields, err := protocol.Run{
		Action: name, Instance: call.Instance.String(), Node: call.Node, Path: string(call.Path),
		Attempt: call.Attempt, Key: call.Key(), Args: call.Args,
	}.Fields()
	if err != nil {
		return nil, fmt.Errorf("action %s: its arguments cannot be passed on: %w", name, err)
	}
	if len(fields)+protocol.RunOverhead > protocol.LineBytes {
		return nil, &worker.Error{Type: worker.TypeLimit, Message: fmt.Sprintf(
			"action %s: its arguments have %d bytes, and a worker takes lines of %d bytes at most", name, len(call.Args), protocol.LineBytes)}
	}
	a := &attempt{action: name, fields: fields, end: make(chan outcome, 1), deliveries: max(call.Delivery-1, 0)}
	if a.deaths = a.deliveries; p.config.MaxDeliveries > 0 {
		a.deaths = min(a.deaths, p.config.MaxDeliveries-1) // it is delivered at least once
	}
	a.deadline, _ = ctx.Deadline()
	if err := p.submit(a); err != nil {
		return nil, err
	}
	select {
	case o := <-a.end:
		if o.err != nil {
			return nil, o.err
		}
		return o.value, nil
	case <-ctx.Done():
		p.cancel(a)
		return nil, worker.EndOf(ctx)
	}
}

func (p *Pool) submit(a *attempt) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return errClosed
	case p.broken != nil:
		select {
		case p.retry <- struct{}{}:
		default:
		}
		return p.broken
	}
	p.desk.add(a, time.Now())
	return nil
}

// cancel cancels an attempt, and returns when no worker has it any more: it was answered, or its worker killed.
func (p *Pool) cancel(a *attempt) {
	p.mu.Lock()
	s := p.desk.cancel(a, outcome{}, time.Now())
	p.mu.Unlock()
	if s == nil {
		return
	}
	timer := time.NewTimer(p.config.Grace)
	defer timer.Stop()
	select {
	case <-a.end:
		return
	case <-timer.C:
	}
	s.owner.end(ending{why: fmt.Errorf("it did not answer within %v that action %s was cancelled", p.config.Grace, a.action), notAtFault: true})
	<-a.end
}

func (p *Pool) answered(s *slot, id string, o outcome) {
	p.mu.Lock()
	known := p.desk.answer(s, id, o, time.Now())
	p.mu.Unlock()
	if !known {
		s.owner.abandonAttempt(id)
	}
}

// greet rejects a worker that lacks an action of the first one.
func (p *Pool) greet(g *protocol.Greeting) error {
	if err := g.Check(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil {
		p.first = g
		close(p.greeted)
	}
	for _, a := range p.first.Actions {
		if !slices.ContainsFunc(g.Actions, func(b protocol.Action) bool { return a.Name == b.Name }) {
			return fmt.Errorf("it does not know action %s, which workers of this pool knew before", a.Name)
		}
	}
	if p.broken != nil {
		p.setBroken(nil)
	}
	return nil
}

// Close rejects new attempts, lets workers finish until ctx ends, and ends them. Unfinished attempts fail. No worker is left
// when it returns. Closing twice is safe.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.desk.fail(errClosed)
	p.mu.Unlock()
	p.shut()
	stop := context.AfterFunc(ctx, p.kill)
	defer stop()
	p.slots.Wait()
	p.kill()
	if ctx.Err() != nil {
		return fmt.Errorf("%s: workers had to be killed: %w", p.config.Name, context.Cause(ctx))
	}
	return nil
}
