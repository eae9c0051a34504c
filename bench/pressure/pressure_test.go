package pressure_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/bench/pressure"
	"pulley/internal/pgtest"
	"pulley/scenarios"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

type store struct {
	*testing.T
	ctx  context.Context
	conn *pgx.Conn
	site pressure.Site
}

func newStore(t *testing.T) *store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	t.Cleanup(cancel)
	dsn := pgtest.DSN(t)
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
	s := &store{T: t, ctx: ctx, conn: conn, site: pressure.Site{DSN: dsn, Schema: pgtest.Schema(t)}}
	s.exec("CREATE SCHEMA " + s.site.Schema)
	s.exec("CREATE TABLE " + s.table() + " (id int) WITH (autovacuum_enabled = off)")
	s.exec("INSERT INTO " + s.table() + " SELECT generate_series(1, 1000)")
	return s
}

func (s *store) table() string { return s.site.Schema + ".item" }

func (s *store) exec(sql string) {
	s.Helper()
	if _, err := s.conn.Exec(s.ctx, sql); err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
}

func (s *store) number(sql string, args ...any) (n int64) {
	s.Helper()
	if err := s.conn.QueryRow(s.ctx, sql, args...).Scan(&n); err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (s *store) start(cfg scenarios.Pressure) *pressure.Running {
	s.Helper()
	r, err := pressure.Start(s.ctx, cfg, s.site)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// VACUUM removes deleted rows only after the held transaction has ended.
func TestHeldTransaction(t *testing.T) {
	s := newStore(t)
	dead := func() int64 {
		s.exec("VACUUM " + s.table())
		return s.number("SELECT pg_relation_size($1::regclass)", s.table())
	}
	before := dead()
	r := s.start(scenarios.Pressure{HeldTransaction: true})
	s.exec("DELETE FROM " + s.table())
	if held := dead(); held != before {
		t.Errorf("the table has %d bytes after a vacuum, and had %d: nothing was held", held, before)
	}
	report, err := r.Stop(s.ctx)
	if err != nil || report.HeldAge < 1 || len(report.Missing) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	for dead() != 0 { // a session of the server may hold it for a moment; fails when the test's time is over
	}
	if again, err := r.Stop(s.ctx); err != nil || len(again.Missing) > 0 {
		t.Errorf("stopping twice: %+v, %v", again, err)
	}
}

func TestEverythingPresses(t *testing.T) {
	pgtest.VerifyNoLeaks(t)
	s := newStore(t)
	slept := 0
	s.site.Store = func(_ context.Context, n int) error { slept = n; return nil }
	r := s.start(scenarios.Pressure{HeldTransaction: true, Readers: 2, ReadEvery: time.Millisecond, RoundTrip: time.Millisecond, Sleepers: 7, Connections: 2})
	conn, err := pgx.Connect(s.ctx, r.DSN())
	if err != nil {
		t.Fatal(err)
	}
	for r.ReadByAll() < 2 {
		s.exec("SELECT 1")
	}
	if err := conn.Close(s.ctx); err != nil {
		t.Fatal(err)
	}
	report, err := r.Stop(s.ctx)
	if err != nil || len(report.Missing) > 0 || report.Reads < 2 || report.RoundTrips < 1 || slept != 7 {
		t.Errorf("%+v, %v; %d sleepers", report, err, slept)
	}
	for n := int64(1); n != 0 && s.ctx.Err() == nil; {
		n = s.number("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()", pressure.Application)
	}
}

// The baseline of a distance uses the same relay, without the distance.
func TestRelay(t *testing.T) {
	s := newStore(t)
	relayed := scenarios.Pressure{Relayed: true}
	r := s.start(relayed)
	conn, err := pgx.Connect(s.ctx, r.DSN())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(s.ctx, "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(s.ctx); err != nil {
		t.Fatal(err)
	}
	report, err := r.Stop(s.ctx)
	if err != nil || len(report.Missing) > 0 || report.RoundTrips < 1 || r.DSN() == s.site.DSN {
		t.Errorf("%+v, %v; %s", report, err, r.DSN())
	}
	if got := relayed.String(); got != "a relay that delays nothing" {
		t.Error(got)
	}
}

func TestPressureThatWasNotThere(t *testing.T) {
	s := newStore(t)
	r := s.start(scenarios.Pressure{HeldTransaction: true, RoundTrip: time.Millisecond})
	for s.number("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()", pressure.Application) > 0 {
	}
	report, _ := r.Stop(s.ctx) // failures are in the report
	all := strings.Join(report.Missing, "\n")
	for _, want := range []string{"the held transaction has ended", "no round trip led through the relay"} {
		if !strings.Contains(all, want) {
			t.Errorf("want %q in %q", want, all)
		}
	}
}
