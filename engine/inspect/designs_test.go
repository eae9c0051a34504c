package inspect_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal"
	"pulley/engine/inspect"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/internal/pause"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// scene is a store of a design with an engine's backend, and another that only looks.
type scene struct {
	*testing.T
	design designs.Spec
	engine backend.Backend
	looks  backend.Inspector
}

func onEach(t *testing.T, test func(*scene)) {
	t.Helper()
	dsn := pgtest.DSN(t)
	for _, design := range designs.Durable() {
		schema := pgtest.SchemaOf(t, design.String())
		t.Run(design.String(), func(t *testing.T) {
			t.Parallel()
			s := &scene{T: t, design: design}
			if s.isJournal() {
				s.openJournal(postgres.Config{DSN: dsn, Schema: schema}, 24*time.Hour)
			} else {
				s.open(func() (backend.Backend, error) {
					return design.Open(t.Context(), designs.OpenOptions{DSN: dsn, Schema: schema})
				})
			}
			test(s)
		})
	}
}

func (s *scene) openJournal(store postgres.Config, evictAfter time.Duration) {
	s.Helper()
	s.open(func() (backend.Backend, error) {
		return journal.Open(s.Context(), journal.Config{Store: store, EvictAfter: evictAfter})
	})
}

// open opens the engine's backend, and the one that looks.
func (s *scene) open(open func() (backend.Backend, error)) {
	s.Helper()
	var both [2]backend.Backend
	for i := range both {
		b, err := open()
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(b.Close)
		both[i] = b
	}
	s.engine, s.looks = both[0], both[1].(backend.Inspector)
}

func (s *scene) isJournal() bool { return s.design.Name() == "journal" }

func (s *scene) submit(source, input string) uuid.UUID {
	s.Helper()
	p, err := plan.CompileText("p.ir", []byte(source), ir.Limits{})
	if err != nil {
		s.Fatal(err)
	}
	id := uuid.Must(uuid.NewV7())
	out, err := s.engine.Submit(s.Context(), []backend.Submission{{ID: id, Program: p, Input: json.RawMessage(input)}}, backend.Grant{})
	if err != nil || out.Outcomes[0].Answer != backend.Applied {
		s.Fatalf("%+v, %v", out, err)
	}
	return id
}

// claim leases what is due of an instance.
func (s *scene) claim(id uuid.UUID, most int, lease time.Duration) []backend.Task {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	for {
		out, err := s.engine.Claim(ctx, backend.ShardOf(id, s.engine.Shards()), backend.Grant{Owner: "engine one", Max: most, Lease: lease})
		if err != nil {
			s.Fatal(err)
		}
		if len(out.Tasks) > 0 {
			return out.Tasks
		}
	}
}

func (s *scene) complete(tasks []backend.Task, failure *plan.Failure) {
	s.Helper()
	var cs []backend.Completion
	for _, t := range tasks {
		c := backend.Completion{Lease: t.Lease, Program: t.Program, Attempt: t.Attempt, Failure: failure}
		if failure == nil {
			c.Result = json.RawMessage("1")
		}
		cs = append(cs, c)
	}
	out, err := s.engine.Complete(s.Context(), backend.ShardOf(tasks[0].Lease.Key.Instance, s.engine.Shards()), cs, backend.Grant{})
	if err != nil {
		s.Fatal(err)
	}
	for _, o := range out.Outcomes {
		if o.Answer != backend.Applied {
			s.Fatalf("%+v", o)
		}
	}
}

func (s *scene) why(id uuid.UUID) inspect.Explanation {
	s.Helper()
	got, err := s.looks.Inspect(s.Context(), id, 100)
	if err != nil {
		s.Fatal(err)
	}
	return inspect.Explain(got)
}

func (s *scene) want(id uuid.UUID, reason inspect.Reason, parts ...string) inspect.Wait {
	s.Helper()
	e := s.why(id)
	if e.Waits[0].Reason != reason {
		s.Errorf("the reason is %s, want %s: %s", e.Waits[0].Reason, reason, e.Sentence)
	}
	for _, part := range parts {
		if !strings.Contains(e.Sentence, part) {
			s.Errorf("%q does not have %q", e.Sentence, part)
		}
	}
	return e.Waits[0]
}

const oneTask = "fn main(input: [], output: [x]):\n    x = @fetch() [retry: 2, backoff: 1 h]\n    return x\n"

