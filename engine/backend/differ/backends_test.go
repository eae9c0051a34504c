package differ_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/backend/differ"
	"pulley/engine/backend/memory"
	"pulley/internal/pgtest"
)

type design struct {
	name    string
	waiting bool // on a server: several are tested at a time, with fewer programs
	planted bool // it has a bug
	open    func(t testing.TB) differ.Store
}

func genuine() []design {
	var list []design
	for _, spec := range designs.All() {
		d := design{name: spec.String(), waiting: spec.NeedsPostgres(), open: onMemory}
		if d.waiting {
			d.open = onPostgres(d.name)
		}
		list = append(list, d)
	}
	return list
}

// planted lists memory backends with a bug each. They show that bugs are found, and run only by name.
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

type swapsResults struct{ backend.Backend }

func (b swapsResults) Complete(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
	if len(cs) == 2 && cs[0].Lease.Key.Run.Node == cs[1].Lease.Key.Run.Node {
		cs = slices.Clone(cs)
		cs[0].Result, cs[1].Result = cs[1].Result, cs[0].Result
	}
	return b.Backend.Complete(ctx, shard, cs, g)
}

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

func onPostgres(design string) func(testing.TB) differ.Store {
	return func(t testing.TB) differ.Store {
		spec, err := designs.Parse(design + ":shards=1")
		if err != nil {
			t.Fatal(err)
		}
		b, err := spec.Open(context.Background(), designs.OpenOptions{DSN: pgtest.DSN(t), Schema: pgtest.SchemaOf(t, design)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		inside := b.(interface {
			Leftovers(ctx context.Context) (map[string]int, error)
		})
		return differ.Store{Backend: b, Leftovers: inside.Leftovers}
	}
}
