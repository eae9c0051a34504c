package worker_test

import (
	"context"
	"strings"
	"testing"

	"pulley/engine/worker"
	"pulley/engine/worker/workertest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	const noProcess = "a Go function is no process"
	workertest.Run(t, workertest.Harness{
		Func: func(_ *testing.T, b workertest.Behaviour) worker.Func {
			return func(ctx context.Context, call worker.Call) (any, error) { return behave(ctx, call, b) }
		},
		Lacks: map[workertest.Behaviour]string{
			workertest.Ignore:     "nothing ends a Go function that does not return; the engine gives it up",
			workertest.Flood:      "a Go function has no output but its result",
			workertest.Nothing:    "a Go function that returns has a result",
			workertest.Garbage:    "a Go function has no output but its result",
			workertest.Half:       noProcess,
			workertest.Freeze:     noProcess,
			workertest.Orphan:     noProcess,
			workertest.OrphanHang: noProcess,
		},
		Types: map[workertest.Behaviour]string{workertest.ActionDie: worker.TypePanic},
	})
}

func behave(ctx context.Context, call worker.Call, b workertest.Behaviour) (any, error) {
	switch b {
	case workertest.Echo:
		return call.Args, nil
	case workertest.Decline:
		return nil, &worker.Error{Type: "Declined", Message: workertest.DeclineMessage}
	case workertest.Huge:
		return strings.Repeat("x", workertest.HugeBytes), nil
	case workertest.Invalid:
		return "\xff", nil
	case workertest.ActionDie:
		panic("killed")
	}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}
