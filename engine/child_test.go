package engine_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine"
	"pulley/engine/backend/designs"
	"pulley/engine/worker"
)

type childProcess struct {
	*testing.T
	design      designs.Spec
	schema, dsn string
}

// The variable holds design, schema and DSN, with spaces between. nil: the variable is not set.
func childOf(t *testing.T, variable string) *childProcess {
	t.Helper()
	design, rest, ok := strings.Cut(os.Getenv(variable), " ")
	if !ok {
		return nil
	}
	spec, err := designs.Parse(design)
	if err != nil {
		t.Fatal(err)
	}
	c := &childProcess{T: t, design: spec}
	c.schema, c.dsn, _ = strings.Cut(rest, " ")
	return c
}

// run ends when the parent closes the standard input, or dies.
func (c *childProcess) run(cfg engine.Config, actions ...worker.Action) {
	c.Helper()
	store, err := c.design.Open(c.Context(), designs.OpenOptions{DSN: c.dsn, Schema: c.schema, Application: c.schema, Lease: cfg.Lease})
	if err != nil {
		c.Fatal(err)
	}
	defer store.Close()
	cfg.Backend, cfg.Batch = store, c.design.Batch()
	if cfg.Workers, err = worker.NewRegistry(actions...); err != nil {
		c.Fatal(err)
	}
	e, err := engine.New(cfg)
	if err != nil {
		c.Fatal(err)
	}
	if err := e.Start(context.WithoutCancel(c.Context())); err != nil {
		c.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := e.Stop(c.Context()); err != nil {
		c.Error(err)
	}
}

func killSelf() error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		return err
	}
	select {}
}

// runChild stops the child once it prints "ended". It returns what followed that word, and how the process ended. hear receives
// each line.
func (s *site) runChild(test, variable, setting string, hear func(said string)) (end string, err error) {
	s.Helper()
	cmd := exec.CommandContext(s.ctx, os.Args[0], "-test.run=^"+test+"$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), variable+"="+s.design.String()+" "+s.schema+" "+s.dsn, setting)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		s.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	for scan := bufio.NewScanner(stdout); scan.Scan(); {
		hear(scan.Text())
		if text, ok := strings.CutPrefix(scan.Text(), "ended "); ok {
			end = text
			_ = stdin.Close() // the child stops
		}
	}
	return end, cmd.Wait()
}

// childLease is longer than any machine takes to start the tasks of an engine that is killed.
const childLease = 10 * time.Minute

// lapseLeases moves all stored times to the past until the leases of a killed engine have expired. No other host may be open.
func (s *site) lapseLeases() {
	s.Helper()
	s.resolved()
	s.passTime(2 * childLease)
}

// passTime moves every time that is stored into the past.
func (s *site) passTime(d time.Duration) {
	s.Helper()
	rows, err := s.conn.Query(s.ctx, `SELECT format('UPDATE %I SET ', table_name) ||
		string_agg(format('%1$I = %1$I - $1::interval', column_name), ', ')
		FROM information_schema.columns WHERE table_schema = $1 AND data_type = 'timestamp with time zone' AND is_generated = 'NEVER'
		GROUP BY table_name`, s.schema)
	if err != nil {
		s.Fatal(err)
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.Fatal(err)
	}
	for _, sql := range statements {
		s.exec(sql, d)
	}
}
