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

// endedStore says of every instance that it has ended.
type endedStore struct{ backend.Backend }

func (endedStore) Lookup(_ context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	out := make([]backend.Instance, len(ids))
	for i, id := range ids {
		out[i] = backend.Instance{ID: id, Status: backend.Completed}
	}
	return out, nil
}

// TestEndsAreFoundUnderLoad has an instance end whose engine dies before it tells, while others end all the time: it is
// found to have ended soon, and not only once nothing else happens for a while. Else its end would count as the
// recovery from what killed the engine.
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
			time.Sleep(time.Millisecond) // of the bubble's own time
			l.changed()
		}
		stop()
		<-over
		if len(found) == 0 || found[0] > 3*lookupPause {
			t.Errorf("ends were found after %v, want the first within %v", found, 3*lookupPause)
		}
	})
}

// TestCancelsUntilOneIsCanceled wants every instance behind the first that was to be canceled to be, too, until one was; and then
// one of so many again.
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
