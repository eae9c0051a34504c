package chaos

import (
	"context"
	"time"

	"pulley/engine/oracle"
	"pulley/internal/pause"
)

// The knee is the rate beyond which more concurrent instances do not end sooner. It is searched in steps, each with twice as many
// concurrent instances.
const (
	kneeFirst  = 2               // concurrent instances for each engine
	kneeWarmUp = time.Second     // begin of a step, not counted
	kneeStep   = 3 * time.Second // rest of a step, counted
	kneeGain   = 1.1             // a step that gains less is the last
)

// knee searches it, in instances ended per second.
func (r *run) knee(ctx context.Context) float64 {
	best := 0.0
	for open := kneeFirst * r.Engines; ctx.Err() == nil; open *= 2 {
		r.load.setPace(min(open, r.InFlight), 0)
		_ = pause.For(ctx, kneeWarmUp)
		before, _ := r.load.count()
		begun := time.Now()
		_ = pause.For(ctx, kneeStep)
		after, _ := r.load.count()
		rate := float64(after-before) / time.Since(begun).Seconds()
		r.say("knee: %.1f instances/s with %d at once", rate, min(open, r.InFlight))
		last := rate < kneeGain*best || open >= r.InFlight
		if best = max(best, rate); last {
			break
		}
	}
	return best
}

// pacing begins the measured load: at the case's rate, or at its share of the knee.
func (r *run) pacing(ctx context.Context) {
	if share := r.KneeShare; share > 0 {
		knee := r.knee(ctx)
		r.RatePerS = max(rateLeastPerS, share*knee)
		r.result.KneePerS = knee
		r.say("load: %.1f instances/s, %.0f %% of the knee", r.RatePerS, 100*share)
		r.load.setPace(r.InFlight, r.RatePerS)
	}
	r.result.RatePerS = r.RatePerS
	r.steady = oracle.MachineClock()
}

// rateLeastPerS is a minimum rate, even on the slowest machine.
const rateLeastPerS = 0.5
