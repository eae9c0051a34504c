package pgstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/internal/pgtest"
)

const severalTries = 5

type hasty struct {
	Machine
	pauses []time.Duration
}

func (h *hasty) Wait(_ context.Context, pause time.Duration, _ ...<-chan struct{}) int {
	h.pauses = append(h.pauses, pause)
	return TimedOut
}

type renewing struct {
	*testing.T
	ctx    context.Context
	s      *Store
	q      *Queue
	leases []backend.Lease
	sent   pgtest.Statements
}

const renewed = 300

func newRenewing(t *testing.T) *renewing {
	r := &renewing{T: t, ctx: limited(t), q: NewQueue(Table{Name: "waiting", Path: "place", Leased: "q.taken"}, nothing, nil)}
	s, err := Open(r.ctx, postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t), Shards: 1, Connections: 3, Tracer: &r.sent}, nothing)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r.s = s
	r.exec("CREATE TABLE waiting (shard smallint, instance_id uuid, node integer, place text, token bigint, taken boolean, due_at timestamptz, PRIMARY KEY (shard, instance_id, node, place))")
	r.exec("INSERT INTO workflows (hash, definition) VALUES ('', '{}')")
	var ids [][16]byte
	for i := range renewed {
		var id uuid.UUID
		binary.BigEndian.PutUint64(id[:], uint64(renewed-i)) // not in locking order
		ids = append(ids, id)
		r.leases = append(r.leases, backend.Lease{Key: backend.Key{Instance: id, Run: graph.Run{Node: 7, Path: "1.2"}}, Token: 1})
	}
	r.exec("INSERT INTO instances (shard, id, workflow, input, status) SELECT 0, i, (SELECT id FROM workflows), '{}', 'running' FROM unnest($1::uuid[]) i", ids)
	r.exec("INSERT INTO waiting SELECT 0, i, 7, '1.2', 1, true, clock_timestamp() FROM unnest($1::uuid[]) i", ids)
	return r
}

func (r *renewing) exec(sql string, args ...any) {
	r.Helper()
	if _, err := r.s.Pool.Exec(r.ctx, sql, args...); err != nil {
		r.Fatalf("%s: %v", sql, err)
	}
}

func (r *renewing) lock(i int) pgx.Tx {
	r.Helper()
	tx, err := r.s.Pgx().Begin(r.ctx)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = tx.Rollback(r.ctx) }) // unless committed
	if _, err := tx.Exec(r.ctx, "SELECT FROM waiting WHERE instance_id = $1 FOR UPDATE NOWAIT", r.leases[i].Key.Instance); err != nil {
		r.Fatal(err)
	}
	return tx
}

func (r *renewing) judge(held []bool, lost ...int) {
	r.Helper()
	for i, is := range held {
		if is == slices.Contains(lost, i) {
			r.Errorf("lease %d is held: %t", i, is)
		}
	}
	var long int
	if err := r.s.Pool.QueryRow(r.ctx, "SELECT count(*) FROM waiting WHERE due_at > clock_timestamp() + interval '30 minutes'").Scan(&long); err != nil || long != len(held)-len(lost) {
		r.Errorf("%d leases are as long as they were to be, %v; want %d", long, err, len(held)-len(lost))
	}
}

func TestRenewalIsOneStatement(t *testing.T) {
	r := newRenewing(t)
	before := r.sent.Sent.Load()
	held, err := r.s.Renew(r.ctx, r.q, 0, r.leases, backend.Grant{Lease: time.Hour})
	if n := r.sent.Sent.Load() - before; err != nil || n != 1 {
		t.Errorf("%d leases were renewed by %d statements, %v; want 1", renewed, n, err)
	}
	r.judge(held)
	r.exec("UPDATE waiting SET due_at = clock_timestamp()")
	r.exec("UPDATE waiting SET token = 2 WHERE instance_id = ANY ($1)", [][16]byte{r.leases[3].Key.Instance, r.leases[4].Key.Instance})
	r.exec("UPDATE waiting SET taken = false WHERE instance_id = $1", r.leases[5].Key.Instance)
	r.exec("DELETE FROM waiting WHERE instance_id = $1", r.leases[6].Key.Instance)
	r.exec("UPDATE instances SET status = 'canceled', failure = '{}', ended_at = clock_timestamp() WHERE id = $1", r.leases[7].Key.Instance)
	before = r.sent.Sent.Load()
	held, err = r.s.Renew(r.ctx, r.q, 0, r.leases, backend.Grant{Lease: time.Hour})
	if n := r.sent.Sent.Load() - before; err != nil || n != 3 {
		t.Errorf("where 5 of %d leases are lost, %d statements renew the others, %v; want 3", renewed, n, err)
	}
	r.judge(held, 3, 4, 5, 6, 7)
}

// TestRenewalWaitsForNobody checks that a renewal skips a locked row, does not keep other rows locked (D5), and reports
// the skipped lease when its row is unlocked.
func TestRenewalWaitsForNobody(t *testing.T) {
	for name, c := range map[string]struct {
		do   string
		lost []int
	}{"completed": {"DELETE FROM waiting WHERE instance_id = $1", []int{2}}, "left": {"SELECT FROM waiting WHERE instance_id = $1", nil}} {
		t.Run(name, func(t *testing.T) {
			r := newRenewing(t)
			tx := r.lock(2)
			r.sent.Sent.Store(0)
			several := make(chan struct{})
			r.sent.Each = func(sent int64) {
				if sent == severalTries {
					close(several)
				}
			}
			ended := make(chan []bool, 1)
			go func() {
				held, err := r.s.Renew(r.ctx, r.q, 0, r.leases, backend.Grant{Lease: time.Hour})
				if err != nil {
					t.Error(err)
				}
				ended <- held
			}()
			select {
			case <-several:
			case <-r.ctx.Done():
				t.Fatal("the renewal does not try again")
			}
			if _, err := tx.Exec(r.ctx, "SELECT FROM waiting WHERE instance_id = $1 FOR UPDATE NOWAIT", r.leases[1].Key.Instance); err != nil {
				t.Errorf("the row of another lease, meanwhile: %v", err)
			}
			if _, err := tx.Exec(r.ctx, c.do, r.leases[2].Key.Instance); err != nil {
				t.Error(err)
			}
			if err := tx.Commit(r.ctx); err != nil {
				t.Error(err)
			}
			r.judge(<-ended, c.lost...)
		})
	}
}

func TestRenewalGivesUp(t *testing.T) {
	r := newRenewing(t)
	clock := &hasty{}
	r.s.Clock = clock
	r.lock(2)
	_, err := r.s.Renew(r.ctx, r.q, 0, r.leases, backend.Grant{Lease: time.Hour})
	if want := fmt.Sprintf("postgres: renewing leases of shard 0: given up after %d tries: others have locked the rows of 1 leases; %s", triesMax, LockRemedy); err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	if n := len(clock.pauses); n != triesMax-2 || clock.pauses[0] > 2*retryPause || clock.pauses[n-1] < retryPauseMax/2 || strings.Contains(fmt.Sprint(clock.pauses), "-") {
		t.Errorf("it pauses for %v", clock.pauses)
	}
}
