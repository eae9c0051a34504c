package process

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"pulley/engine/backend"
	"pulley/engine/oracle"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

// orderingStore is an engine's store with its limits, priorities and turns. The designs that have one have all.
type orderingStore struct {
	Store
	*permits
}

// OrdersByPriority implements backend.Prioritizer.
func (orderingStore) OrdersByPriority() {}

// TakesTurns implements backend.TurnTaker.
func (orderingStore) TakesTurns() {}

// overlappingStore is that of a design whose commits may overlap.
type overlappingStore struct{ orderingStore }

// OverlapsCommits implements backend.Overlapper.
func (overlappingStore) OverlapsCommits() {}

// permits are a store's limits. It tells until when a turn of the engine has renewed its permits.
type permits struct {
	backend.Limiter
	lease time.Duration
	say   func(Message)
	begun atomic.Int64 // the turn; an engine takes one at a time
}

func (p *permits) Limits(ctx context.Context) ([]backend.StoredLimit, time.Time, error) {
	p.begun.Store(oracle.MachineClock())
	return p.Limiter.Limits(ctx)
}

func (p *permits) SaveLimits(ctx context.Context, saves []backend.LimitSave) ([]bool, error) {
	begun := p.begun.Load()
	saved, err := p.Limiter.SaveLimits(ctx, saves)
	if err == nil && slices.Contains(saved, true) {
		p.say(Message{Say: SayPermitted, AtNS: begun, UntilNS: begun + int64(p.lease)})
	}
	return saved, err
}

// executions tells when actions begin and end.
type executions struct {
	worker.Executor
	clock *clock
	say   func(Message)
	count atomic.Int64
}

func (x *executions) Execute(ctx context.Context, t backend.Task) (json.RawMessage, *plan.Failure) {
	n := int(x.count.Add(1))
	x.say(Message{Say: SayActionBegan, N: n, AtNS: oracle.MachineClock(), Wrong: x.clock.jumped.Load()})
	defer func() { x.say(Message{Say: SayActionEnded, N: n, AtNS: oracle.MachineClock()}) }()
	return x.Executor.Execute(ctx, t)
}
