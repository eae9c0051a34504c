package dispatch_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/limit"
)

// Permits that cannot be renewed for a lease end: what runs on them is cancelled and returned, though its own lease is renewed.
func TestPermitsEnd(t *testing.T) {
	const lease = 3 * time.Second
	m, err := dispatch.New(dispatch.Config{
		Owner: "a", Shards: 1, Slots: 4, Batch: 16, BatchBytes: 1 << 20, Committers: 1, Pending: 1, Queue: 1, MaxDeliveries: 3,
		Lease: lease, Poll: time.Hour, Sweep: 24 * time.Hour, LimitTurn: 100 * time.Millisecond, RetryMin: 100 * time.Millisecond, RetryMax: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Unix(1000, 0)
	now := begin
	one := backend.LimitGrant{Limit: limit.Limit{Name: "l", Actions: []string{"a"}, Concurrency: 1}, Grant: limit.Grant{Permits: 1, Engines: 1}, Taken: true}
	found := backend.Task{Lease: backend.Lease{Key: backend.Key{Instance: uuid.New()}, Token: 1}, Action: "a", Attempt: 1, Deliveries: 1, Expires: begin.Add(lease)}
	claimed, granted := false, 0
	var started, cancelled, returned time.Duration
	var handle func(events ...dispatch.Event)
	handle = func(events ...dispatch.Event) {
		var answers []dispatch.Event
		for _, command := range m.Step(now, events...) {
			switch c := command.(type) {
			case dispatch.Call:
				reply := dispatch.Reply{Call: c.ID}
				switch {
				case c.Op == dispatch.OpClaim && !claimed:
					claimed, reply.Committed.Tasks = true, []backend.Task{found}
				case c.Op == dispatch.OpRenew && c.Grant.Lease == 0:
					returned, reply.Held = now.Sub(begin), []bool{true}
				case c.Op == dispatch.OpRenew:
					reply.Held = []bool{true}
				case c.Op == dispatch.OpLimits && granted < 2: // without needs, and for the task
					granted++
					reply.Limits = backend.LimitTurn{Limits: []backend.LimitGrant{one}, Asked: now, Answered: now, Now: now}
				case c.Op == dispatch.OpLimits:
					reply.Err = errors.New("no connection")
				}
				answers = append(answers, reply)
			case *dispatch.Start:
				started = now.Sub(begin)
			case dispatch.Cancel:
				if !errors.Is(c.Cause, dispatch.ErrPermitLost) {
					t.Errorf("cancelled: %v", c.Cause)
				}
				cancelled = now.Sub(begin)
			}
		}
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		if len(answers) > 0 {
			handle(answers...)
		}
	}
	for ; now.Sub(begin) < 2*lease; now = now.Add(50 * time.Millisecond) {
		handle()
	}
	if started > time.Second || cancelled < lease || cancelled > lease+started+time.Second || returned != cancelled {
		t.Errorf("started after %v, cancelled after %v, returned after %v; the permit ends %v after its turn", started, cancelled, returned, lease)
	}
}
