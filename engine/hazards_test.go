package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/backend/memory"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

// Hazards are mistakes found in the code of other schedulers. Each has a test named after it, on every design that could make
// it.

const hazardDeadline = 15 * time.Minute

type site struct {
	*testing.T
	ctx    context.Context
	design designs.Spec
	dsn    string // empty: no database
	schema string
	lease  time.Duration // of shards with owners; zero: the design's default
	shared *memory.Backend
	conn   *pgx.Conn // used by no host; nil without a database
}

func onEveryDesign(t *testing.T, test func(*site)) {
	t.Helper()
	on(t, designs.All(), test)
}

func onEveryDatabase(t *testing.T, test func(*site)) {
	t.Helper()
	on(t, designs.Durable(), test)
}

func on(t *testing.T, list []designs.Spec, test func(*site)) {
	t.Helper()
	_ = pgtest.DSN(t)
	for _, design := range list {
		t.Run(design.String(), func(sub *testing.T) {
			sub.Parallel()
			test(siteIn(t, sub, design))
		})
	}
}

func newSite(t *testing.T, design designs.Spec) *site {
	t.Helper()
	return siteIn(t, t, design)
}

func siteIn(of, t *testing.T, design designs.Spec) *site {
	t.Helper()
	ctx, cancel := depth.Within(context.WithoutCancel(t.Context()), t, hazardDeadline)
	t.Cleanup(cancel)
	s := &site{T: t, ctx: ctx, design: design}
	if !design.NeedsPostgres() {
		s.shared = memory.New(memory.Options{})
		t.Cleanup(s.shared.Close)
		return s
	}
	s.dsn, s.schema = pgtest.DSN(of), pgtest.SchemaOf(of, design.String())
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
	s.conn = conn
	s.exec("SELECT set_config('search_path', $1, false)", pgx.Identifier{s.schema}.Sanitize())
	return s
}

func memoryDesign(t *testing.T) designs.Spec {
	t.Helper()
	spec, err := designs.Parse("memory")
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func (s *site) open() backend.Backend {
	s.Helper()
	if s.shared != nil {
		b := s.shared.Open(memory.Options{})
		s.Cleanup(b.Close)
		return b
	}
	b, err := s.design.Open(s.ctx, designs.OpenOptions{DSN: s.dsn, Schema: s.schema, Application: s.schema, Lease: s.lease})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(b.Close)
	return b
}

func (s *site) host(b backend.Backend, cfg engine.Config) *engine.Engine {
	s.Helper()
	cfg.Backend, cfg.Batch = b, cmp.Or(cfg.Batch, s.design.Batch())
	if cfg.Workers == nil {
		cfg.Workers = s.actions(nil)
	}
	e, err := engine.New(cfg)
	if err != nil {
		s.Fatal(err)
	}
	if err := e.Start(s.ctx); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { s.stop(e) })
	return e
}

func (s *site) stop(e *engine.Engine) {
	s.Helper()
	if err := e.Stop(s.ctx); err != nil {
		s.Error(err)
	}
}

// actions adds @mark to the built-in actions: it records its call and returns its value.
func (s *site) actions(seen *marks) *worker.Registry {
	s.Helper()
	all := worker.Builtins()
	if seen != nil {
		all = append(all, worker.Action{Name: "mark", Args: []string{"value"}, Run: seen.note})
	}
	registry, err := worker.NewRegistry(all...)
	if err != nil {
		s.Fatal(err)
	}
	return registry
}

type marks struct {
	mu     sync.Mutex
	values []string
}

func (m *marks) note(_ context.Context, call worker.Call) (any, error) {
	var args struct {
		Value string `json:"value"`
	}
	if err := call.Bind(&args); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values = append(m.values, args.Value)
	return args.Value, nil
}

func (m *marks) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	values := m.values
	m.values = nil
	return values
}

func (s *site) ends(e *engine.Engine, p *plan.Program, input string) backend.Instance {
	s.Helper()
	id, err := e.Submit(s.ctx, engine.SubmitRequest{Program: p, Input: json.RawMessage(input)})
	if err != nil {
		s.Fatal(err)
	}
	inst, err := e.Wait(s.ctx, id)
	if err != nil {
		s.Fatalf("the instance does not end: %v", err)
	}
	return inst
}

func (s *site) exec(sql string, args ...any) int64 {
	s.Helper()
	tag, err := s.conn.Exec(s.ctx, sql, args...)
	if err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
	return tag.RowsAffected()
}

func (s *site) number(sql string, args ...any) (n int64) {
	s.Helper()
	if err := s.conn.QueryRow(s.ctx, sql, args...).Scan(&n); err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
	return n
}

// resolved waits until all sessions of closed hosts have ended: only then the server has all their counts.
func (s *site) resolved() {
	s.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for s.number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1", s.schema) > 0 {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			s.Fatal("the hosts' sessions do not end")
		}
	}
}

func program(t *testing.T, source string, limits ir.Limits) *plan.Program {
	t.Helper()
	g, err := graph.CompileText("hazard.ir", []byte(source), limits)
	if err != nil {
		t.Fatal(err)
	}
	return built(t, g)
}

func built(t *testing.T, g *graph.Graph) *plan.Program {
	t.Helper()
	p, err := plan.Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (s *site) wantMarks(seen *marks, want ...string) {
	s.Helper()
	if got := seen.take(); !slices.Equal(got, want) {
		s.Errorf("called @mark with %q, want %q", got, want)
	}
}
