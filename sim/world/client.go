package world

import (
	"context"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
)

// Backend is a design whose real code runs on a simulated host.
type Backend interface {
	backend.Backend
	backend.Listener
	backend.Canceler
}

// Client calls a design's real code in a process. Each call is a thread.
type Client struct {
	p             *Process
	host          *Host
	b             Backend
	endBackground context.CancelFunc
	background    context.Context
}

// The bounds of the pause before listening, or a failed call, is retried. The pause doubles with each failure in a row.
const (
	retryMin = 2 * time.Millisecond
	retryMax = 100 * time.Millisecond
)

// callLeases bounds a call's duration, in leases.
const callLeases = 2

func (h *Host) run(b Backend) *Client {
	c := &Client{p: h.Process, host: h, b: b}
	c.background, c.endBackground = context.WithCancel(context.Background())
	if h.Process.World.Engines > 1 {
		h.Process.begins(c.listen)
	}
	return c
}

// listen listens until the client is closed, as the engine does.
func (c *Client) listen() {
	pause := retryMin
	for c.background.Err() == nil {
		begun := c.host.Now()
		_ = c.b.Listen(c.background, func() { c.p.queueEvent(dispatch.Notified{}) })
		if c.host.Now().Sub(begun) > retryMax {
			pause = retryMin // listening had worked for a while
		}
		c.host.Wait(c.background, pause)
		pause = min(2*pause, retryMax)
		c.p.queueEvent(dispatch.Notified{}) // a notification may have been missed
	}
}

// call makes a call with a bounded duration, as the engine does.
func (c *Client) call(do func(ctx context.Context)) {
	c.p.begins(func() {
		ctx := c.p.within(c.background, NS(callLeases*c.p.World.LeaseUS))
		defer ctx.cancel()
		do(ctx)
	})
}

func (c *Client) submit(subs []backend.Submission, grant backend.Grant, k func(backend.Committed, error)) {
	c.call(func(ctx context.Context) { k(c.b.Submit(ctx, subs, grant)) })
}

func (c *Client) claim(shard int, grant backend.Grant, k func(backend.Committed, error)) {
	c.call(func(ctx context.Context) { k(c.b.Claim(ctx, shard, grant)) })
}

func (c *Client) complete(shard int, completions []backend.Completion, grant backend.Grant, k func(backend.Committed, error)) {
	c.call(func(ctx context.Context) { k(c.b.Complete(ctx, shard, completions, grant)) })
}

func (c *Client) renew(shard int, leases []backend.Lease, grant backend.Grant, k func([]bool, error)) {
	c.call(func(ctx context.Context) { k(c.b.Renew(ctx, shard, leases, grant)) })
}

func (c *Client) sweep(shard int, k func(backend.Swept, error)) {
	c.call(func(ctx context.Context) { k(c.b.Sweep(ctx, shard)) })
}

func (c *Client) notify(k func(error)) {
	c.call(func(ctx context.Context) { k(c.b.Notify(ctx)) })
}

func (c *Client) cancel(inst *Instance, k func(error)) {
	c.call(func(ctx context.Context) {
		_, err := c.b.Cancel(ctx, []uuid.UUID{inst.ID}, "a client wants it")
		k(err)
	})
}

func (c *Client) close(k func()) {
	c.p.begins(func() {
		c.endBackground()
		c.b.Close()
		k()
	})
}
