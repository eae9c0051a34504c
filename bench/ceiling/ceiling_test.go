package ceiling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/internal/depth"
	"pulley/internal/pgtest"
	"pulley/reports/record"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func tiny(t *testing.T) Config {
	return Config{DSN: pgtest.DSN(t), Duration: MinDuration, Connections: []int{1, 3}, Batches: depth.Of([]int{7}, []int{7, 20}), Idle: true}
}

func meter(t *testing.T, cfg Config) *Meter {
	t.Helper()
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func left(t *testing.T, m *Meter) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), m.cfg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(t.Context(), "SELECT nspname::text FROM pg_namespace WHERE starts_with(nspname, $1)", m.prefix)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || m.prefix == "" {
		t.Fatalf("prefix %q: %v", m.prefix, err)
	}
	return names
}

func TestEverythingIsMeasured(t *testing.T) {
	pgtest.VerifyNoLeaks(t)
	cfg := tiny(t)
	var told []string
	cfg.Progress = func(done, total int, point string) {
		if done != len(told)%total {
			t.Errorf("%s: %d of %d are said to be done after %d", point, done, total, len(told))
		}
		told = append(told, point)
	}
	m := meter(t, cfg)
	if m.Result() != nil {
		t.Error("there is a result before the first round")
	}
	for range 2 {
		if err := m.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		if names := left(t, m); len(names) > 0 {
			t.Errorf("schemas are left: %q", names)
		}
	}
	got := m.Result()
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	for way, batches := range map[string]int{
		record.CeilingStatements: 1, record.CeilingCall: 1, record.CeilingBatched: len(cfg.Batches),
		record.CeilingAppend: len(cfg.Batches), record.CeilingPacked: len(cfg.Batches), record.CeilingCopy: len(cfg.Batches),
	} {
		points := 2 * batches
		r := got.Rate(way)
		if r == nil || len(r.Points) != points {
			t.Errorf("%s: %+v; want %d points", way, r, points)
			continue
		}
		for _, p := range r.Points {
			if len(p.NodesPerS) != 2 || slices.Min(p.NodesPerS) <= 0 {
				t.Errorf("%s: %+v; want two figures above 0", way, p)
			}
		}
	}
	for _, what := range idleKinds {
		if l := got.Latency(what); l == nil || l.P50 <= 0 {
			t.Errorf("%s on an idle connection: %+v", what, l)
		}
	}
	backwards := slices.Clone(told[len(told)/2:])
	slices.Reverse(backwards)
	if !slices.Equal(told[:len(told)/2], backwards) {
		t.Errorf("the second round did not go backwards: %q", told)
	}
}

