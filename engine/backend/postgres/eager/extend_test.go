package eager

import (
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
)

// TestUnsweptIsNotProlonged has an instance be canceled by a process that dies before it removes what was leased: the
// holder is told, although its row is still there.
func TestUnsweptIsNotProlonged(t *testing.T) {
	w := newWorld(t)
	lease := []backend.Lease{w.launch(sequence)[0].Lease}
	if kept, err := w.b.Extend(w.ctx, 0, lease, backendtest.Granted(0)); err != nil || !kept[0] {
		t.Fatalf("before: held is %v, %v", kept, err)
	}
	w.exec("UPDATE instances SET status = 'canceled', untidy = true, failure = '{}', ended_at = clock_timestamp() WHERE id = $1", lease[0].Key.Instance)
	if kept, err := w.b.Extend(w.ctx, 0, lease, backendtest.Granted(0)); err != nil || kept[0] {
		t.Errorf("a lease of a canceled instance is held: %v, %v", kept, err)
	}
}
