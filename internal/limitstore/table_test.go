package limitstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend/postgres"
	"pulley/engine/limit"
	"pulley/internal/pgstore"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func openStore(t *testing.T) (context.Context, *pgstore.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	store, err := pgstore.Open(ctx, postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t)}, fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return ctx, store
}

// Without a store, as on a simulated host, calls fail and say so.
func TestTableWithoutAStore(t *testing.T) {
	ctx := t.Context()
	var b LimitTable
	_, removed := b.RemoveLimit(ctx, "x")
	_, _, listed := b.Limits(ctx)
	_, saved := b.SaveLimits(ctx, nil)
	_, admitted := b.Admit(ctx, "x", nil)
	for _, err := range []error{b.SetLimit(ctx, limit.Limit{}), removed, listed, saved, admitted} {
		if !errors.Is(err, errNoStore) {
			t.Errorf("got %v", err)
		}
	}
}

// A limit that this version cannot read is an error that names it; nothing is taken for unlimited.
func TestUnreadableLimit(t *testing.T) {
	ctx, store := openStore(t)
	if _, err := store.Pool.Exec(ctx, `INSERT INTO limits (name, spec) VALUES ('later', '{"actions": 7}')`); err != nil {
		t.Fatal(err)
	}
	if _, _, err := On(store).Limits(ctx); err == nil || !strings.Contains(err.Error(), "limit later: it is not as this version of pulley writes it") {
		t.Errorf("got %v", err)
	}
}

// An instance that was admitted, and never stored, keeps its place for a minute: who submits it may have been killed.
func TestPlacesOfKilledSubmitters(t *testing.T) {
	ctx, store := openStore(t)
	table := On(store)
	if err := table.SetLimit(ctx, limit.Limit{Name: "one", Instances: 1}); err != nil {
		t.Fatal(err)
	}
	ids := []uuid.UUID{uuid.New(), uuid.New()}
	for i, c := range []struct {
		past string // of the admission
		want []string
	}{{"0s", []string{"", "one"}}, {"50s", []string{"", "one"}}, {"61s", []string{"one", ""}}} {
		// The pause between two looks is over, too.
		if _, err := store.Pool.Exec(ctx, `UPDATE limits SET state = json_build_object('admitted', state -> 'admitted')`); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Pool.Exec(ctx, `UPDATE admissions SET since = clock_timestamp() - $1::text::interval`, c.past); err != nil {
			t.Fatal(err)
		}
		wanted := ids
		if i == 2 {
			wanted = []uuid.UUID{ids[1], ids[0]} // its place is another's
			c.want = []string{"", "one"}
		}
		full, err := table.Admit(ctx, "flow.ir", wanted)
		if err != nil || !slices.Equal(full, c.want) {
			t.Errorf("%s after the admission, full are %q, %v; want %q", c.past, full, err, c.want)
		}
		var began bool // a repetition gives another minute
		if err := store.Pool.QueryRow(ctx, "SELECT bool_and(since > clock_timestamp() - interval '40 seconds') FROM admissions").Scan(&began); err != nil || !began {
			t.Errorf("%s after the admission, a repetition is no new one, %v", c.past, err)
		}
	}
	if found, _, err := table.Limits(ctx); err != nil || found[0].State.Admitted != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// A limit that is removed, or replaced by one of actions, leaves no places.
func TestPlacesOfRemovedLimits(t *testing.T) {
	ctx, store := openStore(t)
	table := On(store)
	for what, end := range map[string]func() error{
		"removed": func() error { _, err := table.RemoveLimit(ctx, "x"); return err },
		"replaced": func() error {
			return table.SetLimit(ctx, limit.Limit{Name: "x", Actions: []string{"a"}, Concurrency: 1})
		},
	} {
		if err := table.SetLimit(ctx, limit.Limit{Name: "x", Instances: 3}); err != nil {
			t.Fatal(err)
		}
		if _, err := table.Admit(ctx, "flow.ir", []uuid.UUID{uuid.New(), uuid.New()}); err != nil {
			t.Fatal(err)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := store.Pool.QueryRow(ctx, "SELECT count(*) FROM admissions").Scan(&left); err != nil || left > 0 {
			t.Errorf("a limit that was %s leaves %d places, %v", what, left, err)
		}
	}
}

// A full limit with many places is looked through at most a tenth of the time.
func TestLooksAreRare(t *testing.T) {
	ctx, store := openStore(t)
	table := On(store)
	if err := table.SetLimit(ctx, limit.Limit{Name: "many", Instances: 20_000}); err != nil {
		t.Fatal(err)
	}
	ids := make([]uuid.UUID, 20_000)
	for i := range ids {
		ids[i] = uuid.New()
	}
	if full, err := table.Admit(ctx, "flow.ir", ids); err != nil || slices.ContainsFunc(full, func(name string) bool { return name != "" }) {
		t.Fatalf("not all are admitted, %v", err)
	}
	begun, looks, last := time.Now(), 0, time.Time{}
	for range 200 {
		if full, err := table.Admit(ctx, "flow.ir", []uuid.UUID{uuid.New()}); err != nil || full[0] != "many" {
			t.Fatalf("%q, %v", full, err)
		}
		found, _, err := table.Limits(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if look := found[0].State.Look; look != last {
			looks, last = looks+1, look
		}
	}
	if looks == 0 || looks > 100 {
		t.Errorf("it looked %d times in 200 calls, in %v", looks, time.Since(begun))
	}
}
