package process

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/pause"
)

// edges kills its own process at a statement edge, the begin or end of a statement, batch, copy or preparation. It also reports
// deadlocks.
type edges struct {
	source     string
	left       atomic.Int64
	deadlocked func()
}

var (
	_ pgx.QueryTracer    = (*edges)(nil)
	_ pgx.BatchTracer    = (*edges)(nil)
	_ pgx.CopyFromTracer = (*edges)(nil)
	_ pgx.PrepareTracer  = (*edges)(nil)

	_ pgxpool.AcquireTracer = (*edges)(nil)
)

func (e *edges) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	return ctx
}

// TraceAcquireEnd implements pgxpool.AcquireTracer: it tells the wire what the connection is used for.
func (e *edges) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, got pgxpool.TraceAcquireEndData) {
	if got.Err != nil || got.Conn == nil {
		return
	}
	mark := connUseOf(ctx)
	mark.Source = e.source
	_ = mark.Send(got.Conn.PgConn().Conn()) // the connection's user notices its loss
}

// arm makes the k-th edge from now the last one; zero: none.
func (e *edges) arm(k int) { e.left.Store(int64(k)) }

func (e *edges) pass() {
	if e.left.Load() > 0 && e.left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until the signal arrives
	}
}

const deadlockDetected = "40P01"

func (e *edges) failed(err error) {
	var failed *pgconn.PgError
	if errors.As(err, &failed) && failed.Code == deadlockDetected {
		e.deadlocked()
	}
}

func (e *edges) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	e.pass()
	return ctx
}

func (e *edges) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	e.failed(data.Err)
	e.pass()
}

func (e *edges) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	e.pass()
	return ctx
}

func (e *edges) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	e.failed(data.Err)
	e.pass()
}

func (e *edges) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) { e.pass() }

func (e *edges) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	e.pass()
	return ctx
}

func (e *edges) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) { e.pass() }

func (e *edges) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	e.pass()
	return ctx
}

func (e *edges) TracePrepareEnd(context.Context, *pgx.Conn, pgx.TracePrepareEndData) { e.pass() }

type slowness struct {
	worker.Executor
	onSlowed func() // called when it did
	delay    atomic.Int64
}

func (s *slowness) set(d time.Duration) { s.delay.Store(int64(d)) }

func (s *slowness) Execute(ctx context.Context, t backend.Task) (json.RawMessage, *plan.Failure) {
	if d := time.Duration(s.delay.Load()); d > 0 {
		s.onSlowed()
		_ = pause.For(ctx, d) // the action notices by itself that ctx has ended
	}
	return s.Executor.Execute(ctx, t)
}

// clock is an engine's clock, which can be wrong.
type clock struct {
	onRead func() // called at the first reading after a jump
	ahead  atomic.Int64
	fresh  atomic.Bool // not read since the jump
	jumped atomic.Bool // once or more
}

func (c *clock) jump(ahead time.Duration) {
	if c.ahead.Swap(int64(ahead)) != int64(ahead) && ahead != 0 {
		c.fresh.Store(true)
		c.jumped.Store(true)
	}
}

func (c *clock) now() time.Time {
	if c.fresh.CompareAndSwap(true, false) {
		c.onRead()
	}
	return time.Now().Add(time.Duration(c.ahead.Load()))
}

// repeats reorders completions and offers some of them again after a later call.
type repeats struct {
	Store
	onRepeated func() // called when the store has answered a repetition

	mu       sync.Mutex
	rand     *rand.Rand
	percent  int
	recorded map[int][]backend.Completion // by shard: to be offered again
}

const repeatMax = 32

func newRepeats(s Store, seed uint64, told func()) *repeats {
	return &repeats{Store: s, onRepeated: told, rand: rand.New(rand.NewPCG(seed, 0x2e9ea7)), recorded: map[int][]backend.Completion{}}
}

func (r *repeats) set(percent int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.percent = percent
	clear(r.recorded)
}

// draw decides for a call the order of its completions, nil if unchanged, and what is offered again.
func (r *repeats) draw(shard, n int) (order []int, again []backend.Completion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.percent == 0 || r.rand.IntN(100) >= r.percent {
		return nil, nil
	}
	again = r.recorded[shard]
	delete(r.recorded, shard)
	return r.rand.Perm(n), again
}

func (r *repeats) record(shard int, completions []backend.Completion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.percent > 0 {
		kept := append(r.recorded[shard], completions...)
		r.recorded[shard] = kept[max(0, len(kept)-repeatMax):]
	}
}

func (r *repeats) Complete(ctx context.Context, shard int, completions []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	order, again := r.draw(shard, len(completions))
	if order == nil {
		out, err := r.Store.Complete(ctx, shard, completions, grant)
		if err == nil {
			r.record(shard, completions)
		}
		return out, err
	}
	shuffled := make([]backend.Completion, len(order))
	for to, from := range order {
		shuffled[to] = completions[from]
	}
	out, err := r.Store.Complete(ctx, shard, shuffled, grant)
	if err == nil {
		answers := make([]backend.Outcome, len(order))
		for to, from := range order {
			answers[from] = out.Outcomes[to]
		}
		out.Outcomes = answers
		r.record(shard, completions)
	}
	r.offerAgain(ctx, shard, again, grant)
	return out, err
}

// offerAgain repeats answered completions. The answer goes only into the history.
func (r *repeats) offerAgain(ctx context.Context, shard int, again []backend.Completion, grant backend.Grant) {
	if len(again) == 0 {
		return
	}
	grant.Max = 0
	if _, err := r.Store.Complete(ctx, shard, again, grant); err == nil {
		r.onRepeated()
	}
}
