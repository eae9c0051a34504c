package pgserver

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func answer(t *testing.T, dsn, sql string) (text string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), sql).Scan(&text); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}

func TestPromote(t *testing.T) {
	t.Parallel()
	needBinaries(t)
	s := openLocalTest(t)
	if err := s.CanHaveStandby(); err != nil {
		need(t, err, "the program that copies a server")
	}
	if err := s.Promote(t.Context()); err == nil || !strings.Contains(err.Error(), "no standby") {
		t.Errorf("without a standby: %v", err)
	}
	execSQL(t, s.DSN(), "CREATE TABLE kept (n int)")
	for _, want := range []string{"1", "2"} {
		if err := s.AddStandby(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.AddStandby(t.Context()); err == nil {
			t.Error("it has two standbys")
		}
		if got := setting(t, s.DSN(), "synchronous_standby_names"); got != "*" {
			t.Errorf("commits wait for %q", got)
		}
		old := s.cluster.place
		execSQL(t, s.DSN(), "INSERT INTO kept VALUES (1)")
		if err := s.Promote(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := answer(t, s.DSN(), "SELECT count(*)::text FROM kept"); got != want {
			t.Errorf("%s rows are there, want %s", got, want)
		}
		if got := setting(t, s.DSN(), "synchronous_standby_names"); got != "" {
			t.Errorf("commits wait for %q afterwards", got)
		}
		eventually(t, "the killed server's data are gone", func() bool { return !exists(old.cluster()) })
		for _, mode := range []StopMode{StopKill, StopFast} {
			if err := errors.Join(s.Stop(t.Context(), mode), s.Start(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		if got := answer(t, s.DSN(), "SELECT count(*)::text FROM kept"); got != want {
			t.Errorf("%s rows are there after a restart, want %s", got, want)
		}
	}
}

func TestUnfollow(t *testing.T) {
	t.Parallel()
	needBinaries(t)
	s := openLocalTest(t)
	if err := s.CanHaveStandby(); err != nil {
		need(t, err, "the program that copies a server")
	}
	if err := s.RemoveStandby(t.Context()); err != nil {
		t.Errorf("without a standby: %v", err)
	}
	if err := s.AddStandby(t.Context()); err != nil {
		t.Fatal(err)
	}
	removed := s.cluster.standby
	if err := s.RemoveStandby(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exists(removed.place.cluster()) || removed.proc.alive() {
		t.Error("the standby is still there")
	}
	execSQL(t, s.DSN(), "CREATE TABLE goes_on (n int)")
	// A standby that follows when the server is closed is removed with it.
	if err := s.AddStandby(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := s.cluster.standby
	if err := s.Close(t.Context()); err != nil || last.proc.alive() {
		t.Errorf("closing with a standby: %v", err)
	}
}

func TestFollowOthers(t *testing.T) {
	s := &Server{way: WayDSN}
	if err := errors.Join(s.CanHaveStandby(), s.AddStandby(t.Context()), s.Promote(t.Context())); !errors.Is(err, ErrNotManaged) || s.RemoveStandby(t.Context()) != nil {
		t.Errorf("got %v", err)
	}
}
