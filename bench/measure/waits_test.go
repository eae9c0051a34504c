package measure

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/internal/pgtest"
	"pulley/reports/record"
)

type room struct {
	t      *testing.T
	looker *ActivitySampler
}

func (r *room) enter(app string) *pgx.Conn {
	r.t.Helper()
	cfg, err := pgx.ParseConfig(pgtest.Undisturbed(r.t).DSN())
	if err != nil {
		r.t.Fatal(err)
	}
	cfg.RuntimeParams["application_name"] = app
	conn, err := pgx.ConnectConfig(r.t.Context(), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func (r *room) must(conn *pgx.Conn, sql string) {
	r.t.Helper()
	if _, err := conn.Exec(r.t.Context(), sql); err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
}

func (r *room) until(what string, conn *pgx.Conn, sql string, args ...any) {
	r.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; {
		var yes bool
		if err := conn.QueryRow(r.t.Context(), sql, args...).Scan(&yes); err != nil {
			r.t.Fatalf("%s: %v", sql, err)
		}
		if yes {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("not within five minutes: %s", what)
		}
	}
}

func (r *room) looks(times int) (seen record.Waits) {
	r.t.Helper()
	tx, err := r.looker.conn.Begin(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	for range times {
		if err := sampleActivity(r.t.Context(), tx, "waiter", &seen); err != nil {
			r.t.Fatal(err)
		}
	}
	return seen
}

func newRoom(t *testing.T) *room {
	t.Helper()
	looker, err := NewActivitySampler(t.Context(), pgtest.Undisturbed(t).DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := looker.Close(); err != nil {
			t.Error(err)
		}
	})
	return &room{t, looker}
}

func TestWaitsAreSeen(t *testing.T) {
	r := newRoom(t)
	holder, waiter, other, outside := r.enter("waiter 1"), r.enter("waiter 2"), r.enter("waiter 3"), r.enter("stranger")
	r.must(holder, "CREATE TABLE waited_for AS SELECT 1 AS a")
	r.must(other, "BEGIN")
	if alone := r.looks(5); alone != (record.Waits{Looks: 5, Busy: 5}) {
		t.Errorf("without a wait: %+v", alone)
	}
	r.must(holder, "BEGIN; UPDATE waited_for SET a = 2")
	waited := make(chan error, 1)
	go func() {
		_, err := waiter.Exec(t.Context(), "UPDATE waited_for SET a = 3")
		waited <- err
	}()
	r.until("the update waits for the other", outside, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock')", int64(waiter.PgConn().PID()))
	seen := r.looks(10)
	r.must(holder, "COMMIT")
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if share, ok := seen.Share(); !ok || share != 1.0/3 || seen.Looks != 10 || seen.ForRows != 10 || seen.LongestNS <= 0 {
		t.Errorf("with one of three waiting: %+v", seen)
	}
}

func TestWatchLooksWhileWorkRuns(t *testing.T) {
	r := newRoom(t)
	worker, outside := r.enter("waiter"), r.enter("stranger")
	const times = 3
	seen, err := r.looker.Watch(t.Context(), "waiter", time.Millisecond, func() error {
		r.must(worker, "BEGIN")
		begun := map[time.Time]bool{}
		for deadline := time.Now().Add(5 * time.Minute); len(begun) <= times && time.Now().Before(deadline); {
			var at time.Time
			err := outside.QueryRow(t.Context(), "SELECT query_start FROM pg_stat_activity WHERE pid = $1", int64(r.looker.conn.PgConn().PID())).Scan(&at)
			if err != nil {
				return err
			}
			begun[at] = true
		}
		return nil
	})
	if err != nil || seen.Looks == 0 || seen.Busy != seen.Looks || seen.ForRows != 0 {
		t.Errorf("%+v, %v", seen, err)
	}
}

func TestEventsAreSeen(t *testing.T) {
	r := newRoom(t)
	holder, waiter, other, outside := r.enter("waiter 1"), r.enter("waiter 2"), r.enter("waiter 3"), r.enter("stranger")
	r.must(holder, "CREATE TABLE events_waited_for AS SELECT 1 AS a")
	r.must(other, "BEGIN")
	r.must(holder, "BEGIN; UPDATE events_waited_for SET a = 2")
	waited := make(chan error, 1)
	go func() {
		_, err := waiter.Exec(t.Context(), "UPDATE events_waited_for SET a = 3")
		waited <- err
	}()
	r.until("the update waits for the other", outside, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock')", int64(waiter.PgConn().PID()))
	looks := make(chan Look, 1)
	err := r.looker.WatchEvents(t.Context(), "waiter", time.Millisecond, func(l Look) {
		select {
		case looks <- l:
		default:
		}
	}, func() error {
		select {
		case l := <-looks:
			if l.Sessions["Lock:transactionid"] != 1 || l.Sessions["Client:ClientRead"] != 2 || len(l.Sessions) != 2 || l.Took <= 0 {
				t.Errorf("one waits for a row, and two for their clients: %+v", l)
			}
		case <-time.After(5 * time.Minute):
			t.Error("no look within five minutes")
		}
		return nil
	})
	r.must(holder, "COMMIT")
	if err := errors.Join(err, <-waited); err != nil {
		t.Error(err)
	}
}