func TestWhyOfATask(t *testing.T) {
	t.Parallel()
	onEach(t, func(s *scene) {
		id := s.submit(oneTask, "{}")
		if s.isJournal() {
			s.want(id, inspect.Adoption, "for an engine to adopt it: nobody owns its shard.")
		} else {
			s.want(id, inspect.Worker, "for an engine to take @fetch, which is ready since")
		}
		tasks := s.claim(id, 10, time.Hour)
		w := s.want(id, inspect.Lease, "has leased until", "(attempt 1 of 3)")
		if w.Attempt != 1 || w.Attempts != 3 || w.Deliveries != 1 || w.Action != "fetch" || w.Until == nil || w.Engine != map[bool]string{false: "engine one"}[s.isJournal()] {
			s.Errorf("%+v", w)
		}
		s.complete(tasks, &plan.Failure{Type: "Busy", Message: "later", Action: "fetch"})
		if w := s.want(id, inspect.Retry, "to retry @fetch: attempt 1 failed, and attempt 2 of 3 follows"); w.Attempt != 2 || w.Until == nil {
			s.Errorf("%+v", w)
		}
		if _, err := s.engine.(backend.Canceler).Cancel(s.Context(), []uuid.UUID{id}, "enough"); err != nil {
			s.Fatal(err)
		}
		s.want(id, inspect.Ended, "it was canceled at", "with Canceled: enough")
	})
}

func TestWhyOfALostEngine(t *testing.T) {
	t.Parallel()
	onEach(t, func(s *scene) {
		id := s.submit(oneTask, "{}")
		s.claim(id, 10, time.Millisecond)
		for deadline := time.Now().Add(time.Minute); s.why(id).Waits[0].Reason == inspect.Lease && time.Now().Before(deadline); {
		}
		w := s.want(id, inspect.LostEngine, "to take over @fetch: the lease of", "expired at", "has exited or is cut off")
		if age := time.Since(*w.Since); age < 0 || age > time.Hour {
			s.Errorf("it expired %s ago", age)
		}
		shard := backend.ShardOf(id, s.engine.Shards())
		if _, err := s.engine.Sweep(s.Context(), shard); err != nil { // moves it to the front
			s.Fatal(err)
		}
		if w := s.want(id, inspect.LostEngine); w.Since.Year() < 2000 {
			s.Errorf("it expired at %s", w.Since)
		}
		tasks := s.claim(id, 10, time.Hour)
		s.want(id, inspect.Lease, "delivery 2: its engine was lost before")
		s.complete(tasks, nil)
		s.want(id, inspect.Ended, "it completed at")
	})
}

func TestWhyOfABarrierWith3Of7(t *testing.T) {
	t.Parallel()
	onEach(t, func(s *scene) {
		id := s.submit("fn main(input: [xs], output: [all]):\n    all = spread xs:x -> @fetch(x=x)\n    return all\n", `{"xs": [0, 1, 2, 3, 4, 5, 6]}`)
		for range 3 {
			s.complete(s.claim(id, 1, time.Hour)[:1], nil)
		}
		s.claim(id, 1, time.Hour)
		e := s.why(id)
		s.want(id, inspect.Lease, "barrier spread_all has 3 of 7 arrivals; 3 more ready.")
		i := slices.IndexFunc(e.Waits, func(w inspect.Wait) bool { return w.Reason == inspect.Barrier })
		if i < 0 || *e.Waits[i].Completed != 3 || *e.Waits[i].Required != 7 {
			s.Errorf("%+v", e.Waits)
		}
		got, err := s.looks.Inspect(s.Context(), id, 2)
		if err != nil || !got.Cut || len(got.Runs) != 2 {
			s.Errorf("of two node runs: %+v, %v", got, err)
		}
		done := 0
		for _, n := range got.Done {
			done += n
		}
		if keeps := strings.HasPrefix(s.design.Name(), "pull") || s.design.Name() == "eager"; keeps != (got.Done != nil) || keeps && done != 3 {
			s.Errorf("done: %v", got.Done)
		}
	})
}

