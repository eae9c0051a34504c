package process

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/chaos/cases"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/scenarios/behaviour"
)

// The priority of an order must be its instance's.
func TestPriorityOfAnOrder(t *testing.T) {
	program, err := plan.CompileText("p.ir", []byte("fn main(input: [], output: [x]):\n    x = @items(count=1)\n"), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New(memory.Options{})
	defer store.Close()
	started := make(chan int, 10)
	e, err := engine.New(engine.Config{Backend: store, Workers: behaviour.Plain().Timed(), Observer: engine.Observer{
		Started: func(task backend.Task, _ time.Time) { started <- task.Program.Priority() },
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := &host{Setup: Setup{Case: cases.Case{}.WithDefaults()}, engine: e, programs: []*plan.Program{program}, inputs: []json.RawMessage{json.RawMessage("{}")}}
	for _, want := range []int{0, 7} {
		h.submit(t.Context(), Submission{ID: uuid.New(), Priority: want})
		if got := <-started; got != want {
			t.Errorf("the priority is %d, want %d", got, want)
		}
	}
	if err := e.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
