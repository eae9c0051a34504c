package push

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres/internal/designtest"
)

// What waits for longer than another's priority is worth is handed out first.
func TestWaitingMakesUpForPriority(t *testing.T) {
	w := newWorld(t)
	submit := func(priority int) backend.Submission {
		program, err := designtest.Sequence.Program(t).WithPriority(priority)
		if err != nil {
			t.Fatal(err)
		}
		sub := backend.Submission{ID: uuid.New(), Program: program, Input: json.RawMessage(designtest.Sequence.Input)}
		if out, err := w.direct.Submit(w.Ctx, []backend.Submission{sub}, backendtest.Granted(0)); err != nil || backendtest.Answers(out) != "applied" {
			t.Fatal(out, err)
		}
		return sub
	}
	early, late := submit(0), submit(2)
	claimed := func(want backend.Submission) backend.Task {
		t.Helper()
		out, err := w.direct.Claim(w.Ctx, 0, backendtest.Granted(1))
		if err != nil || len(out.Tasks) != 1 || out.Tasks[0].Lease.Key.Instance != want.ID {
			t.Fatalf("%+v, %v; want one of %s", out, err, want.ID)
		}
		return out.Tasks[0]
	}
	w.Exec("UPDATE queue SET due_at = due_at - interval '2 minutes' WHERE instance_id = $1", early.ID)
	claimed(early)
	claimed(late)
}
