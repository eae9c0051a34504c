package claims

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pulley/bench/claim"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/limit"
)

// limiting is what an engine has to do with limits.
type limiting struct {
	name    string
	keeps   bool                               // engine.Config.Limits
	set     func(actions []string) limit.Limit // of the workload's actions; nil: none
	claimed float64                            // of the rate without limits, at least; zero: nothing
}

var limitings = []limiting{
	{name: "limits off"},
	{name: "no limit", keeps: true, claimed: 0.97},
	{name: "a limit of others", keeps: true, claimed: 0.97, set: func([]string) limit.Limit {
		return limit.Limit{Name: "others", Actions: []string{"another"}, Concurrency: 7, Rate: limit.Rate{Starts: 100, Per: time.Second}}
	}},
	{name: "a limit that is never reached", keeps: true, set: func(actions []string) limit.Limit { // which counts each attempt
		return limit.Limit{Name: "wide", Actions: actions, Concurrency: limit.ConcurrencyMax}
	}},
}

const limitsInFlight = 500

// What no limit bounds should not be slower for the limits of others.
func goalLimits(ctx context.Context, l *lab) ([]claim.Claim, error) {
	const size = 10
	window := time.Duration(l.pick(300, 3000)) * time.Millisecond
	c := claim.Claim{
		ID: "limits", Source: sourceGoals, Text: "Engines that keep limits are as fast as others, for what no limit bounds.",
		Method: fmt.Sprintf("chains of %d, %d in flight, for %v after %v of warming up, on an engine and a schema of its own for each: without limits (Config.Limits is false), and with them: with none set, with one of "+
			"another action, with one of the chain's actions that is never reached. They take turns, in alternating order; each ratio is of one round. As fast means 0.97 at least.", size, limitsInFlight, window, window/2),
	}
	for _, name := range pushed() {
		rates := map[string][]float64{}
		for run := range l.runs {
			order := slices.Clone(limitings)
			if run%2 == 1 {
				slices.Reverse(order)
			}
			for _, how := range order {
				rate, err := l.limitedOnce(ctx, name, size, how, window)
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", name, how.name, err)
				}
				rates[how.name] = append(rates[how.name], rate)
				l.printf("run %d of %d: %s, %s: %.0f nodes/s", run+1, l.runs, name, how.name, rate)
			}
		}
		for _, how := range limitings[1:] {
			bound := claim.AtLeast
			if how.claimed == 0 {
				bound = claim.Alongside
			}
			c.Figures = append(c.Figures, ratio("nodes/s, "+how.name+" / limits off, "+name, rates[how.name], rates[limitings[0].name], bound, how.claimed))
		}
	}
	return []claim.Claim{c}, nil
}

func (l *lab) limitedOnce(ctx context.Context, name string, size int, how limiting, window time.Duration) (rate float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	load, err := newWorkload("chain", size)
	if err != nil {
		return 0, err
	}
	s, err := newStage(ctx, l.cfg.DSN, name, engine.Config{Slots: 2000, Prefetch: 2000, Limits: how.keeps})
	if err != nil {
		return 0, err
	}
	defer s.close(ctx)
	if how.set != nil {
		if err := s.backend.(backend.Limiter).SetLimit(ctx, how.set(load.Graph.Actions())); err != nil {
			return 0, err
		}
	}
	loaded := s.load(ctx, load, limitsInFlight)
	if _, err = s.rate(ctx, window/2); err == nil {
		rate, err = s.rateOf(ctx, window, limitsInFlight)
	}
	return rate, errors.Join(err, loaded())
}

// rateOf is the rate over as many windows as it takes for so many node runs to be applied.
func (s *stage) rateOf(ctx context.Context, window time.Duration, least int64) (float64, error) {
	from, applied := time.Now(), s.applied.Load()
	for s.applied.Load()-applied < least {
		if _, err := s.rate(ctx, window); err != nil {
			return 0, err
		}
	}
	return float64(s.applied.Load()-applied) / time.Since(from).Seconds(), nil
}
