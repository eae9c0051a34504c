package bench

import (
	"context"
	"encoding/json"

	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

// gate holds actions back until it is opened, so that as many instances as were asked for are under way at once. A
// nil gate holds nothing back.
type gate struct{ opened chan struct{} }

func newGate(hold bool) *gate {
	if !hold {
		return nil
	}
	return &gate{make(chan struct{})}
}

// open lets every action go on. It is called once.
func (g *gate) open() {
	if g != nil {
		close(g.opened)
	}
}

// executor is another one, behind the gate.
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

// Execute waits at the gate before it begins.
func (h *heldConn) Execute(ctx context.Context, task backend.Task) (json.RawMessage, *plan.Failure) {
	select {
	case <-h.gate.opened:
	case <-ctx.Done():
	}
	return h.Executor.Execute(ctx, task)
}