// The ratio depends on the machine and its load: by day it is only logged.
func TestGroupsAreFaster(t *testing.T) {
	m := meter(t, Config{DSN: pgtest.DSN(t), Duration: depth.Of(MinDuration, 50*time.Millisecond), Connections: []int{1}, Batches: []int{200},
		Ways: []string{record.CeilingStatements, record.CeilingBatched, record.CeilingAppend}})
	for range depth.Of(1, 3) {
		if err := m.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	rate := func(way string) float64 { return m.Result().Rate(way).NodesPerS.Median }
	one, many, events := rate(record.CeilingStatements), rate(record.CeilingBatched), rate(record.CeilingAppend)
	t.Logf("%.0f/s one by one, %.0f/s in batches, %.0f/s appended", one, many, events)
	if one <= 0 || many <= 0 || events <= 0 || depth.Night() && (many < 2*one || events < many) {
		t.Error("batches are not faster than single completions, or appending is not faster than batches")
	}
}

// Measurements are cancelled at every stage; nothing may remain.
func TestCutOff(t *testing.T) {
	pgtest.VerifyNoLeaks(t)
	for _, stage := range depth.Of([]int{0, 1, 3}, []int{0, 1, 2, 3, 4, 5, 6}) {
		ctx, cancel := context.WithCancel(t.Context())
		cfg := tiny(t)
		cfg.Duration = MaxDuration
		cfg.Progress = func(int, int, string) {
			if stage == 0 {
				cancel()
				return
			}
			go func() {
				if err := waitForCalls(ctx, cfg.DSN, stage); err != nil {
					t.Error(err)
				}
				cancel()
			}()
		}
		m := meter(t, cfg)
		if err := m.Round(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("stage %d: %v; want the cancellation", stage, err)
		}
		cancel()
		if names := left(t, m); len(names) > 0 {
			t.Errorf("stage %d: schemas are left: %q", stage, names)
		}
		if m.Result() != nil {
			t.Errorf("stage %d: a round that was cut off counts", stage)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	m := meter(t, tiny(t))
	if err := m.Round(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("before it begins: %v; want the cancellation", err)
	}
	if names := left(t, m); len(names) > 0 {
		t.Errorf("schemas are left: %q", names)
	}
}

func waitForCalls(ctx context.Context, dsn string, times int) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for times > 0 {
		var busy bool
		const atWork = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1 AND query LIKE '%DELETE%')"
		if err := conn.QueryRow(ctx, atWork, application).Scan(&busy); err != nil {
			return err
		}
		if busy {
			times--
		}
	}
	return nil
}

func TestConfigRefuses(t *testing.T) {
	for want, corrupt := range map[string]func(*Config){
		"there is no DSN":                    func(c *Config) { c.DSN = "" },
		`way "fast" is unknown`:              func(c *Config) { c.Ways = []string{"fast"} },
		`way "probe" is unknown`:             func(c *Config) { c.Ways = []string{probeWay} },
		`way "copy" is unknown, or there`:    func(c *Config) { c.Ways = []string{"copy", "copy"} },
		"nothing to measure":                 func(c *Config) { c.Ways, c.Idle = []string{}, false },
		"0 connections: choose from 1 to 64": func(c *Config) { c.Connections = []int{0} },
		"65 connections: choose":             func(c *Config) { c.Connections = []int{1, 65} },
		"each number once":                   func(c *Config) { c.Connections = []int{2, 2} },
		"a batch of 10001: choose":           func(c *Config) { c.Batches = []int{10_001} },
		"a batch of 0: choose":               func(c *Config) { c.Batches = []int{0} },
		"a duration of 1ms: choose from":     func(c *Config) { c.Duration = time.Millisecond },
		"a duration of -1s: choose from":     func(c *Config) { c.Duration = -time.Second },
	} {
		cfg := Config{DSN: "host=/nowhere"}
		corrupt(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := New(Config{DSN: "host=/nowhere"}); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}

// A role with few connections must omit, and report, what needs more of them.
func TestFewConnections(t *testing.T) {
	cfg := tiny(t)
	admin, err := pgx.Connect(t.Context(), cfg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(context.Background()) }()
	role := pgtest.Schema(t)
	name := pgx.Identifier{role}.Sanitize()
	for _, sql := range []string{
		"CREATE ROLE " + name + " LOGIN CONNECTION LIMIT 4 PASSWORD 'few'",
		"GRANT CREATE ON DATABASE " + pgx.Identifier{admin.Config().Database}.Sanitize() + " TO " + name,
	} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		for _, sql := range []string{"DROP OWNED BY " + name, "DROP ROLE " + name} {
			if _, err := admin.Exec(context.Background(), sql); err != nil {
				t.Error(err)
			}
		}
	}()
	c := admin.Config()
	cfg.DSN = fmt.Sprintf("host=%s port=%d dbname=%s user=%s password=few", c.Host, c.Port, c.Database, role)
	cfg.Ways, cfg.Connections = []string{record.CeilingBatched}, []int{1, 9}
	m := meter(t, cfg)
	for range 2 {
		if err := m.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := m.Result()
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	if r := got.Rate(record.CeilingBatched); len(r.Points) != len(cfg.Batches) || r.Connections != 1 || len(r.Points[0].NodesPerS) != 2 {
		t.Errorf("%+v", r)
	}
	if len(got.Warnings) < len(cfg.Batches) || !strings.Contains(got.Warnings[0], "7 a call, on 9 connection(s): not measured: the server has no connection left") {
		t.Errorf("warnings %q", got.Warnings)
	}
	cfg.Connections = []int{9}
	if err := meter(t, cfg).Round(t.Context()); err == nil || !strings.Contains(err.Error(), "raise max_connections") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

// The error is one line that says what to do.
func TestNoServer(t *testing.T) {
	m := meter(t, Config{DSN: "host=/nowhere port=1 user=nobody"})
	err := m.Round(t.Context())
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "check that the server runs") {
		t.Errorf("got %v", err)
	}
}

func TestResult(t *testing.T) {
	graph, none := shape{writes: FanOut(fanOutWidth), graph: true}, shape{writes: FanOut(fanOutWidth)}
	m := &Meter{cfg: Config{Ways: []string{"batched", "append"}, Nodes: []int{0}, Duration: time.Second}, rounds: 2, points: []*point{
		{way: "batched", batch: 100, connections: 1, shape: graph, rates: []float64{100, 110}},
		{way: "batched", batch: 100, connections: 2, shape: graph, rates: []float64{90, 210}}, // best mean, though not best low
		{way: "batched", batch: 1000, connections: 2, shape: graph, rates: []float64{140, 130}},
		{way: "append", batch: 100, connections: 1, shape: none, rates: []float64{7, 7}},
	}}
	got := m.Result()
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	best := got.Rate("batched")
	if best.NodesPerS != (record.Spread{Median: 150, Lo: 90, Hi: 210}) || best.Batch != 100 || best.Connections != 2 {
		t.Errorf("batched: %+v", best)
	}
	if got.Rate("append").NodesPerS.Median != 7 || len(got.Idle) != 0 {
		t.Errorf("%+v", got)
	}
	want := "batched, 100 a call, on 2 connection(s): from 90 to 210 nodes/s: something else was at work, or the measurements are too short"
	if len(got.Warnings) != 1 || got.Warnings[0] != want {
		t.Errorf("warnings %q", got.Warnings)
	}
	m.rounds = 1
	if got := m.Result().Warnings; len(got) != 2 || !strings.Contains(got[0], "measured once") {
		t.Errorf("warnings %q", got)
	}
}
