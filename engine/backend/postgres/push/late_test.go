package push

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
	"pulley/internal/pgtest"
)

// TestLateCommit checks that a commit that arrives after its completion was resolved is stale and changes nothing (I3). In a
// transaction only COMMIT is late, while the resolver waits for its rows.
func TestLateCommit(t *testing.T) {
	t.Run("one statement", func(t *testing.T) {
		w := newWorld(t)
		warm := scene{name: "warm", trial: func(w *world) designtest.Trial { return w.offering(backendtest.Ran(w.Launch(designtest.Sequence)[0])) }}
		for range 5 {
			w.warm(warm)
			task := w.Launch(designtest.Sequence)[0]
			w.proxy.Set(pgtest.Cut{Client: true, K: 1, Mode: pgtest.CutHold})
			out, err := w.through.Complete(w.Ctx, 0, []backend.Completion{backendtest.Ran(task)}, backendtest.Granted(1))
			if err != nil || out.Outcomes[0].Answer != backend.Applied || len(out.Tasks) != 1 {
				t.Fatalf("%+v, %v; want it applied on another connection", out, err)
			}
			if !w.proxy.Unset() {
				t.Fatal("inconclusive: nothing was held")
			}
			before := w.Dump(task.Lease.Key.Instance)
			if err := w.proxy.Release(); err != nil {
				t.Fatalf("the late commit did not reach the server: %v", err)
			}
			if after := w.Dump(task.Lease.Key.Instance); after != before {
				t.Fatalf("I3: the late commit changed\n%s\nto\n%s", before, after)
			}
		}
		w.finish()
	})
	for name, next := range map[string]func(w *world) backend.Task{
		"transaction": func(w *world) backend.Task { return w.Launch(designtest.Alone)[0] },
		"one round trip": func(w *world) backend.Task { // which also clears a loop's round
			return w.Complete(backendtest.Ran(w.Launch(designtest.Looping)[0])).Tasks[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			warm := scene{name: "warm", trial: func(w *world) designtest.Trial { return w.offering(backendtest.Ran(next(w))) }}
			held := 0
			for k := 1; ; k++ {
				w.warm(warm)
				fired, late := w.lateCOMMIT(backendtest.Ran(next(w)), k)
				if late {
					held++
				}
				if !fired {
					break
				}
			}
			if held == 0 {
				t.Error("inconclusive: nobody waited for a transaction whose COMMIT was late")
			}
			w.finish()
		})
	}
}

// lateCOMMIT holds the client's messages from k on until a session waits for the transaction's rows. It reports whether message k
// was sent, and whether a session waited.
func (w *world) lateCOMMIT(c backend.Completion, k int) (fired, late bool) {
	w.Helper()
	w.proxy.Set(pgtest.Cut{Client: true, K: k, Mode: pgtest.CutHold})
	answered := make(chan error, 1)
	var out backend.Committed
	go func() {
		var err error
		out, err = w.through.Complete(w.Ctx, 0, []backend.Completion{c}, backendtest.Granted(1))
		answered <- err
	}()
	late = w.waits(answered, 1)
	fired = w.proxy.Unset()
	if fired {
		if err := w.proxy.Release(); err != nil {
			w.Fatalf("message %d: the late commit did not reach the server: %v", k, err)
		}
	}
	err := <-answered
	again := w.Complete(c).Outcomes[0].Answer
	switch {
	case err == nil && (out.Outcomes[0].Answer != backend.Applied || again != backend.Stale):
		w.Fatalf("message %d: answered %+v, and offered again: %s", k, out.Outcomes, again)
	case err != nil && !backend.IsUnknown(err) && again != backend.Applied:
		w.Fatalf("message %d: failed (%v), and offered again: %s", k, err, again)
	}
	return fired, late
}

func (w *world) waits(answered chan error, sessions int) bool {
	for {
		select {
		case err := <-answered:
			answered <- err
			return false
		default:
		}
		var waiting bool
		err := w.direct.store.Pool.QueryRow(w.Ctx, `
			SELECT count(*) >= $2 FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = left($1, 63)`, w.cuttable().Application, sessions).Scan(&waiting)
		if err != nil || waiting {
			return err == nil
		}
	}
}

