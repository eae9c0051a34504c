package pull_test

import (
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/pull"
)

// TestOverdueComesFirst has a lease run out while much is queued: once it was swept, the node run comes before all that
// waits for its first lease.
func TestOverdueComesFirst(t *testing.T) {
	both(t, func(t *testing.T, cfg postgres.Config, scan pull.Scan) {
		cfg.Shards = 1
		r := newRig(t, cfg, scan)
		id := r.submit(chain, `{"n": 1}`)
		lost := r.held[0].Lease
		for range 3 {
			r.submit(chain, `{"n": 1}`)
		}
		conn := r.connect()
		for _, sql := range []string{
			"UPDATE ledger SET status = 'queued', owner = NULL, due_at = clock_timestamp() - interval '1 minute' WHERE instance_id <> $1",
			"UPDATE ledger SET due_at = clock_timestamp() WHERE instance_id = $1",
		} {
			if _, err := conn.Exec(r.ctx, sql, [16]byte(id)); err != nil {
				t.Fatal(err)
			}
		}
		claim := func(most int) []backend.Task {
			if _, err := r.b.Sweep(r.ctx, 0); err != nil {
				t.Fatal(err)
			}
			grant := r.grant
			grant.Max = most
			out, err := r.b.Claim(r.ctx, 0, grant)
			if err != nil {
				t.Fatal(err)
			}
			return out.Tasks
		}
		if got := claim(1); len(got) != 1 || got[0].Lease.Key != lost.Key || got[0].Lease.Token == lost.Token {
			t.Fatalf("behind three that were queued before its lease ended: %+v; want %+v under another token", got, lost)
		}
		if got := claim(10); len(got) != 3 {
			t.Errorf("then %+v come; want three, and not what is leased", got)
		}
	})
}
