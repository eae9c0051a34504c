package backend_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

// doorkeeper has places for the first instances of one workflow, and some instances are there already.
type doorkeeper struct {
	backend.Limiter
	places int
	stored []uuid.UUID
	err    error
}

func (d *doorkeeper) Admit(_ context.Context, workflow string, ids []uuid.UUID) ([]string, error) {
	full := make([]string, len(ids))
	for i := range ids {
		if workflow == "few.ir" {
			if d.places--; d.places < 0 {
				full[i] = "few"
			}
		}
	}
	return full, d.err
}

func (d *doorkeeper) Lookup(_ context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	found := make([]backend.Instance, len(ids))
	for i, id := range ids {
		if slices.Contains(d.stored, id) {
			found[i] = backend.Instance{ID: id, Status: backend.Completed}
		}
	}
	return found, nil
}

// What has no place is answered at its position, and everything else is submitted, in order, and answered by the store.
func TestSubmitAdmitted(t *testing.T) {
	t.Parallel()
	programs := map[string]*plan.Program{}
	for _, name := range []string{"flows/few.ir", "many.ir"} {
		p, err := plan.CompileText(name, []byte("fn main(input: [], output: [x]):\n    x = 1\n"), ir.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		programs[p.Workflow()] = p
	}
	ids := make([]uuid.UUID, 6)
	for i := range ids {
		ids[i] = uuid.New()
	}
	few, many := programs["few.ir"], programs["many.ir"]
	subs := []backend.Submission{
		{ID: ids[0], Program: few}, {ID: ids[1], Program: few}, {ID: ids[2], Program: many}, {ID: ids[1], Program: few}, {ID: ids[3], Program: few}, {ID: ids[4]}, {ID: ids[5], Program: many},
	}
	door := &doorkeeper{places: 1, stored: []uuid.UUID{ids[3]}}
	var submitted []uuid.UUID
	store := func(subs []backend.Submission) (out backend.Committed, err error) {
		for _, s := range subs {
			submitted = append(submitted, s.ID)
			answer := backend.Applied
			switch {
			case slices.Contains(door.stored, s.ID):
				answer = backend.Duplicate
			case s.Program == nil:
				answer = backend.Refused
			}
			out.Outcomes = append(out.Outcomes, backend.Outcome{Answer: answer})
		}
		return out, nil
	}
	out, err := backend.SubmitAdmitted(t.Context(), door, subs, store)
	if err != nil {
		t.Fatal(err)
	}
	var answers []backend.Answer
	for _, o := range out.Outcomes {
		if answers = append(answers, o.Answer); (o.Answer == backend.Full) != errors.Is(o.Err, backend.ErrFull) {
			t.Errorf("%+v", o)
		}
	}
	want := []backend.Answer{backend.Applied, backend.Full, backend.Applied, backend.Full, backend.Duplicate, backend.Refused, backend.Applied}
	if !slices.Equal(answers, want) || !slices.Equal(submitted, []uuid.UUID{ids[0], ids[2], ids[3], ids[4], ids[5]}) {
		t.Errorf("answers are %v, want %v; submitted are %v", answers, want, submitted)
	}

	submitted = nil
	out, err = backend.SubmitAdmitted(t.Context(), &doorkeeper{}, subs[:2], store)
	if err != nil || len(submitted) > 0 || len(out.Outcomes) != 2 || out.Outcomes[0].Answer != backend.Full || out.Outcomes[1].Answer != backend.Full {
		t.Errorf("without any place: %+v, %v, and %d are submitted", out, err, len(submitted))
	}
	broken := errors.New("the server is away")
	if _, err := backend.SubmitAdmitted(t.Context(), &doorkeeper{err: broken}, subs, store); !errors.Is(err, broken) || len(submitted) > 0 {
		t.Errorf("%v, and %d are submitted", err, len(submitted))
	}
}
