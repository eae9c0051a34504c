package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/bench/measure"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

// Plant is a fault of known size in every run, to test what compares runs. The zero value is none.
type Plant struct {
	// Slowdown has the engines' process burn extra processor time: 0.1 is a tenth of what the run uses otherwise, the server's
	// included. With one instance in flight, it is a tenth of the elapsed time.
	Slowdown float64
	// RowsPerNode are additional rows read per node run. Backends without a server read none.
	RowsPerNode int
}

func (p Plant) validate() error {
	if !(p.Slowdown >= 0 && p.Slowdown <= 10) || p.RowsPerNode < 0 || p.RowsPerNode > 100 {
		return fmt.Errorf("compare: a planted slowdown of %v and %d rows; choose from 0 to 10, and from 0 to 100", p.Slowdown, p.RowsPerNode)
	}
	return nil
}

func (p Plant) warnings() []string {
	if p == (Plant{}) {
		return nil
	}
	return []string{fmt.Sprintf("planted in every run: a slowdown by %v, %d extra rows read per node", p.Slowdown, p.RowsPerNode)}
}

const plantTable = "planted"

func (p Plant) table(ctx context.Context, open designs.OpenOptions, nodeRuns int) error {
	return p.exec(ctx, open, fmt.Sprintf("CREATE TABLE %s AS SELECT i FROM generate_series(1, %d) i", pgx.Identifier{open.Schema, plantTable}.Sanitize(), nodeRuns*p.RowsPerNode))
}

func (p Plant) read(ctx context.Context, open designs.OpenOptions) error {
	return p.exec(ctx, open, "SELECT count(*) FROM "+pgx.Identifier{open.Schema, plantTable}.Sanitize())
}

func (p Plant) exec(ctx context.Context, open designs.OpenOptions, statement string) error {
	if p.RowsPerNode == 0 || open.DSN == "" {
		return nil
	}
	cfg, err := pgx.ParseConfig(open.DSN)
	if err != nil {
		return err
	}
	cfg.RuntimeParams["application_name"] = open.Application
	cfg.RuntimeParams["max_parallel_workers_per_gather"] = "0"
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("planting rows: %w", err)
	}
	return nil
}

// payEvery is how often a slowed run burns what is due: asking costs a fraction of a millisecond.
const payEvery = 10 * time.Millisecond

// Nil does nothing.
type slowed struct {
	share      float64
	wall       bool // the share is of elapsed time
	processors measure.Processors

	mu    sync.Mutex
	began time.Time
	used  measure.Used
	last  time.Time
	burnt time.Duration
}

func (p Plant) slow(processors measure.Processors, inFlight int) *slowed {
	if p.Slowdown == 0 {
		return nil
	}
	return &slowed{share: p.Slowdown, wall: inFlight == 1, processors: processors}
}

// begin is called before the first action, with what was used by then.
func (s *slowed) begin(before measure.Used) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began, s.used = time.Now(), before
	s.last = s.began
}

// executor pays before each action.
func (s *slowed) executor(e worker.Executor) worker.Executor {
	if s == nil {
		return e
	}
	return slowedExecutor{e, s}
}

// pay burns what is due, including the cost of asking.
func (s *slowed) pay(force bool) {
	if s == nil || !s.mu.TryLock() {
		return // another goroutine pays
	}
	defer s.mu.Unlock()
	if !force && time.Since(s.last) < payEvery {
		return
	}
	own := measure.StartBurning()
	defer own.Stop()
	due := time.Duration(s.share*float64(s.work())) - s.burnt
	own.Burn(due)
	s.burnt += own.Burnt()
	s.last = time.Now()
}

func (s *slowed) work() time.Duration {
	if s.wall {
		return time.Since(s.began) - s.burnt
	}
	cpu := s.processors.Read().Since(s.used)
	if cpu == nil {
		return 0
	}
	used := time.Duration(cpu.ProcessNS)
	if cpu.ServerNS != nil {
		used += time.Duration(*cpu.ServerNS)
	}
	return used - s.burnt
}

type slowedExecutor struct {
	worker.Executor
	slowed *slowed
}

func (e slowedExecutor) Execute(ctx context.Context, task backend.Task) (json.RawMessage, *plan.Failure) {
	e.slowed.pay(false)
	return e.Executor.Execute(ctx, task)
}
