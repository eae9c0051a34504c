package claims

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/bench/claim"
	"pulley/engine"
)

const journalName = "journal"

type step struct {
	time     time.Duration
	walBytes int64
}

func stepOf(ctx context.Context, conn *pgx.Conn, work func() error) (step, error) {
	before, err := walBytes(ctx, conn)
	if err != nil {
		return step{}, err
	}
	from := time.Now()
	if err := work(); err != nil {
		return step{}, err
	}
	took := time.Since(from)
	after, err := walBytes(ctx, conn)
	return step{took, after - before}, err
}

func goalDrop(ctx context.Context, l *lab) ([]claim.Claim, error) {
	const size, inFlight = 100, 200
	instances := l.pick(100, 1000)
	var dropTime, dropWAL, vacuumTime, vacuumWAL []float64
	for run := range l.runs {
		appended, dropped, vacuumed, err := l.dropOnce(ctx, size, instances, inFlight)
		if err != nil {
			return nil, err
		}
		part := func(s step) (time, wal float64) {
			return float64(s.time) / float64(appended.time), float64(s.walBytes) / float64(appended.walBytes)
		}
		t, w := part(dropped)
		dropTime, dropWAL = append(dropTime, t), append(dropWAL, w)
		t, w = part(vacuumed)
		vacuumTime, vacuumWAL = append(vacuumTime, t), append(vacuumWAL, w)
		l.printf("run %d of %d: %d fan-outs of %d: run %v, %d B; dropped %v, %d B; vacuumed %v, %d B", run+1, l.runs, instances, size,
			appended.time, appended.walBytes, dropped.time, dropped.walBytes, vacuumed.time, vacuumed.walBytes)
	}
	return []claim.Claim{{
		ID: "drop", Source: sourceGoals, Text: "The journal drops the events of ended instances for less than half of what it takes to have them, in time and in WAL.",
		Method: fmt.Sprintf("%s fan-outs of %d, %d in flight, from the first submission to the last result; then Sweep until nothing is left to drop, then VACUUM of the table; each divided by the first. "+
			"Both have the same events, so the ratios are those for an event. No sweep and no autovacuum comes in between.", claim.Number(float64(instances)), size, inFlight),
		Figures: []claim.Figure{
			claim.Figure{Name: "time to drop an event / to run its node", Unit: "×", Bound: claim.AtMost, Claimed: 0.5}.Measure(dropTime),
			claim.Figure{Name: "WAL to drop an event / to run its node", Unit: "×", Bound: claim.AtMost, Claimed: 0.5}.Measure(dropWAL),
			claim.Figure{Name: "time to vacuum it / to run its node", Unit: "×"}.Measure(vacuumTime),
			claim.Figure{Name: "WAL to vacuum it / to run its node", Unit: "×"}.Measure(vacuumWAL),
		},
	}}, nil
}

func (l *lab) dropOnce(ctx context.Context, size, instances, inFlight int) (appended, dropped, vacuumed step, err error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	load, err := newWorkload("fanout", size)
	if err != nil {
		return appended, dropped, vacuumed, err
	}
	conn, err := pgx.Connect(ctx, l.cfg.DSN)
	if err != nil {
		return appended, dropped, vacuumed, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	s, err := newStage(ctx, l.cfg.DSN, journalName, engine.Config{Slots: 2000, Prefetch: 100_000, Lease: time.Minute, Sweep: 24 * time.Hour})
	if err != nil {
		return appended, dropped, vacuumed, err
	}
	defer s.close(ctx)
	events := pgx.Identifier{s.schema, "events"}.Sanitize()
	if _, err = conn.Exec(ctx, "ALTER TABLE "+events+" SET (autovacuum_enabled = off)"); err != nil {
		return appended, dropped, vacuumed, err
	}
	if appended, err = stepOf(ctx, conn, func() error { return s.runAll(ctx, load, instances, inFlight) }); err != nil {
		return appended, dropped, vacuumed, err
	}
	rows := 0
	if dropped, err = stepOf(ctx, conn, func() (err error) { rows, err = s.clear(ctx); return err }); err != nil {
		return appended, dropped, vacuumed, err
	}
	// The completion that ends an instance has no event.
	if want := instances * (load.Nodes - 1); rows != want {
		return appended, dropped, vacuumed, fmt.Errorf("%d events were dropped, not %d", rows, want)
	}
	vacuumed, err = stepOf(ctx, conn, func() error {
		_, err := conn.Exec(ctx, "VACUUM "+events)
		return err
	})
	return appended, dropped, vacuumed, err
}

func (s *stage) runAll(ctx context.Context, w workload, instances, inFlight int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, min(instances, inFlight))
	for i := range errs {
		wg.Go(func() {
			for errs[i] == nil && next.Add(1) <= int64(instances) {
				errs[i] = s.run(ctx, w)
			}
			if errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if got, want := int(s.applied.Load()), instances*w.Nodes; got != want {
		return fmt.Errorf("%d node runs were applied, not %d", got, want)
	}
	return nil
}