func TestUnreachable(t *testing.T) {
	w := newWorld(t)
	task := w.Launch(designtest.Sequence)[0]
	w.proxy.Set(pgtest.Cut{Client: true, K: 1, Fresh: true, Dead: true})
	w.through.store.Pgx().Reset()
	for name, call := range map[string]func() error{
		"complete": func() error {
			_, err := w.through.Complete(w.Ctx, 0, []backend.Completion{backendtest.Ran(task)}, backendtest.Granted(1))
			return err
		},
		"claim": func() error { _, err := w.through.Claim(w.Ctx, 0, backendtest.Granted(1)); return err },
		"extend": func() error {
			_, err := w.through.Renew(w.Ctx, 0, []backend.Lease{task.Lease}, backendtest.Granted(0))
			return err
		},
		"submit": func() error {
			_, err := w.through.Submit(w.Ctx, []backend.Submission{w.Instance(designtest.Sequence)}, backendtest.Granted(1))
			return err
		},
		"sweep":     func() error { _, err := w.through.Sweep(w.Ctx, 0); return err },
		"lookup":    func() error { _, err := w.through.Lookup(w.Ctx, []uuid.UUID{task.Lease.Key.Instance}); return err },
		"notify":    func() error { return w.through.Notify(w.Ctx) },
		"listen":    func() error { return w.through.Listen(w.Ctx, func() {}) },
		"leftovers": func() error { _, err := w.through.Leftovers(w.Ctx); return err },
	} {
		if err := call(); err == nil || backend.IsUnknown(err) || errors.Is(err, w.Ctx.Err()) {
			t.Errorf("%s without a server: %v; want an error that says that nothing happened", name, err)
		}
	}
	w.proxy.Unset()
	w.finish()
}

// TestResolve resolves commits: one that was applied; one that was not, whose completion another process has committed, also so
// late that its slot may have been deleted; and one of a completion that is still open.
func TestResolve(t *testing.T) {
	w := newWorld(t)
	b := w.through
	took := func(cs []backend.Completion, m commitSlot) error {
		events := b.completed(0, cs, pgstore.NewOutcomes(len(cs)))
		var err error
		if events[0].plan, err = events[0].program.Step(events[0].coreEvent(), plan.Inbox{}, 0); err == nil {
			_, err = b.applyEvents(w.Ctx, 0, events, backendtest.Granted(1), lockSet{}, m)
		}
		return err
	}
	another := func(cs []backend.Completion, _ commitSlot) error {
		_, err := w.direct.Complete(w.Ctx, 0, cs, backendtest.Granted(1))
		return err
	}
	for name, c := range map[string]struct {
		before func(cs []backend.Completion, m commitSlot) error
		late   time.Duration
		want   backend.Answer // empty: open, to be committed again
	}{
		"was applied":                 {took, 0, backend.Applied},
		"was applied, asked late":     {took, commitSlotRetention, backend.Applied},
		"made by another":             {another, 0, backend.Stale},
		"made by another, asked late": {another, commitSlotRetention, backend.Again},
		"open":                        {func([]backend.Completion, commitSlot) error { return nil }, 0, ""},
		"open, asked late":            {func([]backend.Completion, commitSlot) error { return nil }, commitSlotRetention, ""},
	} {
		cs := []backend.Completion{backendtest.Ran(w.Launch(designtest.Sequence)[0])}
		m := b.slots.next(b.slots.acquire(0))
		if err := c.before(cs, m); err != nil {
			t.Fatal(name, err)
		}
		out := pgstore.NewOutcomes(1)
		open, err := b.resolveCommit(w.Ctx, 0, b.completed(0, cs, out), m, time.Now().Add(-c.late), out)
		if got := out.Answers[0].Answer; err != nil || got != c.want || (len(open) == 1) != (c.want == "") {
			t.Errorf("%s: answered %q, %d open, %v; want %q", name, got, len(open), err, c.want)
		}
		if a := out.Answers[0]; a.Answer == backend.Again && !backend.IsUnknown(a.Err) {
			t.Errorf("%s: %v; want an error that leaves open what happened", name, a.Err)
		}
	}
	w.finish()
}

