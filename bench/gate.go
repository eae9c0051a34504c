package bench

import (
	"context"
	"encoding/json"

	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

// gate blocks actions until it is opened, so that the required number of instances is in flight at once. A nil gate blocks
// nothing.
type gate struct{ opened chan struct{} }

func newGate(hold bool) *gate {
	if !hold {
		return nil
	}
	return &gate{make(chan struct{})}
}

func (g *gate) open() {
	if g != nil {
		close(g.opened)
	}
}

func (g *gate) executor(e worker.Executor) worker.Executor {
	if g == nil {
		return e
	}
	return &heldConn{e, g}
}

type heldConn struct {
	worker.Executor
	gate *gate
}

func (h *heldConn) Execute(ctx context.Context, task backend.Task) (json.RawMessage, *plan.Failure) {
	select {
	case <-h.gate.opened:
	case <-ctx.Done():
	}
	return h.Executor.Execute(ctx, task)
}
