package process

import (
	"context"
	"slices"
	"testing"

	"pulley/engine/backend"
)

type applying struct {
	Store
	offered int
}

func (a *applying) Complete(_ context.Context, _ int, done []backend.Completion, _ backend.Grant) (backend.Committed, error) {
	a.offered += len(done)
	return backend.Committed{Outcomes: slices.Repeat([]backend.Outcome{{Answer: backend.Applied}}, len(done))}, nil
}

// TestRepeatsTellOfWhatWasRepeated checks that only actual repetitions are reported; otherwise a run without any would pass.
func TestRepeatsTellOfWhatWasRepeated(t *testing.T) {
	var store applying
	told := 0
	r := newRepeats(&store, 1, func() { told++ })
	r.set(100)
	for call, want := range []struct{ told, offered int }{{0, 1}, {1, 3}, {1, 4}} {
		shard := call / 2 // the third call is on another shard
		if _, err := r.Complete(t.Context(), shard, make([]backend.Completion, 1), backend.Grant{}); err != nil {
			t.Fatal(err)
		}
		if told != want.told || store.offered != want.offered {
			t.Errorf("after call %d it has told %d times and offered %d, want %d and %d",
				call+1, told, store.offered, want.told, want.offered)
		}
	}
}
