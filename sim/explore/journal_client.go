package explore

import (
	"context"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/journal"
	"pulley/engine/dispatch"
	"pulley/engine/graph"
)

// journalClient is a journal.Backend in a process: the real code, on a simulated host. Each call of it is a thread.
type journalClient struct {
	p    *process
	host *journalHost
	b    *journal.Backend
	over context.CancelFunc
	life context.Context
}

// listenPause is between two tries to listen.
const listenPause = 10 * time.Millisecond

// callLeases is how many leases long a call may take.
const callLeases = 2

func (s *journalStore) client(p *process) client {
	s.backends++
	h := &journalHost{p: p, s: s, name: string(rune('a'+p.index)) + time.Duration(s.backends).String()}
	c := &journalClient{p: p, host: h}
	b, err := journal.On(journal.Host{Store: h, Pool: h, Clock: h, Leased: c.leased}, journal.Config{
		Jitter: s.w.rng.Float64, Lease: time.Duration(us(s.w.LeaseUS)), Park: time.Duration(us(s.w.ParkUS)),
	})
	if err != nil {
		s.w.violate("the case", "%v", err)
		return c
	}
	c.b = b
	c.life, c.over = context.WithCancel(context.Background())
	if s.w.Engines > 1 {
		p.begins(c.listen)
	}
	return c
}

// listen is the engine's part of listening.
func (c *journalClient) listen() {
	for c.life.Err() == nil {
		_ = c.b.Listen(c.life, func() { c.p.tell(dispatch.Woken{}) })
		c.host.Wait(c.life, listenPause)
		c.p.tell(dispatch.Woken{}) // something may have been missed
	}
}

// leased is told of leases in memory.
func (c *journalClient) leased(id uuid.UUID, run graph.Run, token int64, attempt int) {
	c.p.w.judge.granted(c.p.w, c.p.w.instanceOf(id), run, token, attempt)
}

// call makes a call, as the engine does: within a bounded time.
func (c *journalClient) call(do func(ctx context.Context)) {
	c.p.begins(func() {
		ctx, cancel := c.host.Within(c.life, time.Duration(us(callLeases*c.p.w.LeaseUS)))
		defer cancel()
		do(ctx)
	})
}

func (c *journalClient) submit(subs []backend.Submission, grant backend.Grant, k func(backend.Committed, error)) {
	c.call(func(ctx context.Context) { k(c.b.Submit(ctx, subs, grant)) })
}

func (c *journalClient) claim(shard int, grant backend.Grant, k func(backend.Committed, error)) {
	c.call(func(ctx context.Context) { k(c.b.Claim(ctx, shard, grant)) })
}

func (c *journalClient) complete(shard int, completions []backend.Completion, grant backend.Grant, k func(backend.Committed, error)) {
	c.call(func(ctx context.Context) { k(c.b.Complete(ctx, shard, completions, grant)) })
}

func (c *journalClient) extend(shard int, leases []backend.Lease, grant backend.Grant, k func([]bool, error)) {
	c.call(func(ctx context.Context) { k(c.b.Extend(ctx, shard, leases, grant)) })
}

func (c *journalClient) sweep(shard int, k func(backend.Swept, error)) {
	c.call(func(ctx context.Context) { k(c.b.Sweep(ctx, shard)) })
}

func (c *journalClient) notify(k func(error)) {
	c.call(func(ctx context.Context) { k(c.b.Notify(ctx)) })
}

func (c *journalClient) cancel(inst *instance, k func(error)) {
	c.call(func(ctx context.Context) {
		_, err := c.b.Cancel(ctx, []uuid.UUID{inst.id}, "a client wants it")
		k(err)
	})
}

// close is the end of the engine's life and Backend.Close.
func (c *journalClient) close(k func()) {
	c.p.begins(func() {
		c.over()
		c.b.Close()
		k()
	})
}
