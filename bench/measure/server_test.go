package measure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"pulley/bench/measure"
	"pulley/internal/pause"
	"pulley/internal/pgtest"
	"pulley/reports/record"
)

// These tests need a server of their own, because other users, checkpoints and statement counters concern the whole server, and
// a database that nobody else has used.

const database = "pulley_measure"

func TestMain(m *testing.M) { pgtest.Main(m) }

var madeDatabase sync.Once

func serverDSN(t *testing.T) string {
	t.Helper()
	dsn := pgtest.Undisturbed(t).DSN()
	madeDatabase.Do(func() {
		admin, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := admin.Exec(t.Context(), "CREATE DATABASE "+database); err != nil {
			t.Fatal(err)
		}
		if err := admin.Close(t.Context()); err != nil { // it would be a stranger to every test
			t.Fatal(err)
		}
	})
	return dsn
}

// connect opens a connection whose work can be counted by hand: it prepares nothing, and its plans use an index if there is
// one.
func connect(t *testing.T, app string) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(serverDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Database = database
	cfg.RuntimeParams["application_name"] = app
	cfg.RuntimeParams["enable_bitmapscan"] = "off"
	if strings.HasPrefix(app, "load ") {
		cfg.RuntimeParams["enable_seqscan"] = "off" // still used without another plan
		cfg.RuntimeParams["jit"] = "off"            // otherwise such a plan's cost would trigger compilation
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func fixture(t *testing.T, schema string) (conn *pgx.Conn, scope measure.Scope) {
	t.Helper()
	scope = measure.Scope{Schema: schema, AppPrefix: "load " + schema}
	setup := connect(t, scope.AppPrefix+" setup") // the first snapshot waits for its statistics too
	name := pgx.Identifier{schema}.Sanitize()
	exec(t, setup, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements",
		"DROP SCHEMA IF EXISTS "+name+" CASCADE", "CREATE SCHEMA "+name,
		"CREATE TABLE "+name+".item (id int PRIMARY KEY, v int) WITH (autovacuum_enabled = off)",
		"INSERT INTO "+name+".item SELECT i, i FROM generate_series(1, 100) i",
		"VACUUM (ANALYZE) "+name+".item")
	if err := setup.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return connectAlone(t), scope
}

// connectAlone waits until the measuring connection is the only one. A session of an earlier test reports its counts when it
// ends, shortly after it was closed.
func connectAlone(t *testing.T) *pgx.Conn {
	t.Helper()
	conn := connect(t, "measuring")
	for deadline := time.Now().Add(5 * time.Minute); ; {
		var others int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()").Scan(&others); err != nil {
			t.Fatal(err)
		}
		if others == 0 {
			return conn
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d sessions of earlier tests are still there after five minutes", others)
		}
	}
}

func snapshot(t *testing.T, conn *pgx.Conn, scope measure.Scope) *measure.Counters {
	t.Helper()
	c, err := measure.Snapshot(t.Context(), conn, scope)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run measures the work on a separate connection, which is closed but not awaited.
func run(t *testing.T, schema string, work func(conn *pgx.Conn)) (record.Counters, []string) {
	t.Helper()
	conn, scope := fixture(t, schema)
	before := snapshot(t, conn, scope)
	load := connect(t, scope.AppPrefix+" 1")
	work(load)
	if err := load.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return measure.Delta(before, snapshot(t, conn, scope))
}

func ptr[T any](v T) *T { return &v }

func TestExactCounts(t *testing.T) {
	serverDSN(t)
	pgtest.VerifyNoLeaks(t)
	got, warnings := run(t, "exact", func(c *pgx.Conn) {
		exec(t, c, "INSERT INTO exact.item SELECT i, i FROM generate_series(101, 150) i") // 50 rows in
		exec(t, c, "SELECT sum(v) FROM exact.item")                                       // 150 rows by a sequential scan
		for i := range 10 {
			if _, err := c.Exec(t.Context(), "UPDATE exact.item SET v = 0 WHERE id = $1", i+1); err != nil { // 10 rows by index, 10 updated
				t.Fatal(err)
			}
		}
		exec(t, c, "BEGIN", "DELETE FROM exact.item WHERE id BETWEEN 51 AND 55", "COMMIT") // 5 rows by index, 5 deleted
		exec(t, c, "BEGIN", "DELETE FROM exact.item WHERE id = 100", "ROLLBACK")           // 1 row by index, 1 deleted
	})
	// What a transaction did before its rollback counts.
	want := record.Counters{
		RowsRead: ptr(int64(166)), SeqRowsRead: ptr(int64(150)), IndexRowsFetched: ptr(int64(16)), IndexEntriesRead: ptr(int64(16)),
		RowsInserted: ptr(int64(50)), RowsUpdated: ptr(int64(10)), RowsHOTUpdated: got.RowsHOTUpdated, RowsDeleted: ptr(int64(6)),
		Statements: ptr(int64(14)), Commits: ptr(int64(13)), Rollbacks: ptr(int64(1)),
		WriteTransactions: got.WriteTransactions, WALBytes: got.WALBytes, Deadlocks: ptr(int64(0)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\nwarnings: %q", diff, warnings)
	}
	// 50 rows inserted, 10 updated, 6 deleted: at least their tuple headers must be in the log.
	if got.WALBytes == nil || *got.WALBytes < 66*24 {
		t.Errorf("WAL bytes: %v", got.WALBytes)
	}
	if got.WriteTransactions == nil || *got.WriteTransactions < 13 {
		t.Errorf("write transactions: %v", got.WriteTransactions)
	}
	if got.RowsHOTUpdated == nil || *got.RowsHOTUpdated > 10 {
		t.Errorf("HOT updates: %v", got.RowsHOTUpdated)
	}
}

func TestNothingDoneCountsNothing(t *testing.T) {
	conn, scope := fixture(t, "idle")
	before := snapshot(t, conn, scope)
	for range 5 {
		after := snapshot(t, conn, scope)
		got, warnings := measure.Delta(before, after)
		for name, v := range map[string]*int64{
			"rows read": got.RowsRead, "inserted": got.RowsInserted, "statements": got.Statements, "commits": got.Commits,
			"rollbacks": got.Rollbacks,
		} {
			if v == nil || *v != 0 {
				t.Errorf("%s is not 0 in %s; warnings %q", name, show(got), warnings)
			}
		}
		before = after
	}
}

// Postgres does not count rows of an index-only scan as fetched. Measured sessions avoid such scans.
func TestIndexOnlyRowsAreEntries(t *testing.T) {
	got, warnings := run(t, "indexonly", func(c *pgx.Conn) {
		exec(t, c, "SELECT count(id) FROM indexonly.item WHERE id BETWEEN 31 AND 70")
	})
	if *got.RowsRead != 0 || *got.IndexEntriesRead != 40 || *got.IndexRowsFetched != 0 || *got.SeqRowsRead != 0 {
		t.Errorf("got %d rows: %d entries, %d fetched, %d sequential; warnings %q", *got.RowsRead, *got.IndexEntriesRead,
			*got.IndexRowsFetched, *got.SeqRowsRead, warnings)
	}
}

// A bitmap scan has the same rows as entries in the index and as rows in the table.
func TestBitmapRowsAreReadOnce(t *testing.T) {
	got, _ := run(t, "bitmap", func(c *pgx.Conn) {
		exec(t, c, "SET enable_indexscan = off", "SET enable_bitmapscan = on",
			"SELECT sum(v) FROM bitmap.item WHERE id BETWEEN 31 AND 70")
	})
	if *got.RowsRead != 40 || *got.IndexEntriesRead != 40 || *got.IndexRowsFetched != 40 {
		t.Errorf("got %d rows: %d entries, %d fetched", *got.RowsRead, *got.IndexEntriesRead, *got.IndexRowsFetched)
	}
}

// A prepare outside of a transaction, pgx's default, is a separate transaction, once per statement and connection.
func TestPreparesAreCommits(t *testing.T) {
	got, _ := run(t, "prepares", func(c *pgx.Conn) {
		for i := range 7 {
			if _, err := c.Exec(t.Context(), "UPDATE prepares.item SET v = $1 WHERE id = 1", pgx.QueryExecModeCacheStatement, i); err != nil {
				t.Fatal(err)
			}
		}
	})
	if *got.Statements != 7 || *got.Commits != 8 {
		t.Errorf("%d statements, %d commits; want 7 and 8", *got.Statements, *got.Commits)
	}
}

// Several sessions create the schema during the run.
func TestTablesThatAppear(t *testing.T) {
	conn := connectAlone(t)
	scope := measure.Scope{Schema: "appears", AppPrefix: "load appears"}
	exec(t, conn, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements", "DROP SCHEMA IF EXISTS appears CASCADE")
	before := snapshot(t, conn, scope)
	for i := range 3 {
		load := connect(t, fmt.Sprintf("%s %d", scope.AppPrefix, i))
		if i == 0 {
			exec(t, load, "CREATE SCHEMA appears", "CREATE TABLE appears.item (id int)")
		}
		exec(t, load, "INSERT INTO appears.item VALUES (1), (2)")
		if err := load.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got, warnings := measure.Delta(before, snapshot(t, conn, scope))
	if got.RowsInserted == nil || *got.RowsInserted != 6 || *got.Commits != 5 {
		t.Errorf("got %v rows in, %v commits; warnings %q", got.RowsInserted, got.Commits, warnings)
	}
}

// A snapshot would miss what an open session has not reported yet.
func TestWaitsForTheWorkload(t *testing.T) {
	conn, scope := fixture(t, "waits")
	before := snapshot(t, conn, scope)
	load := connect(t, scope.AppPrefix)
	exec(t, load, "INSERT INTO waits.item VALUES (1000, 1)")

	scope.Wait = time.Millisecond
	_, err := measure.Snapshot(t.Context(), conn, scope)
	want := `measure: 1 sessions named "load waits…" are still connected after 1ms: close them before measuring`
	if err == nil || err.Error() != want {
		t.Fatalf("got  %v\nwant %s", err, want)
	}

	scope.Wait = time.Minute
	type result struct {
		counters *measure.Counters
		err      error
	}
	done := make(chan result, 1)
	go func() {
		c, err := measure.Snapshot(t.Context(), conn, scope)
		done <- result{c, err}
	}()
	if err := load.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := <-done
	if after.err != nil {
		t.Fatal(after.err)
	}
	got, warnings := measure.Delta(before, after.counters)
	if *got.RowsInserted != 1 || *got.Commits != 1 {
		t.Errorf("got %s; warnings %q", show(got), warnings)
	}
}

// Sessions that are at work are not awaited, and only what is exact is counted: the rest may be reported a second later.
func TestWorkingSessionsAreNotAwaited(t *testing.T) {
	conn, scope := fixture(t, "working")
	scope.Working = true
	load := connect(t, scope.AppPrefix)
	before := snapshot(t, conn, scope)
	for i := range 20 {
		exec(t, load, fmt.Sprintf("INSERT INTO working.item VALUES (%d, 1)", 1000+i))
	}
	got, warnings := measure.Delta(before, snapshot(t, conn, scope))
	if got.WriteTransactions == nil || *got.WriteTransactions < 20 || got.WALBytes == nil || *got.WALBytes < 20*24 {
		t.Errorf("got %s; warnings %q", show(got), warnings)
	}
	if rest := (record.Counters{WriteTransactions: got.WriteTransactions, WALBytes: got.WALBytes}); got != rest {
		t.Errorf("more than is exact was counted: %s", show(got))
	}
}

func TestSnapshotEndsWithItsContext(t *testing.T) {
	conn, scope := fixture(t, "cancel")
	connect(t, scope.AppPrefix)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := measure.Snapshot(ctx, conn, scope)
		done <- err
	}()
	cancel()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("got %v", err)
	}
}

func TestSnapshotRefusesAnEmptyScope(t *testing.T) {
	conn := connect(t, "measuring")
	for _, scope := range []measure.Scope{
		{AppPrefix: "a"}, {Schema: "s"}, {Schema: "s", AppPrefix: strings.Repeat("a", 64)}, {Schema: "s", AppPrefix: "a", Wait: -1},
	} {
		if _, err := measure.Snapshot(t.Context(), conn, scope); err == nil {
			t.Errorf("%+v: no error", scope)
		}
	}
}

func TestWarnsOfCompany(t *testing.T) {
	cases := map[string]struct {
		disturb func(t *testing.T, schema string)
		want    string
	}{
		"stranger": {func(t *testing.T, _ string) { connect(t, "somebody else") }, "not only the workload's"},
		"vacuum": {func(t *testing.T, schema string) {
			exec(t, connect(t, "load "+schema), "VACUUM "+schema+".item")
		}, "1 vacuum or analyze of tables during the run"},
		"dropped table": {func(t *testing.T, schema string) {
			exec(t, connect(t, "load "+schema), "CREATE TABLE "+schema+".other (id int)", "DROP TABLE "+schema+".item")
		}, "rows were not counted: 1 tables of schema"},
		"no table left": {func(t *testing.T, schema string) {
			exec(t, connect(t, "load "+schema), "DROP TABLE "+schema+".item")
		}, "has no tables"},
		"statistics reset": {func(t *testing.T, schema string) {
			exec(t, connect(t, "load "+schema), "SELECT pg_stat_reset()")
		}, "commits were not counted: the statistics were reset"},
		"statements reset": {func(t *testing.T, schema string) {
			exec(t, connect(t, "load "+schema), "SELECT pg_stat_statements_reset()")
		}, "statements were not counted: pg_stat_statements was reset"},
		"checkpoint": {func(t *testing.T, schema string) {
			exec(t, connect(t, "load "+schema), "CHECKPOINT")
		}, "during the run: pages touched after it were written to the WAL whole"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			schema := "w_" + strings.ReplaceAll(name, " ", "_")
			conn, scope := fixture(t, schema)
			before := snapshot(t, conn, scope)
			// A subtest's cleanups run at its end, so the disturbing sessions have ended, except strangers.
			if name == "stranger" {
				c.disturb(t, schema)
			} else {
				t.Run("disturb", func(t *testing.T) { c.disturb(t, schema) }) // its cleanup disconnects
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			all := ""
			for range pause.Tries(ctx, 20*time.Millisecond) { // the server counts some things a little after it has answered
				_, warnings := measure.Delta(before, snapshot(t, conn, scope))
				if all = strings.Join(warnings, "\n"); strings.Contains(all, c.want) {
					return
				}
			}
			t.Errorf("want %q in:\n%s", c.want, all)
		})
	}
}

// The measurement's own transactions could not be identified.
func TestTwoConnectionsCannotBeCompared(t *testing.T) {
	conn, scope := fixture(t, "two")
	before := snapshot(t, conn, scope)
	got, warnings := measure.Delta(before, snapshot(t, connect(t, "measuring"), scope))
	if got.Commits != nil || !strings.Contains(strings.Join(warnings, "\n"), "different connections") {
		t.Errorf("commits %v, warnings %q", got.Commits, warnings)
	}
}

// The statistics can be missing in two ways.
func TestWithoutStatementStatistics(t *testing.T) {
	conn, scope := fixture(t, "nostatements")
	exec(t, conn, "SET pg_stat_statements.track = 'none'")
	before := snapshot(t, conn, scope)
	got, warnings := measure.Delta(before, snapshot(t, conn, scope))
	if got.Statements != nil || !strings.Contains(strings.Join(warnings, "\n"), "track is none") {
		t.Errorf("statements %v, warnings %q", got.Statements, warnings)
	}
	exec(t, conn, "RESET pg_stat_statements.track", "DROP EXTENSION pg_stat_statements")
	before = snapshot(t, conn, scope)
	got, warnings = measure.Delta(before, snapshot(t, conn, scope))
	if got.Statements != nil || !strings.Contains(strings.Join(warnings, "\n"), "not in this database") {
		t.Errorf("statements %v, warnings %q", got.Statements, warnings)
	}
}

// The extension's schema has a name that needs quotes.
func TestExtensionElsewhere(t *testing.T) {
	setup := connect(t, "setup")
	exec(t, setup, "DROP EXTENSION IF EXISTS pg_stat_statements", `DROP SCHEMA IF EXISTS "odd ""name"`, `CREATE SCHEMA "odd ""name"`,
		`CREATE EXTENSION pg_stat_statements SCHEMA "odd ""name"`)
	if err := setup.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { exec2(t, "DROP EXTENSION pg_stat_statements") })
	got, warnings := run(t, "elsewhere", func(c *pgx.Conn) { exec(t, c, "SELECT 1", "SELECT 1") })
	if got.Statements == nil || *got.Statements != 2 {
		t.Errorf("statements %v, warnings %q", got.Statements, warnings)
	}
}

func exec2(t *testing.T, sql string) {
	t.Helper()
	cfg, err := pgx.ParseConfig(serverDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Database = database
	conn, err := pgx.ConnectConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), sql); err != nil {
		t.Error(err)
	}
}

// This role may not see other users' sessions in full.
func TestOrdinaryUser(t *testing.T) {
	conn, scope := fixture(t, "ordinary")
	role := pgx.Identifier{database + "_user"}.Sanitize()
	exec(t, conn, "CREATE ROLE "+role, "GRANT USAGE ON SCHEMA ordinary TO "+role, "GRANT ALL ON ordinary.item TO "+role)
	t.Cleanup(func() { exec2(t, "DROP OWNED BY "+role); exec2(t, "DROP ROLE "+role) })
	exec(t, conn, "SET ROLE "+role)
	before := snapshot(t, conn, scope)
	load := connect(t, scope.AppPrefix)
	exec(t, load, "SELECT sum(v) FROM ordinary.item")
	short := scope
	short.Wait = time.Millisecond
	if _, err := measure.Snapshot(t.Context(), conn, short); err == nil {
		t.Error("did not see the workload's session")
	}
	if err := load.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, warnings := measure.Delta(before, snapshot(t, conn, scope))
	if got.RowsRead == nil || *got.RowsRead != 100 || got.Commits == nil || *got.Commits != 1 {
		t.Errorf("got %+v, warnings %q", show(got), warnings)
	}
}

func show(c record.Counters) string {
	text, err := json.Marshal(c)
	return fmt.Sprint(string(text), err)
}

func TestServer(t *testing.T) {
	got, err := measure.Server(t.Context(), connect(t, "measuring"), "local binaries")
	if err != nil {
		t.Fatal(err)
	}
	if got.Way != "local binaries" || got.VersionNum < 130000 || got.Version == "" {
		t.Errorf("got %+v", got)
	}
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes", "wal_level", "shared_buffers", "max_wal_size"} {
		if got.Setting(name) == "" {
			t.Errorf("%s was not recorded", name)
		}
	}
	if unit := got.Setting("shared_buffers"); !strings.HasSuffix(unit, "B") {
		t.Errorf("shared_buffers has no unit: %q", unit)
	}
	if got.Settings[0].Name != "fsync" {
		t.Errorf("settings are out of order: %v", got.Settings[0])
	}
}
