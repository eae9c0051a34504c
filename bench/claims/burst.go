package claims

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/bench/claim"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

// burstSource leaves four queued node runs, a barrier's counter, and values when it is cancelled.
const burstSource = `fn nap(input: [x], output: [x]):
    sleep x

fn main(input: [x], output: [all]):
    all = parallel:
        nap(x=x)
        nap(x=x)
        nap(x=x)
        nap(x=x)
`

const (
	burstInFlight = 200
	burstLook     = 25 * time.Millisecond // between checks that all is removed
)

// Others should not slow down while many instances are cancelled.
func goalBurst(ctx context.Context, l *lab) ([]claim.Claim, error) {
	const size = 10
	canceled := l.pick(1000, 10_000)
	window := time.Duration(l.pick(300, 3000)) * time.Millisecond
	c := claim.Claim{
		ID: "burst", Source: sourceGoals, Text: fmt.Sprintf("A burst of %s canceled instances is cleaned up without a dent in others' throughput.", claim.Number(float64(canceled))),
		Method: fmt.Sprintf("chains of %d, %d in flight, on an engine that holds %s instances with four sleeping branches each; these are canceled by one call. "+
			"Node runs a second from that call until nothing of the canceled is left, divided by the mean of those of the %v before and of the %v after, in the same run; longer where fewer than %d node runs ended in that time. "+
			"Without a dent means 0.9 at least.", size, burstInFlight, claim.Number(float64(canceled)), window, window, burstLeast),
	}
	for _, name := range []string{push, "eager"} {
		var ratios, cancelMS, seconds []float64
		for run := range l.runs {
			got, err := l.burstOnce(ctx, name, size, canceled, window)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			ratios = append(ratios, 2*got.during/(got.before+got.after))
			cancelMS, seconds = append(cancelMS, float64(got.canceling)/float64(time.Millisecond)), append(seconds, got.cleaning.Seconds())
			l.printf("run %d of %d: %s: %.0f nodes/s before, %.0f during %v (canceling took %v), %.0f after", run+1, l.runs, name, got.before, got.during,
				got.cleaning.Round(time.Millisecond), got.canceling.Round(time.Millisecond), got.after)
		}
		c.Figures = append(c.Figures,
			claim.Figure{Name: "nodes/s during the cleanup / before and after, " + name, Unit: "×", Bound: claim.AtLeast, Claimed: 0.9}.Measure(ratios),
			claim.Figure{Name: "the call that cancels, " + name, Unit: "ms"}.Measure(cancelMS),
			claim.Figure{Name: "from that call until nothing is left, " + name, Unit: "s"}.Measure(seconds))
	}
	return []claim.Claim{c}, nil
}

// burstLeast is of how many node runs a rate is measured at least: a machine that is busy elsewhere completes none in a short window.
const burstLeast = 10

type burst struct {
	before, during, after float64
	canceling, cleaning   time.Duration
}

func (l *lab) burstOnce(ctx context.Context, name string, size, canceled int, window time.Duration) (got burst, err error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	load, err := newWorkload("chain", size)
	if err != nil {
		return got, err
	}
	pause, err := plan.CompileText("burst.ir", []byte(burstSource), ir.Limits{})
	if err != nil {
		return got, err
	}
	conn, err := pgx.Connect(ctx, l.cfg.DSN)
	if err != nil {
		return got, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "SET enable_seqscan = off"); err != nil { // keeps the check cheap
		return got, err
	}
	s, err := newStage(ctx, l.cfg.DSN, name, engine.Config{Slots: 2000, Prefetch: 2000, Lease: time.Minute, Sweep: time.Second})
	if err != nil {
		return got, err
	}
	defer s.close(ctx)
	ids, err := s.submitAll(ctx, pause, []byte(`{"x": 3600}`), canceled)
	if err != nil {
		return got, err
	}
	loaded := s.load(ctx, load, burstInFlight)
	err = func() (err error) {
		if _, err = s.rate(ctx, window/2); err != nil {
			return err
		}
		if got.before, err = s.rateOf(ctx, window, burstLeast); err != nil {
			return err
		}
		from, applied := time.Now(), s.applied.Load()
		if err = s.cancelAll(ctx, ids); err != nil {
			return err
		}
		got.canceling = time.Since(from)
		if err = s.untilClean(ctx, conn); err != nil {
			return err
		}
		got.cleaning = time.Since(from)
		got.during = float64(s.applied.Load()-applied) / got.cleaning.Seconds()
		got.after, err = s.rateOf(ctx, window, burstLeast)
		return err
	}()
	return got, errors.Join(err, loaded())
}

func (s *stage) submitAll(ctx context.Context, p *plan.Program, input []byte, count int) ([]uuid.UUID, error) {
	reqs := make([]engine.SubmitRequest, count)
	for i := range reqs {
		reqs[i] = engine.SubmitRequest{Program: p, Input: input}
	}
	return s.engine.SubmitAll(ctx, reqs)
}

func (s *stage) cancelAll(ctx context.Context, ids []uuid.UUID) error {
	found, err := s.backend.(backend.Canceler).Cancel(ctx, ids, "a burst")
	if err != nil {
		return err
	}
	for _, in := range found {
		if in.Status != backend.Canceled {
			return fmt.Errorf("instance %s, which was to be canceled, is %s", in.ID, in.Status)
		}
	}
	return nil
}

// load runs until stop, which returns what was wrong.
func (s *stage) load(ctx context.Context, w workload, inFlight int) (stop func() error) {
	var over atomic.Bool
	var wg sync.WaitGroup
	errs := make([]error, inFlight)
	for i := range errs {
		wg.Go(func() {
			for errs[i] == nil && !over.Load() {
				errs[i] = s.run(ctx, w)
			}
		})
	}
	return func() error {
		over.Store(true)
		wg.Wait()
		return errors.Join(errs...)
	}
}

func (s *stage) rate(ctx context.Context, length time.Duration) (float64, error) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	from, applied := time.Now(), s.applied.Load()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	return float64(s.applied.Load()-applied) / time.Since(from).Seconds(), nil
}

func (s *stage) untilClean(ctx context.Context, conn *pgx.Conn) error {
	tick := time.NewTicker(burstLook)
	defer tick.Stop()
	sql := "SELECT EXISTS (SELECT FROM " + pgx.Identifier{s.schema, "instances"}.Sanitize() + " WHERE needs_cleanup)"
	for {
		var left bool
		if err := conn.QueryRow(ctx, sql).Scan(&left); err != nil || !left {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