// TestPlaceOfALostTransaction cuts a transaction's connection at every message of the server before COMMIT, and checks that its
// slot is not reused: the server may still be executing it, and lock the slot later.
func TestPlaceOfALostTransaction(t *testing.T) {
	w := newWorld(t)
	all := scenes()
	s := all[slices.IndexFunc(all, func(s scene) bool { return s.name == "opens a barrier" })]
	marks := w.through.slots
	lost := 0
	for k := 1; ; k++ {
		w.warm(s)
		tr := s.trial(w)
		free := len(marks.free[0])
		if free == 0 {
			t.Fatal("a commit that was confirmed keeps its place")
		}
		place := marks.free[0][free-1] // of the next commit
		w.proxy.Set(pgtest.Cut{K: k, Mode: pgtest.CutBefore})
		err := tr.Call()
		fired := w.proxy.Unset()
		if err := tr.Judge(err); err != nil {
			t.Errorf("message %d: %v", k, err)
		}
		if !fired {
			break
		}
		if err != nil && !backend.IsUnknown(err) {
			if lost++; slices.Contains(marks.free[0], place) {
				t.Errorf("message %d: %v, and place %d is free", k, err, place)
			}
		}
	}
	if lost == 0 {
		t.Error("inconclusive: no transaction was lost before its COMMIT")
	}
	w.finish()
}

// TestPlaceOfAnUnclearCommit cuts the connection at every message of the server, for good, and checks that the slot of a commit
// that cannot be resolved is not reused.
func TestPlaceOfAnUnclearCommit(t *testing.T) {
	w := newWorld(t)
	all := scenes()
	s := all[slices.IndexFunc(all, func(s scene) bool { return s.name == "opens a barrier" })]
	marks := w.through.slots
	unclear := 0
	for k := 1; ; k++ {
		w.warm(s)
		tr := s.trial(w)
		place := marks.free[0][len(marks.free[0])-1] // of the next commit
		w.proxy.Set(pgtest.Cut{K: k, Mode: pgtest.CutBefore, Dead: true})
		err := tr.Call()
		if !w.proxy.Unset() {
			break
		}
		if backend.IsUnknown(err) {
			if unclear++; slices.Contains(marks.free[0], place) {
				t.Errorf("message %d: %v, and place %d is free", k, err, place)
			}
		}
	}
	if unclear == 0 {
		t.Error("inconclusive: what became of each commit was found out")
	}
	w.finish()
}

// TestFenceLocksNoLaterLease checks that the transaction which resolves a commit locks no row that was leased again since: its new
// owner can renew the lease concurrently, since a renewal skips locked rows.
func TestFenceLocksNoLaterLease(t *testing.T) {
	w := newWorld(t)
	old := leasesOf([]backend.Completion{{Lease: w.Launch(designtest.Sequence)[0].Lease}})
	w.Expire()
	found, err := w.B.Claim(w.Ctx, 0, backendtest.Granted(1))
	if err != nil || len(found.Tasks) != 1 {
		t.Fatalf("%d tasks, %v", len(found.Tasks), err)
	}
	err = pgx.BeginFunc(w.Ctx, w.through.store.Pgx(), func(tx pgx.Tx) error {
		var number, token int64
		err := tx.QueryRow(w.Ctx, fenceSQL, old.Parameters(0)...).Scan(&number, &token)
		if !errors.Is(err, pgx.ErrNoRows) {
			t.Errorf("the old lease is fenced: %v", err)
		}
		kept, err := w.B.Renew(w.Ctx, 0, []backend.Lease{found.Tasks[0].Lease}, backendtest.Granted(0))
		if err != nil || !kept[0] {
			t.Errorf("the new lease is held: %v, %v", kept, err)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	w.finish()
}
