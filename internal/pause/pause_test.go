package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pulley/internal/pause"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("called")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Hour, func() { cancel(cause) })
		begun := time.Now()
		for _, c := range []struct {
			d, since time.Duration // the wait, and the time since its beginning
			err      error
		}{{0, 0, nil}, {-time.Hour, 0, nil}, {time.Minute, time.Minute, nil}, {2 * time.Hour, time.Hour, cause}} {
			if err := pause.For(ctx, c.d); !errors.Is(err, c.err) || time.Since(begun) != c.since {
				t.Errorf("%v ended after %v with %v; want %v and %v", c.d, time.Since(begun), err, c.since, c.err)
			}
		}
	})
}
