package engine

import (
	"context"
	"sync"
	"time"
)

// actionContext is the context of one action. Most actions end before anybody looks at theirs: it makes a real one,
// which takes memory and a channel, when somebody does.
type actionContext struct {
	parent context.Context // which does not end

	mu    sync.Mutex
	real  context.Context // nil: nobody asked yet
	stop  context.CancelCauseFunc
	ended bool
	cause error // why it ended; nil: the action has returned
}

// cancel ends the context, once.
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

// why gives the cause of the end; nil: there was none, or the action has returned.
func (c *actionContext) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// build gives the real context.
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

// Deadline gives that of Start's context: none.
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

// Value looks for a value. It asks the real context, by whose own values package context finds the cause, and ties
// to it what is derived from this one.
func (c *actionContext) Value(key any) any { return c.build().Value(key) }
