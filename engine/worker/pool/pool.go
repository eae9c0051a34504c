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

// The failure types that this package gives beside those of package worker.
const (
	TypeWorkerDied = "WorkerDied" // workers died with the attempt, as often as may be
	TypeStart      = "StartError" // no worker can be started
)

var errClosed = errors.New("the pool of workers is closed")

// Pool runs attempts in workers. Its methods are safe for concurrent use.
type Pool struct {
	config  Config
	program string   // its file
	argv    []string // with what sets the limits before it
	keeper  *procgroup.Supervisor

	tickets chan struct{} // one for each attempt in the pool
	retry   chan struct{} // has room for one: an attempt has come while the pool had given up

	alive   context.Context // its end has the workers killed
	kill    context.CancelFunc
	open    context.Context // its end has them finish what they have
	shut    context.CancelFunc
	slots   sync.WaitGroup
	greeted chan struct{} // closed when first is set

	mu      sync.Mutex
	desk    desk
	first   *protocol.Greeting // that the first worker gave
	gaveUp  int                // processes that are not started any more
	broken  error              // why no worker can be started; nil while one may be
	changed chan struct{}      // closed and replaced when broken changes
	started bool
	closed  bool
}

// New makes a pool; Start begins its workers, in groups of the keeper, which must live until Close has returned.
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

// Start starts the workers, and waits until the first has said what it can do. It fails if none does, with what they wrote at the
// last, and when ctx ends; the caller closes the pool even so.
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

// Actions are those that the first worker said it knows, in its order, ready to be registered. There are none before Start.
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

// Waiting is how many attempts wait for a worker.
func (p *Pool) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.desk.waiting.Len() + p.desk.last.Len()
}

// AtWork is how many attempts workers have.
func (p *Pool) AtWork() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.desk.slots {
		n += len(s.work)
	}
	return n
}

// Kill kills a worker that has attempts, as if it had died by itself, and says whether there was one. It is for who wants to see what
// comes of that.
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

// Func gives an action that workers of the pool run. Name is what they call it, whatever the workflow does.
func (p *Pool) Func(name string) worker.Func {
	return func(ctx context.Context, call worker.Call) (any, error) { return p.run(ctx, name, call) }
}

// run runs an attempt.
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
		a.deaths = min(a.deaths, p.config.MaxDeliveries-1) // it is delivered once at least
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
		default: // somebody has asked for it already
		}
		return p.broken
	}
	p.desk.add(a, time.Now())
	return nil
}

// cancel takes an attempt back, and returns when no worker has it any more: it was answered, or its worker killed.
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
	<-a.end // comes when the worker has ended
}

// answered passes on what a worker answered.
func (p *Pool) answered(s *slot, id string, o outcome) {
	p.mu.Lock()
	known := p.desk.answer(s, id, o, time.Now())
	p.mu.Unlock()
	if !known {
		s.owner.abandonAttempt(id)
	}
}

// greet takes a worker's hello. It refuses a worker that does not know all that the first one did.
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

// Close lets no attempt in any more, lets workers finish what they have until ctx ends, and ends them. Attempts that are not
// finished fail. No worker is left when it returns. Closing twice is safe.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.desk.fail(errClosed)
	p.mu.Unlock()
	p.shut()
	stop := context.AfterFunc(ctx, p.kill)
	defer stop()
	p.slots.Wait() // soon after kill, since SIGKILL ends every process
	p.kill()
	if ctx.Err() != nil {
		return fmt.Errorf("%s: workers had to be killed: %w", p.config.Name, context.Cause(ctx))
	}
	return nil
}
