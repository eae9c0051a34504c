// Package pause waits.
package pause

import (
	"context"
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
