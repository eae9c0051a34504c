package pull_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/engine/backend/postgres/pull"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

type rig struct {
	*designtest.World
	b     *pull.Backend
	grant backend.Grant
	held  []backend.Task
}

func newRig(t *testing.T, cfg postgres.Config, scan pull.Scan) *rig {
	t.Helper()
	b := open(t, cfg, scan)
	ask, err := pgstore.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ask.Close(context.WithoutCancel(t.Context())) })
	w := designtest.NewWorld(t, cfg, designtest.Design{
		Table: "ledger", Leased: "q.status = 'leased'", Free: "status = 'queued', owner = NULL", Others: []string{"arrivals", "inbox"},
	}, b, ask)
	return &rig{World: w, b: b, grant: backend.Grant{Owner: "test", Max: 100, Lease: time.Hour}}
}

func (r *rig) submit(source, input string) uuid.UUID {
	r.Helper()
	sub := backend.Submission{ID: uuid.New(), Program: r.Program(backendtest.Workflow{Source: source}), Input: json.RawMessage(input)}
	out, err := r.b.Submit(r.Ctx, []backend.Submission{sub}, r.grant)
	r.took(out, err)
	if out.Outcomes[0].Answer != backend.Applied {
		r.Fatalf("submitted: %+v", out.Outcomes[0])
	}
	return sub.ID
}

func (r *rig) took(out backend.Committed, err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	r.held = append(r.held, out.Tasks...)
}

func (r *rig) task(id uuid.UUID, action, args string) backend.Task {
	r.Helper()
	for i, t := range r.held {
		if t.Lease.Key.Instance == id && t.Action == action && string(t.Args) == args {
			r.held = append(r.held[:i:i], r.held[i+1:]...)
			return t
		}
	}
	r.Fatalf("no @%s(%s) among %d tasks: %+v", action, args, len(r.held), r.held)
	return backend.Task{}
}

func done(t backend.Task) backend.Completion {
	c := backend.Completion{Lease: t.Lease, Program: t.Program, Attempt: t.Attempt}
	c.Result, c.Failure = actions()[t.Action](t.Args, t.Attempt)
	return c
}

func failed(t backend.Task, typ, message string) backend.Completion {
	return backend.Completion{Lease: t.Lease, Program: t.Program, Attempt: t.Attempt, Failure: &plan.Failure{Type: typ, Message: message}}
}

func (r *rig) complete(list ...backend.Completion) []backend.Answer {
	r.Helper()
	out, err := r.b.Complete(r.Ctx, 0, list, r.grant)
	r.took(out, err)
	answers := make([]backend.Answer, len(list))
	for i, o := range out.Outcomes {
		answers[i] = o.Answer
	}
	return answers
}

func (r *rig) instance(id uuid.UUID) backend.Instance {
	r.Helper()
	found, err := r.b.Lookup(r.Ctx, []uuid.UUID{id})
	if err != nil {
		r.Fatal(err)
	}
	return found[0]
}

func (r *rig) gives(id uuid.UUID, result string) {
	r.Helper()
	if in := r.instance(id); in.Status != backend.Completed || string(in.Result) != result {
		r.Errorf("the instance is %s with %s, %+v; want %s", in.Status, in.Result, in.Failure, result)
	}
}
