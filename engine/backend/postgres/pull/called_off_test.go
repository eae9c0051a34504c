package pull_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/pull"
)

const twoSteps = `
fn part(input: [i], output: [r]):
    r = @echo(value=i)
    r = @double(value=r)

fn main(input: [n], output: [out]):
    try:
        out = spread range(n):i -> part(i=i)
    except as e:
        out = @echo(value=e["message"])
`

// TestCancelledRuns checks that a caught error that leaves a spread fences concurrent runs, also in its own batch, and removes
// queued ones.
func TestCancelledRuns(t *testing.T) {
	both(t, func(t *testing.T, cfg postgres.Config, scan pull.Scan) {
		r := newRig(t, cfg, scan)
		r.grant.Max = 4 // the fifth stays queued
		id := r.submit(twoSteps, `{"n": 5}`)
		r.grant.Max = 1
		first, bad := r.task(id, "echo", `{"value":0}`), r.task(id, "echo", `{"value":1}`)
		later, never := r.task(id, "echo", `{"value":2}`), r.task(id, "echo", `{"value":3}`)
		got := r.complete(done(first), failed(bad, "Bad", "no"), done(later))
		if want := []backend.Answer{backend.Applied, backend.Applied, backend.Stale}; !slices.Equal(got, want) {
			t.Errorf("answers %v, want %v", got, want)
		}
		double := r.task(id, "double", `{"value":0}`) // made ready by the first, before the error
		if got := r.complete(done(never), done(double)); got[0] != backend.Stale || got[1] != backend.Stale {
			t.Errorf("what was cancelled is %v", got)
		}
		if n := r.Number("SELECT count(*) FROM ledger WHERE status <> 'completed'"); n != 1 {
			t.Errorf("%d runs are open beside the handler's", n-1)
		}
		out, err := r.b.Claim(r.Ctx, 0, r.grant)
		r.took(out, err)
		r.complete(done(r.task(id, "echo", `{"value":"no"}`)))
		r.gives(id, `"no"`)
	})
}

func TestCancel(t *testing.T) {
	both(t, func(t *testing.T, cfg postgres.Config, scan pull.Scan) {
		r := newRig(t, cfg, scan)
		r.grant.Max = 1
		id, other := r.submit(twoSteps, `{"n": 3}`), r.submit(twoSteps, `{"n": 1}`)
		found, err := r.b.Cancel(r.Ctx, []uuid.UUID{id, uuid.New(), id}, "not wanted")
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{0, 2} {
			if in := found[i]; in.ID != id || in.Status != backend.Canceled || in.Failure.Type != backend.CanceledType || in.Failure.Message != "not wanted" {
				t.Errorf("canceled: %+v", in)
			}
		}
		if found[1].Status != "" {
			t.Errorf("an unknown one is %s", found[1].Status)
		}
		if got := r.complete(done(r.task(id, "echo", `{"value":0}`))); got[0] != backend.Stale {
			t.Errorf("what ran is %s", got[0])
		}
		left, err := r.b.Leftovers(r.Ctx)
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
		r.complete(done(r.task(other, "echo", `{"value":0}`)))
		r.complete(done(r.task(other, "double", `{"value":0}`)))
		r.gives(other, `[0]`)
		if found, err = r.b.Cancel(r.Ctx, []uuid.UUID{other}, "too late"); err != nil || found[0].Status != backend.Completed {
			t.Errorf("canceled after its end: %+v, %v", found, err)
		}
	})
}