// A journal's engine evicts what waits for long, and then knows only when it is due.
func TestWhyOfAnEvictedSleep(t *testing.T) {
	t.Parallel()
	s := &scene{T: t}
	s.openJournal(postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.SchemaOf(t, "journal")}, 10*time.Millisecond)
	id := s.submit("fn main(input: [], output: [x]):\n    sleep 3600\n    x = 1\n    return x\n", "{}")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for s.why(id).Waits[0].Reason != inspect.Evicted {
		if pause.For(ctx, 10*time.Millisecond) != nil {
			t.Fatal("it was not evicted")
		}
		if _, err := s.engine.Claim(ctx, backend.ShardOf(id, s.engine.Shards()), backend.Grant{Owner: "engine one", Lease: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	if w := s.want(id, inspect.Evicted, "when the first of its node runs is due; engine "); w.Until == nil || time.Until(*w.Until) < 50*time.Minute {
		t.Errorf("%+v", w)
	}
}

func TestWhyOfASleep(t *testing.T) {
	t.Parallel()
	onEach(t, func(s *scene) {
		id := s.submit("fn main(input: [], output: [x]):\n    x = @fetch()\n    sleep 3600\n    return x\n", "{}")
		s.complete(s.claim(id, 1, time.Hour), nil)
		w := s.want(id, inspect.Sleep)
		if left := time.Until(*w.Until); left < 50*time.Minute || left > 61*time.Minute {
			s.Errorf("it sleeps for %s", left)
		}
	})
}

func TestListPages(t *testing.T) {
	t.Parallel()
	onEach(t, func(s *scene) {
		var ids []uuid.UUID
		for range 23 {
			ids = append(ids, s.submit(oneTask, "{}"))
		}
		other := s.submit("fn main(input: [], output: [x]):\n    x = 1\n", "{}") // it ends at its start
		all := append(slices.Clone(ids), other)
		for _, most := range []int{1, 5, 24, 100} {
			var got []uuid.UUID
			f := backend.Filter{Most: most, CountMost: 10}
			for {
				page, err := s.looks.List(s.Context(), f)
				if err != nil {
					s.Fatal(err)
				}
				for _, in := range page.Instances {
					got = append(got, in.ID)
				}
				if len(page.Instances) > most || page.Next == uuid.Nil {
					break
				}
				f.After = page.Next
			}
			want := slices.Clone(all)
			slices.SortFunc(want, func(a, b uuid.UUID) int { return strings.Compare(b.String(), a.String()) })
			if !slices.Equal(got, want) {
				s.Errorf("pages of %d: %d instances, want %d: %v", most, len(got), len(want), got)
			}
		}
		for name, c := range map[string]struct {
			f backend.Filter
			n int
		}{
			"completed": {backend.Filter{Status: backend.Completed}, 1}, "running": {backend.Filter{Status: backend.Running}, 23},
			"failed": {backend.Filter{Status: backend.Failed}, 0}, "workflow": {backend.Filter{Workflow: "p.ir"}, 24}, "no workflow": {backend.Filter{Workflow: "q.ir"}, 0},
			"old": {backend.Filter{Before: time.Now().Add(-time.Hour)}, 0}, "young": {backend.Filter{Since: time.Now().Add(-time.Hour)}, 24},
		} {
			c.f.Most, c.f.CountMost = 100, 10
			page, err := s.looks.List(s.Context(), c.f)
			if err != nil || len(page.Instances) != c.n || page.Next != uuid.Nil {
				s.Errorf("%s: %d instances and %s, %v, want %d", name, len(page.Instances), page.Next, err, c.n)
			}
			for _, in := range page.Instances {
				switch {
				case in.Workflow != "p.ir" || in.Submitted.IsZero() || in.Ended.IsZero() != (in.Status == backend.Running):
					s.Errorf("%+v", in)
				case in.Status == backend.Running && !s.isJournal() && (in.Counts == nil || in.Counts.Waiting != 1 || in.Counts.Running != 0):
					s.Errorf("%+v", in.Counts)
				}
			}
		}
	})
}

func TestUnknownInstance(t *testing.T) {
	t.Parallel()
	onEach(t, func(s *scene) {
		s.want(uuid.New(), inspect.Unknown, "There is no such instance.")
		if _, err := s.looks.Inspect(s.Context(), uuid.New(), 0); err == nil {
			s.Error("no node runs at all")
		}
		if _, err := s.looks.List(s.Context(), backend.Filter{}); err == nil {
			s.Error("no instances at all")
		}
	})
}

func TestPurge(t *testing.T) {
	t.Parallel()
	onEach(t, func(s *scene) {
		store := s.engine.(backend.Purger)
		kept := s.submit(oneTask, "{}")
		var ended []uuid.UUID
		for range 9 {
			ended = append(ended, s.submit("fn main(input: [], output: [x]):\n    x = 1\n", "{}"))
		}
		purge := func(age time.Duration, dry bool) (n int) {
			for shard := range s.engine.Shards() {
				got, err := store.Purge(s.Context(), shard, uuid.Nil, age, dry)
				if err != nil || got.More || got.Failed+got.Canceled > 0 {
					s.Fatalf("%+v, %v", got, err)
				}
				n += got.Completed
			}
			return n
		}
		if n := purge(time.Hour, false); n != 0 {
			s.Errorf("%d young instances were deleted", n)
		}
		if n := purge(0, true); n != 9 {
			s.Errorf("%d instances would be deleted, want 9", n)
		}
		if n := purge(0, false); n != 9 {
			s.Errorf("%d instances were deleted, want 9", n)
		}
		found, err := s.engine.Lookup(s.Context(), append(ended, kept))
		if err != nil {
			s.Fatal(err)
		}
		for i, in := range found {
			if want := map[bool]backend.Status{true: backend.Running}[i == len(ended)]; in.Status != want {
				s.Errorf("instance %d is %q, want %q", i, in.Status, want)
			}
		}
		if _, err := store.Purge(s.Context(), s.engine.Shards(), uuid.Nil, 0, false); err == nil {
			s.Error("there is no such shard")
		}
	})
}
