package adapter

import (
	"context"
	"errors"
	"time"

	"pulley/internal/pause"
)

const (
	persistPauseLeast = 20 * time.Millisecond
	persistPauseMost  = time.Second
)

// Persist calls do until it succeeds, with pauses between that grow from 20 ms to a second: under faults, a store is away for a
// while. Each call has that long, since a connection that was cut off may never answer. problem receives every error; nil: nobody
// does. Persist fails when ctx ends, with the last error. What do does may be repeated.
func Persist(ctx context.Context, within time.Duration, problem func(error), do func(context.Context) error) error {
	for wait := persistPauseLeast; ; wait = min(2*wait, persistPauseMost) {
		trying, cancel := context.WithTimeout(ctx, within)
		err := do(trying)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		if problem != nil {
			problem(err)
		}
		_ = pause.For(ctx, wait) // the next call fails with an ended ctx
	}
}
