package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/adapter"
	"pulley/adapter/check"
	"pulley/adapter/host"
	"pulley/engine/pgserver"
)

// testWithin bounds a test, on a busy machine, too.
const testWithin = 8 * time.Minute

// openServer finds a Postgres, which PULLEY_DSN may name, or starts one.
func openServer(t *testing.T) (context.Context, *pgserver.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testWithin)
	t.Cleanup(cancel)
	server, err := pgserver.Open(ctx, pgserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	return ctx, server
}

// openStore installs PgQ in a database of its own.
func openStore(t *testing.T, settings settings) (context.Context, store) {
	t.Helper()
	ctx, server := openServer(t)
	database, err := host.NewStore(ctx, server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close(context.WithoutCancel(ctx)) })
	s, err := connect(ctx, database.DSN, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.create(ctx, settings); err != nil {
		t.Fatal(err)
	}
	return ctx, s
}

// TestCheck builds the adapter and has pulley's check look for mistakes of it.
func TestCheck(t *testing.T) {
	t.Parallel()
	ctx, server := openServer(t)
	binary := filepath.Join(t.TempDir(), "pgq")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	report, err := check.Run(ctx, check.Options{
		Command: []string{binary}, DSN: server.DSN(), Timeout: time.Minute, Log: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		t.Error(f)
	}
	if len(report.Passed) == 0 {
		t.Error("nothing was checked")
	}
	t.Logf("left out: %s", strings.Join(report.LeftOut, "; "))
}

// TestFinishedBatch shows that pgq_coop gives a batch to another subconsumer whose finish was committed, which the package comment
// tells of. It fails once pgq_coop does not do so any more.
func TestFinishedBatch(t *testing.T) {
	t.Parallel()
	ctx, s := openStore(t, defaults)
	if err := s.execute(ctx, `CREATE TABLE effects (event bigint, subconsumer text)`); err != nil {
		t.Fatal(err)
	}
	if err := s.execute(ctx, `SELECT pgq.insert_event('tasks', 'task', '')`); err != nil {
		t.Fatal(err)
	}
	process := func(tx pgx.Tx, batch int64, subconsumer string) (finished int) {
		if _, err := tx.Exec(ctx, `INSERT INTO effects SELECT ev_id, $2 FROM pgq.get_batch_events($1)`, batch, subconsumer); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRow(ctx, `SELECT pgq_coop.finish_batch($1)`, batch).Scan(&finished); err != nil {
			t.Fatal(err)
		}
		return finished
	}
	batch := awaitBatch(ctx, t, s, "slow")
	slow, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if finished := process(slow, batch, "slow"); finished != 1 {
		t.Fatalf("finish_batch returned %d", finished)
	}
	// The other one takes over while the first one is about to commit.
	taken := make(chan int64, 1)
	go func() {
		again, err := s.nextBatch(ctx, "other", time.Millisecond)
		if err != nil {
			t.Error(err)
		}
		taken <- again
	}()
	awaitBlocked(ctx, t, s)
	if err := slow.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if again := <-taken; again != batch {
		t.Fatalf("the other subconsumer got batch %d after batch %d was finished", again, batch)
	}
	err = pgx.BeginFunc(ctx, s, func(tx pgx.Tx) error {
		if finished := process(tx, batch, "other"); finished != 1 {
			t.Errorf("the second finish_batch returned %d", finished)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	twice, err := value[int](ctx, s, `SELECT count(*) FROM (SELECT event FROM effects GROUP BY event HAVING count(*) = 2) AS e`)
	if err != nil || *twice != 1 {
		t.Errorf("%d events have two effects (%v); the package comment tells of 1", *twice, err)
	}
}

// TestRotation checks that maintenance rotates the queue's tables, and that events come from each of them.
func TestRotation(t *testing.T) {
	t.Parallel()
	often := defaults
	often.rotation = time.Millisecond
	ctx, s := openStore(t, often)
	for used := map[int]bool{}; len(used) < 3; {
		table, err := value[int](ctx, s, `SELECT queue_cur_table FROM pgq.queue`)
		if err != nil {
			t.Fatal(err)
		}
		used[*table] = true
		if err := s.execute(ctx, `SELECT pgq.insert_event('tasks', 'task', '{}', 'instance', 'workload', 'a', NULL)`); err != nil {
			t.Fatal(err)
		}
		batch := awaitBatch(ctx, t, s, "only")
		events, err := s.events(ctx, batch)
		if err != nil || len(events) != 1 {
			t.Fatalf("a batch has %d events instead of the 1 in table %d (%v)", len(events), *table, err)
		}
		if err := s.finish(ctx, batch, nil, 0, false); err != nil {
			t.Fatal(err)
		}
		if err := s.maintain(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitBatch makes ticks until a subconsumer gets a batch with an event.
func awaitBatch(ctx context.Context, t *testing.T, s store, subconsumer string) int64 {
	t.Helper()
	for {
		if err := s.tick(ctx); err != nil {
			t.Fatal(err)
		}
		batch, err := s.nextBatch(ctx, subconsumer, 0)
		if err != nil {
			t.Fatal(err)
		}
		if batch > 0 {
			events, err := value[int](ctx, s, `SELECT count(*) FROM pgq.get_batch_events($1)`, batch)
			if err != nil {
				t.Fatal(err)
			}
			if *events > 0 {
				return batch
			}
			if err := s.finish(ctx, batch, nil, 0, false); err != nil {
				t.Fatal(err)
			}
		}
		if err := pause(ctx, pauseLeast); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitBlocked waits until a session of the database waits for a lock.
func awaitBlocked(ctx context.Context, t *testing.T, s store) {
	t.Helper()
	for {
		blocked, err := value[bool](ctx, s, `
			SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0)`)
		if err != nil {
			t.Fatal(err)
		}
		if *blocked {
			return
		}
		if err := pause(ctx, pauseLeast); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for _, s := range defaults.list() {
		texts[s.Name] = s.Default
	}
	if s, err := parseSettings(texts); err != nil || s != defaults {
		t.Errorf("the defaults are read as %+v (%v)", s, err)
	}
	for _, c := range []struct{ name, value, want string }{
		{"ticker_period_ms", "soon", `ticker_period_ms is "soon"; choose a number from 1 to 86400000`},
		{"ticker_max_count", "0", `ticker_max_count is "0"; choose a number from 1 to 86400000`},
		{"guard", "half", `guard is "half"; choose on or off`},
		{"dead_ms", "999", `dead_ms is "999"; choose a number from 1000 to 86400000`},
	} {
		before := texts[c.name]
		texts[c.name] = c.value
		_, err := (&system{}).Configure(&adapter.Env{Settings: texts})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s=%s: %v, want %q", c.name, c.value, err, c.want)
		}
		texts[c.name] = before
	}
}
