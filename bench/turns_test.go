package bench

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/bench/load"
	"pulley/engine"
	"pulley/engine/backend/designs"
	"pulley/scenarios/arrivals"
)

// Each engine of a testbed must receive as many instances as the others, whether they come one at a time or together.
func TestEnginesTakeTurns(t *testing.T) {
	list, err := Cases(CaseOptions{Scenarios: []string{"chain"}, Sizes: []string{"1"}})
	if err != nil {
		t.Fatal(err)
	}
	backends, err := designs.ParseAll([]string{"memory"})
	if err != nil {
		t.Fatal(err)
	}
	const engines, instances = 3, 30
	for _, text := range []string{"constant:300/s", "burst:10,33ms"} {
		a, err := arrivals.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		bed := newTurnsBed(t, TestbedSpec{Case: list[0], Backend: backends[0], Engines: engines})
		found, err := bed.Run(t.Context(), OpenRun{
			Arrivals: a, WarmUpFixed: true, Measure: 99 * time.Millisecond, Drain: 10 * time.Minute, Percentile: 50, Limits: load.Limits{LagLeast: time.Hour},
		})
		if err != nil || found.Whole.Ended != instances {
			t.Fatalf("%s: %+v, %v", text, found, err)
		}
		for i, n := range bed.submitted {
			if n.Load() != instances/engines {
				t.Errorf("%s: engine %d was handed %d of %d instances", text, i, n.Load(), instances)
			}
		}
	}
}

// A run that leaves instances must cost the engines; a run that does not must keep them.
func TestLeftoversCostTheEngines(t *testing.T) {
	list, err := Cases(CaseOptions{Scenarios: []string{"chain"}, Sizes: []string{"1"}})
	if err != nil {
		t.Fatal(err)
	}
	backends, err := designs.ParseAll([]string{"memory"})
	if err != nil {
		t.Fatal(err)
	}
	bed := newTurnsBed(t, TestbedSpec{Case: list[0], Backend: backends[0]})
	for _, left := range []bool{false, true, false} {
		bed.left = left
		before := bed.workers
		found, err := bed.Run(t.Context(), OpenRun{Arrivals: arrivals.Constant(100), WarmUpFixed: true, Measure: 100 * time.Millisecond, Drain: 10 * time.Minute})
		if err != nil || found.Whole.Ended != 10 {
			t.Fatalf("%+v, %v", found, err)
		}
		if renewed := bed.workers != before; renewed != left || bed.left {
			t.Errorf("instances were left: %v; the engines are new: %v, instances are left: %v", left, renewed, bed.left)
		}
	}
}

type turnsBed struct {
	*Testbed
	submitted []*atomic.Int64
}

func newTurnsBed(t *testing.T, spec TestbedSpec) *turnsBed {
	t.Helper()
	bed := &turnsBed{}
	var err error
	if bed.Testbed, err = OpenTestbed(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := bed.fire(t.Context()); err != nil {
		t.Fatal(err)
	}
	observer := func() engine.Observer {
		n := new(atomic.Int64)
		bed.submitted = append(bed.submitted, n)
		o := bed.relay.observer()
		told := o.Submitted
		o.Submitted = func(id uuid.UUID, at time.Time) { n.Add(1); told(id, at) }
		return o
	}
	bed.workers, err = startWorkers(t.Context(), bed.batch.executor, bed.spec.Backend, designs.OpenOptions{}, workerPool{bed.spec.Workers, bed.spec.Engines, observer})
	if err != nil {
		t.Fatal(err)
	}
	return bed
}
