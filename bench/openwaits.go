package bench

import (
	"context"
	"fmt"
	"time"

	"pulley/bench/load"
	"pulley/bench/measure"
)

// waitsEvery is the pause between samples of what the store's sessions wait for. A sample takes about a millisecond of one session,
// so that all cost a hundredth of a processor.
const waitsEvery = 100 * time.Millisecond

// watchWaits samples the store's sessions in the background until the arrivals end. The returned function waits for the last sample
// and returns what they waited for; nil without a server. Samples that fail are a note, not a fault of the run: the load does not
// depend on them.
func (r *openRunning) watchWaits(clock load.Clock) func() *load.Waits {
	if !r.bed.spec.NeedsPostgres() {
		return func() *load.Waits { return nil }
	}
	waits := load.NewWaits(waitsEvery, r.span, r.end)
	ctx, stop := context.WithTimeout(r.ctx, r.end-clock.Now())
	ended := make(chan error, 1)
	go func() { ended <- r.sampleWaits(ctx, clock, waits) }()
	return func() *load.Waits {
		stop()
		if err := <-ended; err != nil {
			r.notes = append(r.notes, fmt.Sprintf("what the store's sessions waited for is known only in part: %v", err))
		}
		return waits
	}
}

func (r *openRunning) sampleWaits(ctx context.Context, clock load.Clock, waits *load.Waits) error {
	sampler, prefix := r.bed.runner.sampler, application
	if r.bed.fleet != nil {
		dsn, err := r.bed.fleet.Database()
		if err != nil {
			return err
		}
		if sampler, err = measure.NewActivitySampler(ctx, dsn); err != nil {
			return err
		}
		defer sampler.Close() //nolint:errcheck // its session ends either way
		prefix = ""
	}
	began := time.Now().Add(-clock.Now())
	return sampler.WatchEvents(context.WithoutCancel(ctx), prefix, waitsEvery,
		func(l measure.Look) { waits.Add(l.At.Sub(began), l.Took, l.Sessions) },
		func() error { <-ctx.Done(); return nil })
}
