package eager

import (
	"testing"

	"pulley/engine/backend/backendtest"
)

// TestOverdueComesFirst has a lease run out while much is queued: once it was swept, the node run comes before all that
// waits for its first lease.
func TestOverdueComesFirst(t *testing.T) {
	w := newWorld(t)
	lost := w.launch(sequence)[0].Lease
	for range 3 {
		w.launch(sequence)
	}
	w.exec("UPDATE node_ready_state SET is_queued = false, owner = NULL, due_at = clock_timestamp() - interval '1 minute' WHERE token IS NOT NULL AND instance_id <> $1", lost.Key.Instance)
	w.exec("UPDATE node_ready_state SET due_at = clock_timestamp() WHERE token IS NOT NULL AND instance_id = $1", lost.Key.Instance)
	if _, err := w.b.Sweep(w.ctx, 0); err != nil {
		t.Fatal(err)
	}
	out, err := w.b.Claim(w.ctx, 0, backendtest.Granted(1))
	if err != nil || len(out.Tasks) != 1 || out.Tasks[0].Lease.Key != lost.Key || out.Tasks[0].Lease.Token == lost.Token {
		t.Fatalf("behind three that were queued before its lease ended: %+v, %v; want %+v under another token", out.Tasks, err, lost)
	}
	if _, err := w.b.Sweep(w.ctx, 0); err != nil {
		t.Fatal(err)
	}
	if out, err = w.b.Claim(w.ctx, 0, backendtest.Granted(10)); err != nil || len(out.Tasks) != 3 {
		t.Errorf("then %+v come, %v; want three, and not what is leased", out.Tasks, err)
	}
}
