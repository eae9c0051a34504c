package process

import (
	"context"
	"encoding/json"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

// during is an executor that calls do for each task.
type during struct {
	worker.Executor
	do func(ctx context.Context)
}

func (d during) Execute(ctx context.Context, _ backend.Task) (json.RawMessage, *plan.Failure) {
	d.do(ctx)
	return nil, nil
}

// TestKills checks that an order kills one worker while it has an attempt, and that none is killed without an order.
func TestKills(t *testing.T) {
	killed, told := 0, 0
	working, died := make(chan struct{}), make(chan struct{})
	k := &kills{onKilled: func() { told++ }}
	k.kill = func() bool {
		select {
		case <-working:
			killed++
			close(died)
			return true
		default:
			return false
		}
	}
	k.Executor = during{do: func(context.Context) {
		close(working)
		<-died // or the test ends it
	}}
	k.set(true)
	k.Execute(t.Context(), backend.Task{})
	if killed != 1 || told != 1 {
		t.Errorf("%d were killed, %d told; want one", killed, told)
	}
	k.kill = func() bool {
		t.Error("a worker is killed that nobody wants killed")
		return true
	}
	k.Executor = during{do: func(context.Context) {}}
	k.Execute(t.Context(), backend.Task{})
	k.set(true)
	k.set(false)
	k.Execute(t.Context(), backend.Task{}) // the order was withdrawn
}

// TestKillsGiveUp checks that an attempt does not wait for another worker to be busy.
func TestKillsGiveUp(t *testing.T) {
	looked := 0
	k := &kills{onKilled: func() { t.Error("it was told of a kill") }, kill: func() bool { looked++; return false }}
	k.Executor = during{do: func(context.Context) {}}
	k.set(true)
	k.Execute(t.Context(), backend.Task{})
	if looked == 0 || !k.isArmed {
		t.Errorf("it was looked %d times; an order stands until it was followed: %t", looked, k.isArmed)
	}
}
