package chaos

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"pulley/chaos/cases"
	"pulley/chaos/process"
	"pulley/engine/backend"
	"pulley/engine/oracle"
	"pulley/engine/reference"
)

// endedStore reports every instance as ended.
type endedStore struct{ backend.Backend }

func (endedStore) Lookup(_ context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	out := make([]backend.Instance, len(ids))
	for i, id := range ids {
		out[i] = backend.Instance{ID: id, Status: backend.Completed}
	}
	return out, nil
}

// TestEndsAreFoundUnderLoad has an engine die before it reports an instance's end, while others end all the time. It checks that
// the end is soon found; otherwise it would count as the recovery from what killed the engine.
func TestEndsAreFoundUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var found []time.Duration
		begun := time.Now()
		l := newLoad(cases.Case{InFlight: 1, Workloads: make([]cases.Workload, 1), Engines: 1, CallMS: 1000},
			func(int, process.Submission) error { return nil },
			func(e oracle.Event) {
				if e.Kind == oracle.LookedUp {
					found = append(found, time.Since(begun))
				}
			})
		over := make(chan struct{})
		go func() {
			defer close(over)
			l.run(ctx, endedStore{})
		}()
		for range 1000 {
			time.Sleep(time.Millisecond) // in the bubble's time
			l.changed()
		}
		stop()
		<-over
		if len(found) == 0 || found[0] > 3*lookupPause {
			t.Errorf("ends were found after %v, want the first within %v", found, 3*lookupPause)
		}
	})
}

// TestCancelsUntilOneIsCanceled checks that from the first cancel on every instance is to be cancelled until one is, and then one
// of so many again.
func TestCancelsUntilOneIsCanceled(t *testing.T) {
	l := newLoad(cases.Case{InFlight: 1, Workloads: make([]cases.Workload, 1), Engines: 1, CallMS: 1000, Cancel: 4},
		func(int, process.Submission) error { return nil }, func(oracle.Event) {})
	var wanted []int
	ends := func(n int, status reference.Status) {
		l.fill()
		id := l.all[n]
		if l.open[id].cancel {
			wanted = append(wanted, n)
		}
		l.handleEvent(oracle.Event{Kind: oracle.Ended, Instance: id.String(), Status: status})
	}
	for n := range 6 {
		ends(n, reference.Completed)
	}
	ends(6, reference.Canceled)
	for n := 7; n < 12; n++ {
		ends(n, reference.Completed)
	}
	if want := []int{3, 4, 5, 6, 7, 11}; !slices.Equal(wanted, want) {
		t.Errorf("to be canceled were %d, want %d", wanted, want)
	}
}

func TestPrioritiesInTurn(t *testing.T) {
	l := newLoad(cases.Case{InFlight: 5, Workloads: make([]cases.Workload, 1), Engines: 1, CallMS: 1000, Priorities: 2},
		func(int, process.Submission) error { return nil }, func(oracle.Event) {})
	l.fill()
	var got []int
	for _, id := range l.all {
		got = append(got, l.open[id].Priority)
	}
	if want := []int{0, 1, 2, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("the priorities are %d, want %d", got, want)
	}
}
