package journal

import (
	"maps"
	"testing"
)

func TestLeftoversOfEndedInstances(t *testing.T) {
	w := newWorld(t, 1)
	b := w.open()
	if left, err := b.Leftovers(w.ctx); err != nil || len(left) > 0 {
		t.Fatalf("at first there is %v (%v)", left, err)
	}
	for _, sql := range []string{
		`INSERT INTO instances (shard, id, workflow, status, input, pending)
			SELECT 0, md5(status)::uuid, 1, status, '{}', true FROM unnest('{running,failed}'::text[]) status`,
		`INSERT INTO events (shard, kind, node, seq, epoch, instance_id, path, data)
			SELECT 0, 0, 1, 1000 + row_number() OVER (), 1, md5(status)::uuid, '', '' FROM unnest('{running,failed,failed,nobody}'::text[]) status`,
		`INSERT INTO leases (shard, instance_id, node, path, token, expires_at)
			SELECT 0, md5(status)::uuid, node, '', 1, now() FROM unnest('{running,failed}'::text[]) status, generate_series(1, 3) node`,
	} {
		if _, err := b.store.Pool.Exec(w.ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	left, err := b.Leftovers(w.ctx)
	if want := map[string]int{"events": 2, "leases": 3, "pending": 1}; err != nil || !maps.Equal(left, want) {
		t.Errorf("%v (%v); want %v", left, err, want)
	}
}
