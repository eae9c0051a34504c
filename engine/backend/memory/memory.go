package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
	"pulley/engine/plan"
)

// ErrClosed is the error of a call on a closed backend.
var ErrClosed = errors.New("the backend is closed; open another one")

// Options configure a backend. The zero value is one shard, the system's clock and random jitter.
type Options struct {
	// Shards is the number of shards of a new store; at most zero means one. Open ignores it.
	Shards int

	// Clock returns the store's time, which must not go backwards; nil means time.Now.
	Clock func() time.Time

	// Jitter returns a number in [0,1) for the wait before a retry; nil means a random one. It is called once for every attempt
	// that ends.
	Jitter func() float64

	// Crash is called at the points that Points lists; its error ends the call there. It may be nil. It is called with the store
	// locked and must not call the backend.
	Crash func(point string) error
}

// Backend is one process's view of a store. It is safe for concurrent use.
type Backend struct {
	store  *store
	clock  func() time.Time
	jitter func() float64
	crash  func(point string) error // may be nil
	core   func(*plan.Program) core // the planner; tests replace it

	closing sync.Once
	closed  chan struct{}
}

// core is the deciding part of a program; a *plan.Program except in a few tests.
type core interface {
	state.Core
	Start(input json.RawMessage) (plan.Plan, error)
}

var (
	_ backend.Backend  = (*Backend)(nil)
	_ backend.Listener = (*Backend)(nil)
	_ backend.Canceler = (*Backend)(nil)
)

// New makes an empty store and a backend on it.
func New(opts Options) *Backend {
	b := open(nil, opts)
	b.store = newStore(max(opts.Shards, 1), b.clock())
	return b
}

// Open returns another backend on the same store, with its own clock, jitter and crashes. It works after Close, too.
func (b *Backend) Open(opts Options) *Backend {
	return open(b.store, opts)
}

func open(s *store, opts Options) *Backend {
	b := &Backend{
		store:  s,
		clock:  opts.Clock,
		jitter: opts.Jitter,
		crash:  opts.Crash,
		core:   func(p *plan.Program) core { return p },
		closed: make(chan struct{}),
	}
	if b.clock == nil {
		b.clock = time.Now
	}
	if b.jitter == nil {
		b.jitter = rand.Float64
	}
	return b
}

// Shards implements backend.Backend.
func (b *Backend) Shards() int { return len(b.store.shards) }

// Close closes this backend; the store and other backends on it stay. It may be repeated.
func (b *Backend) Close() {
	b.closing.Do(func() { close(b.closed) })
}

func (b *Backend) run(ctx context.Context, op operation, body func(*tx) (backend.Committed, error)) (backend.Committed, error) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return backend.Committed{}, fmt.Errorf("memory: %s: %w", op, err)
	}
	t := b.begin(op)
	committed := false
	defer func() {
		if !committed { // failed or panicking
			t.abort()
		}
	}()
	out, err := t.attempt(body)
	if err != nil {
		return backend.Committed{}, fmt.Errorf("memory: %s: %w", op, err)
	}
	committed = true
	t.commit()
	t.outlook(&out)
	if err := t.at(pointCommitted); err != nil {
		return backend.Committed{}, fmt.Errorf("memory: %s: %w: %w", op, backend.ErrUnknown, err)
	}
	return out, nil
}

func (b *Backend) usable(ctx context.Context) error {
	select {
	case <-b.closed:
		return ErrClosed
	default:
		return ctx.Err()
	}
}

// OrdersByPriority implements backend.Prioritizer.
func (b *Backend) OrdersByPriority() {}
