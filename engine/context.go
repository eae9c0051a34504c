package engine

import (
	"context"
	"sync"
	"time"
)

// actionContext is the context of one action. Most actions do not use it, so it makes a real context, which takes memory and a
// channel, only when it is used.
type actionContext struct {
	parent context.Context

	mu    sync.Mutex
	real  context.Context // nil: not used yet
	stop  context.CancelCauseFunc
	ended bool
	cause error // why it ended; nil: the action has returned
}

func (c *actionContext) cancel(cause error) {
	c.mu.Lock()
	stop := c.stop
	if c.ended {
		stop = nil
	} else {
		c.ended, c.cause = true, cause
	}
	c.mu.Unlock()
	if stop != nil {
		stop(cause)
	}
}

// why is nil if the context has not ended, or the action has returned.
func (c *actionContext) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

func (c *actionContext) build() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real == nil {
		c.real, c.stop = context.WithCancelCause(c.parent)
		if c.ended {
			c.stop(c.cause)
		}
	}
	return c.real
}

// Deadline is Start's context's: none.
func (c *actionContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done is closed when the context ends.
func (c *actionContext) Done() <-chan struct{} { return c.build().Done() }

// Err is context.Canceled once the context has ended.
func (c *actionContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return context.Canceled
	}
	return nil
}

// Value asks the real context: there package context finds the cause, and ties derived contexts to it.
func (c *actionContext) Value(key any) any { return c.build().Value(key) }
