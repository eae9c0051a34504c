package explore

import (
	"context"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
)

// hosted is a design whose real code stands on a simulated host.
type hosted interface {
	backend.Backend
	backend.Listener
	backend.Canceler
}

// hostClient is a design's real code in a process. Each call of it is a thread.
type hostClient struct {
	p    *process
	host *host
	b    hosted
	over context.CancelFunc
	life context.Context
}

// The pauses between two tries to listen, and between two of a call that failed: doubled for each in a row.
const (
	retryMin = 2 * time.Millisecond
	retryMax = 100 * time.Millisecond
)

// callLeases is how many leases long a call may take.
const callLeases = 2

// run begins a design's life in a process.
func (h *host) run(b hosted) *hostClient {
	c := &hostClient{p: h.p, host: h, b: b}
	c.life, c.over = context.WithCancel(context.Background())
	if h.p.w.Engines > 1 {
		h.p.begins(c.listen)
	}
	return c
}

// listen is the engine's part of listening.
func (c *hostClient) listen() {
	pause := retryMin
	for c.life.Err() == nil {
		begun := c.host.Now()
		_ = c.b.Listen(c.life, func() { c.p.tell(dispatch.Woken{}) })
		if c.host.Now().Sub(begun) > retryMax {
			pause = retryMin // it had worked for a while
		}
		c.host.Wait(c.life, pause)
		pause = min(2*pause, retryMax)
		c.p.tell(dispatch.Woken{}) // something may have been missed
	}
}

// call makes a call, as the engine does: within a bounded time.
func (c *hostClient) call(do func(ctx context.Context)) {
	c.p.begins(func() {
		ctx, cancel := c.host.Within(c.life, time.Duration(us(callLeases*c.p.w.LeaseUS)))
		defer cancel()
		do(ctx)
	})
}

func (c *hostClient) submit(subs []backend.Submission, grant backend.Grant, k func(backend.Committed, error)) {
	c.call(func(ctx context.Context) { k(c.b.Submit(ctx, subs, grant)) })
}

func (c *hostClient) claim(shard int, grant backend.Grant, k func(backend.Committed, error)) {
	c.call(func(ctx context.Context) { k(c.b.Claim(ctx, shard, grant)) })
}

func (c *hostClient) complete(shard int, completions []backend.Completion, grant backend.Grant, k func(backend.Committed, error)) {
	c.call(func(ctx context.Context) { k(c.b.Complete(ctx, shard, completions, grant)) })
}

func (c *hostClient) extend(shard int, leases []backend.Lease, grant backend.Grant, k func([]bool, error)) {
	c.call(func(ctx context.Context) { k(c.b.Extend(ctx, shard, leases, grant)) })
}

func (c *hostClient) sweep(shard int, k func(backend.Swept, error)) {
	c.call(func(ctx context.Context) { k(c.b.Sweep(ctx, shard)) })
}

func (c *hostClient) notify(k func(error)) {
	c.call(func(ctx context.Context) { k(c.b.Notify(ctx)) })
}

func (c *hostClient) cancel(inst *instance, k func(error)) {
	c.call(func(ctx context.Context) {
		_, err := c.b.Cancel(ctx, []uuid.UUID{inst.id}, "a client wants it")
		k(err)
	})
}

// close is the end of the engine's life and Backend.Close.
func (c *hostClient) close(k func()) {
	c.p.begins(func() {
		c.over()
		c.b.Close()
		k()
	})
}
