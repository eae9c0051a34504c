package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"pulley/engine/backend"
)

const reasonBytes = 16 << 10

// Cancel ends a running instance as cancelled, with the reason in its failure. Its queued node runs never start, and its
// running ones change nothing any more. Their contexts are cancelled with dispatch.ErrInstanceEnded: here at once, in other
// engines at the next renewal, within a third of Config.Lease and two calls of the backend. An engine that cannot reach the
// store cancels them with dispatch.ErrLeaseLost when the lease expires.
//
// Cancel returns the instance as it is then. An instance that ended before is unchanged, so Cancel may be repeated. It fails
// with ErrUnknownInstance, or if the store does not answer: then call it again.
func (e *Engine) Cancel(ctx context.Context, id uuid.UUID, reason string) (backend.Instance, error) {
	if err := e.alive(); err != nil {
		return backend.Instance{}, err
	}
	c, ok := e.cfg.Backend.(backend.Canceler)
	switch {
	case !ok:
		return backend.Instance{}, fmt.Errorf("engine: instance %s: %w", id, ErrCannotCancel)
	case len(reason) > reasonBytes:
		return backend.Instance{}, fmt.Errorf("engine: instance %s: the reason has %d bytes, over the limit of %d; shorten it", id, len(reason), reasonBytes)
	}
	calling, cancel := context.WithTimeoutCause(ctx, e.cfg.CallTimeout,
		fmt.Errorf("no answer within the %v of CallTimeout", e.cfg.CallTimeout))
	defer cancel()
	found, err := c.Cancel(calling, []uuid.UUID{id}, reason)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("the backend gave %d answers for 1", len(found))
	}
	if err != nil && calling.Err() != nil {
		err = fmt.Errorf("%w (%w)", context.Cause(calling), err)
	}
	switch {
	case err != nil:
		return backend.Instance{}, fmt.Errorf("engine: it is not known whether instance %s was canceled; cancel it again: %w", id, err)
	case found[0].Status == "":
		return backend.Instance{}, fmt.Errorf("engine: instance %s: %w", id, ErrUnknownInstance)
	}
	e.canceled(found[0])
	return found[0], nil
}

// ErrCannotCancel means that the backend does not implement backend.Canceler.
var ErrCannotCancel = errors.New("the backend cannot cancel instances; use another one")

func (e *Engine) canceled(inst backend.Instance) {
	select {
	case e.ends <- inst:
	case <-e.background.Done():
	}
	if e.waits.deliver(inst) && inst.Status == backend.Canceled && e.cfg.Observer.Ended != nil {
		e.cfg.Observer.Ended(inst, e.cfg.now())
	}
}
