package pull_test

import (
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/pull"
)

// TestUnsweptIsNotProlonged has an instance be canceled by a process that dies before it removes what was leased: the
// holder is told, although its row is still there.
func TestUnsweptIsNotProlonged(t *testing.T) {
	r := newRig(t, alone(t, pull.ScanApp), pull.ScanApp)
	r.submit("fn main(input: [n], output: [r]):\n    r = @double(value=n)\n    return r\n", `{"n": 4}`)
	if len(r.held) == 0 {
		out, err := r.b.Claim(r.ctx, 0, r.grant)
		r.took(out, err)
	}
	lease := []backend.Lease{r.held[0].Lease}
	if kept, err := r.b.Extend(r.ctx, 0, lease, r.grant); err != nil || !kept[0] {
		t.Fatalf("before: held is %v, %v", kept, err)
	}
	if _, err := r.connect().Exec(r.ctx, "UPDATE instances SET status = 'canceled', untidy = true, failure = '{}', ended_at = clock_timestamp() WHERE id = $1", lease[0].Key.Instance); err != nil {
		t.Fatal(err)
	}
	if kept, err := r.b.Extend(r.ctx, 0, lease, r.grant); err != nil || kept[0] {
		t.Errorf("a lease of a canceled instance is held: %v, %v", kept, err)
	}
}
