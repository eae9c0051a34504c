package claims

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/bench/claim"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/postgres/journal"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

// The held instances sleep for longer than any run, or wait for a worker that never comes.
const (
	asleepSource  = "fn main(input: [x], output: [x]):\n    sleep x\n"
	waitingSource = "fn main(input: [x], output: [x]):\n    x = @add(a=x, b=1)\n"
)

const (
	asleepChunk = 10_000
	asleepTime  = 10 * time.Minute
)

func goalAsleep(ctx context.Context, l *lab) ([]claim.Claim, error) {
	instances := l.pick(5_000, 1_000_000)
	c := claim.Claim{
		ID: "asleep", Source: sourceGoals, Text: fmt.Sprintf("Each of %s instances that sleep, or wait for a worker, takes little in the engine and in the database.", claim.Number(float64(instances))),
		Method: "instances of one sleep, or of one action for which no slot ever becomes free, submitted by tens of thousands. In the engine: how much more of the heap is in use, after a collection, " +
			"than before the first; of the journal once those that sleep have left memory. In the database: the tables and indexes of the schema. One run.",
	}
	for _, name := range pushed() {
		for _, kind := range []struct {
			name, source string
			engine, disk float64 // bytes
		}{
			{"sleeps", asleepSource, 320, 800},
			{"waits", waitingSource, 1000, 800},
		} {
			inEngine, inDatabase, err := l.hold(ctx, name, kind.source, instances)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			l.printf("%s: an instance that %s: %.0f B in the engine, %.0f B in the database", name, kind.name, inEngine, inDatabase)
			what := fmt.Sprintf(", for an instance that %s, %s", kind.name, name)
			c.Figures = append(c.Figures,
				claim.Figure{Name: "in the engine" + what, Unit: "B", Bound: claim.AtMost, Claimed: kind.engine}.Measure([]float64{inEngine}),
				claim.Figure{Name: "in the database" + what, Unit: "B", Bound: claim.AtMost, Claimed: kind.disk}.Measure([]float64{inDatabase}))
		}
	}
	return []claim.Claim{c}, nil
}

func (l *lab) hold(ctx context.Context, name, source string, instances int) (inEngine, inDatabase float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, asleepTime)
	defer cancel()
	program, err := plan.CompileText("asleep.ir", []byte(source), ir.Limits{})
	if err != nil {
		return 0, 0, err
	}
	conn, err := pgx.Connect(ctx, l.cfg.DSN)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	s, err := newStage(ctx, l.cfg.DSN, name, engine.Config{Workers: never{}, Slots: 1, Prefetch: -1, Lease: time.Hour, Poll: time.Second, Drain: -1, Grace: -1})
	if err != nil {
		return 0, 0, err
	}
	defer s.close(ctx)
	before := heapBytes()
	input := []byte(`{"x": 1000000}`)
	for left := instances; left > 0; left -= asleepChunk {
		if _, err := s.submitAll(ctx, program, input, min(left, asleepChunk)); err != nil {
			return 0, 0, err
		}
	}
	if source == asleepSource {
		if err := s.evicted(ctx); err != nil {
			return 0, 0, err
		}
	}
	inEngine = float64(heapBytes()-before) / float64(instances)
	var bytes int64
	err = conn.QueryRow(ctx, query("schema_bytes"), s.schema).Scan(&bytes)
	return inEngine, float64(bytes) / float64(instances), err
}

func heapBytes() int64 {
	runtime.GC()
	runtime.GC() // the second run frees pooled objects
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func (s *stage) evicted(ctx context.Context) error {
	j, ok := s.backend.(*journal.Backend)
	if !ok {
		return nil
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		stats, err := j.Stats(ctx)
		if err != nil || stats.Instances == 0 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// never blocks in actions until they are cancelled.
type never struct{}

func (never) Execute(ctx context.Context, task backend.Task) (json.RawMessage, *plan.Failure) {
	<-ctx.Done()
	return nil, &plan.Failure{Type: "Stopped", Message: "it was asked to return", Action: task.Action}
}

func (never) Check(*graph.Graph) error { return nil }
