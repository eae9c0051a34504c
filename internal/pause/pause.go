// Package pause waits.
package pause

import (
	"context"
	"iter"
	"time"
)

// For returns when a time is over, and gives the cause where ctx ends before. No time is over at once.
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

// Ticks yields again and again, a time apart, until ctx ends. Ticks that pass while what was begun with one goes on are left out.
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

// Tries yields at once, and from then on as Ticks does.
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
