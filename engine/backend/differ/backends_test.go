package differ_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/differ"
	"pulley/engine/backend/memory"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/eager"
	"pulley/engine/backend/postgres/journal"
	"pulley/engine/backend/postgres/pull"
	"pulley/engine/backend/postgres/push"
	"pulley/engine/pgserver/pgtest"
)

// design is a backend to hold against the reference.
type design struct {
	name    string
	waiting bool // on a server: several are tested at a time, with fewer programs
	planted bool // it has a bug
	open    func(t testing.TB) differ.Store
}

// designs lists all backends.
func designs() []design {
	return []design{
		{"memory", false, false, onMemory},
		{"push", true, false, onPostgres("push", func(ctx context.Context, cfg postgres.Config) (postgresBackend, error) {
			return push.Open(ctx, push.Config{Store: cfg})
		})},
		{"journal", true, false, onPostgres("journal", func(ctx context.Context, cfg postgres.Config) (postgresBackend, error) {
			return journal.Open(ctx, journal.Config{Store: cfg})
		})},
		{"eager", true, false, onPostgres("eager", func(ctx context.Context, cfg postgres.Config) (postgresBackend, error) {
			return eager.Open(ctx, eager.Config{Store: cfg})
		})},
		{"pull", true, false, onPostgres("pull:scan=app", func(ctx context.Context, cfg postgres.Config) (postgresBackend, error) {
			return pull.Open(ctx, pull.Config{Store: cfg, Scan: pull.ScanApp})
		})},
		{"pull-sql", true, false, onPostgres("pull:scan=sql", func(ctx context.Context, cfg postgres.Config) (postgresBackend, error) {
			return pull.Open(ctx, pull.Config{Store: cfg, Scan: pull.ScanSQL})
		})},
	}
}

// planted lists memory with a bug each. They show that a bug is found, and run only where they are named.
func planted() []design {
	with := func(bug func(backend.Backend) backend.Backend) func(testing.TB) differ.Store {
		return func(t testing.TB) differ.Store {
			s := onMemory(t)
			s.Backend = bug(s.Backend)
			return s
		}
	}
	return []design{
		{"planted-type", false, true, with(func(b backend.Backend) backend.Backend { return losesType{b} })},
		{"planted-stale", false, true, with(func(b backend.Backend) backend.Backend { return takesStale{b} })},
		{"planted-order", false, true, with(func(b backend.Backend) backend.Backend { return swapsResults{b} })},
	}
}

// losesType takes every Boom for an Other.
type losesType struct{ backend.Backend }

func (b losesType) Complete(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
	cs = slices.Clone(cs)
	for i := range cs {
		if f := cs[i].Failure; f != nil && f.Type == "Boom" {
			other := *f
			other.Type = "Other"
			cs[i].Failure = &other
		}
	}
	return b.Backend.Complete(ctx, shard, cs, g)
}

// takesStale answers applied to whom the store answers stale.
type takesStale struct{ backend.Backend }

func (b takesStale) Complete(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
	out, err := b.Backend.Complete(ctx, shard, cs, g)
	for i := range out.Outcomes {
		if out.Outcomes[i].Answer == backend.Stale {
			out.Outcomes[i].Answer = backend.Applied
		}
	}
	return out, err
}

// swapsResults gives the elements of a spread that complete in one call each other's results.
type swapsResults struct{ backend.Backend }

func (b swapsResults) Complete(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
	if len(cs) == 2 && cs[0].Lease.Key.Run.Node == cs[1].Lease.Key.Run.Node {
		cs = slices.Clone(cs)
		cs[0].Result, cs[1].Result = cs[1].Result, cs[0].Result
	}
	return b.Backend.Complete(ctx, shard, cs, g)
}

// onMemory gives a store whose clock the case moves, and which can crash at every step.
func onMemory(testing.TB) differ.Store {
	now := time.Unix(1_000_000, 0)
	var crash func(string) error
	b := memory.New(memory.Options{
		Clock: func() time.Time { return now },
		Crash: func(point string) error {
			if crash == nil {
				return nil
			}
			return crash(point)
		},
		Jitter: func() float64 { return 0.5 },
	})
	return differ.Store{
		Backend:   b,
		Leftovers: b.Leftovers,
		Advance:   func(d time.Duration) { now = now.Add(d) },
		Crash:     func(f func(string) error) { crash = f },
	}
}

type postgresBackend interface {
	backend.Backend
	Leftovers(ctx context.Context) (map[string]int, error)
}

// onPostgres gives a store in a schema of its own.
func onPostgres(design string, open func(context.Context, postgres.Config) (postgresBackend, error)) func(testing.TB) differ.Store {
	return func(t testing.TB) differ.Store {
		b, err := open(context.Background(), postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.SchemaOf(t, design), Shards: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return differ.Store{Backend: b, Leftovers: b.Leftovers}
	}
}
