package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend/designs"
	"pulley/internal/depth"
	"pulley/internal/pgbouncer"
	"pulley/internal/pgtest"
)

// throughPooler starts a PgBouncer, and returns a DSN through it and the server's own.
func throughPooler(t *testing.T, mode string) (pooled, direct string) {
	t.Helper()
	depth.Needs(t, "PgBouncer")
	if _, err := pgbouncer.Program(); err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	direct = pgtest.DSN(t)
	cfg, err := pgx.ParseConfig(direct)
	if err != nil {
		t.Fatal(err)
	}
	b, err := pgbouncer.Start(t.Context(), pgbouncer.Config{Server: direct, Mode: mode, Size: 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b.DSN(cfg.Database), direct
}

// TestPooler runs instances through a PgBouncer that pools transactions, or sessions, with each command that uses a schema.
func TestPooler(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", "fn main(input: [], output: [x]):\n    x = 1\n")
	sleeping := file(t, "sleeping.ir", "fn main(input: [], output: []):\n    sleep 3600\n")
	for _, mode := range []string{"session", "transaction"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			pooled, direct := throughPooler(t, mode)
			for _, design := range designs.Durable() {
				where := []string{"--backend", design.String(), "--dsn", pooled, "--schema", pgtest.Schema(t), "--pool-mode", mode}
				if design.Name() == "push" && mode == "transaction" {
					where = append(where, "--direct-dsn", direct)
				}
				id := uuid.NewString()
				if got := call(t, nil, append([]string{"run", prog, "--id", id}, where...)...); got.code != 0 || got.out != "completed: 1\n" || !strings.Contains(got.err, "through a pooler") {
					t.Errorf("%s: run: %+v", design, got)
				}
				if got := call(t, nil, append([]string{"wait", id}, where...)...); got.code != 0 || got.out != "completed: 1\n" {
					t.Errorf("%s: wait: %+v", design, got)
				}
				for _, looks := range [][]string{{"ps"}, {"show", id}, {"submit", prog}} {
					if got := call(t, nil, append(looks, where...)...); got.code != 0 || got.out == "" {
						t.Errorf("%s: %v: %+v", design, looks, got)
					}
				}
				if got := call(t, nil, append([]string{"work", "--idle-exit", "10ms"}, where...)...); got.code != 0 {
					t.Errorf("%s: work: %+v", design, got)
				}
			}
			where := []string{"--dsn", pooled, "--schema", pgtest.Schema(t), "--pool-mode", mode}
			s := start(t, nil, append([]string{sleeping, "--id", "01a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e7"}, where...)...)
			if got := call(t, nil, append([]string{"cancel", "01a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e7"}, where...)...); got.code != 0 || got.out != "canceled: canceled by hand\n" {
				t.Errorf("cancel: %+v", got)
			}
			if code, _ := s.wait(t); code != console.ExitFailed {
				t.Errorf("exit status %d of a canceled instance", code)
			}
		})
	}
}

// TestPoolerRefusals checks the lines on what a pooler does not let through.
func TestPoolerRefusals(t *testing.T) {
	t.Parallel()
	pooled, direct := throughPooler(t, "transaction")
	prog := file(t, "p.ir", "fn main(input: [], output: [x]):\n    x = 1\n")
	for want, args := range map[string][]string{
		"measures the server itself, in sessions that last: give a DSN with the host and port of the server": {"compare", "chain=2", "--dsn", pooled, "--out", t.TempDir()},
		"does not pool sessions":         {"run", prog, "--dsn", pooled, "--pool-mode", "session", "--schema", pgtest.Schema(t)},
		`pool mode "statement"`:          {"run", prog, "--dsn", direct, "--pool-mode", "statement"},
		"leads through a pooler, too":    {"run", prog, "--dsn", direct, "--direct-dsn", pooled, "--schema", pgtest.Schema(t)},
		"unsupported startup parameter:": {"run", prog, "--dsn", pooled, "--pool-mode", "none", "--schema", pgtest.Schema(t)},
	} {
		got := call(t, nil, args...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%q: %+v", args, got)
		}
		lines := strings.Split(strings.TrimSpace(got.err), "\n")
		wantParts(t, lines[len(lines)-1], want)
	}
}
