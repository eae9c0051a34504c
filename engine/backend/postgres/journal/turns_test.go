package journal

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
)

var waitingRuns = backendtest.Workflow{Source: "fn main(input: [n], output: [r]):\n    r = spread range(n):i -> @double(value=i)\n", Input: `{"n": 300}`}

// The turns of a shard are kept in memory only while there are engines that take them, and something waits. Runs that still wait have turns
// when such an engine comes again.
func TestTurnsAreForgotten(t *testing.T) {
	w := newWorld(t, 1)
	b := w.open()
	if _, err := b.Submit(w.ctx, []backend.Submission{{ID: uuid.New(), Program: waitingRuns.Program(t), Input: json.RawMessage(waitingRuns.Input)}}, granted(0)); err != nil {
		t.Fatal(err)
	}
	left := 300
	claim := func(order backend.Order, most, want int) {
		t.Helper()
		g := granted(most)
		g.Order = order
		out, err := b.Claim(w.ctx, 0, g)
		if err != nil || len(out.Tasks) != want {
			t.Fatalf("a claim gives %d tasks, %v; want %d", len(out.Tasks), err, want)
		}
		left -= want
	}
	keeps := func(want bool) {
		t.Helper()
		if got := b.shards[0].turns != nil; got != want {
			t.Errorf("with %d runs that wait, turns are kept: %v, want %v", left, got, want)
		}
	}
	claim(backend.ByTime, 10, 10)
	keeps(false)
	claim(backend.ByWorkflow, 10, 10)
	keeps(true)
	for range withoutTurnsMax {
		claim(backend.ByTime, 1, 1)
	}
	keeps(true)
	claim(backend.ByTime, 1, 1)
	keeps(false)
	claim(backend.ByInstance, 10, 10)
	keeps(true)
	claim(backend.ByTime, left, left)
	claim(backend.ByTime, 1, 0)
	keeps(false)
	claim(backend.ByInstance, 1, 0)
}
