// Package pause waits.
package pause

import (
	"context"
	"iter"
	"time"
)

// For waits for d, or returns the cause if ctx ends before. A zero or negative d returns at once.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Ticks yields at intervals until ctx ends. It drops ticks that occur during the loop body.
func Ticks(ctx context.Context, every time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				if !yield(now) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// Tries yields at once, and then as Ticks does.
func Tries(ctx context.Context, every time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		if !yield(time.Now()) {
			return
		}
		for now := range Ticks(ctx, every) {
			if !yield(now) {
				return
			}
		}
	}
}
