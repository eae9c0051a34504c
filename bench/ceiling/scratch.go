package ceiling

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal"
	"pulley/engine/backend/postgres/push"
	"pulley/internal/pause"
	"pulley/internal/pgstore"
)

const application = "pulley ceiling"

const (
	pushDesign    = "push"
	journalDesign = "journal"
)

const dropWithin = 30 * time.Second

// connectionWithin is how long the server may count connections that were closed.
const connectionWithin = 3 * time.Second

// scratch is a schema with a design's own tables, for one round.
type scratch struct {
	dsn, design, schema string

	conn *pgx.Conn // for what is not timed
}

func (s *scratch) open(ctx context.Context, shards int) error {
	if err := s.migrate(ctx, postgres.Config{DSN: s.dsn, Schema: s.schema, Shards: shards, Application: application}); err != nil {
		return err
	}
	var err error
	if s.conn, err = s.connect(ctx); err != nil {
		return err
	}
	switch s.design {
	case journalDesign:
		if _, err := s.conn.Exec(ctx, query("own"), epoch); err != nil {
			return err
		}
		return s.run(ctx, query("packs"))
	case pointsDesign:
		return s.run(ctx, query("points"))
	}
	return s.run(ctx, query("probe"))
}

func (s *scratch) migrate(ctx context.Context, store postgres.Config) error {
	switch s.design {
	case journalDesign:
		b, err := journal.Open(ctx, journal.Config{Store: store})
		if err != nil {
			return err
		}
		b.Close()
		return nil
	case pointsDesign:
		return s.createSchema(ctx)
	}
	b, err := push.Open(ctx, push.Config{Store: store})
	if err != nil {
		return err
	}
	b.Close()
	return nil
}

// connect waits a little where the server has no connection left: it counts closed ones for a moment.
func (s *scratch) connect(ctx context.Context) (conn *pgx.Conn, err error) {
	waiting, cancel := context.WithTimeout(ctx, connectionWithin)
	defer cancel()
	for range pause.Tries(waiting, 20*time.Millisecond) {
		conn, err = pgstore.Connect(ctx, postgres.Config{DSN: s.dsn, Schema: s.schema, Application: application})
		if server := (*pgconn.PgError)(nil); !errors.As(err, &server) || server.Code != noConnectionLeft {
			break
		}
	}
	return conn, err
}

func (s *scratch) run(ctx context.Context, sql string) error {
	_, err := s.conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

func (s *scratch) empty(ctx context.Context) error { return s.run(ctx, query("empty_"+s.design)) }

func (s *scratch) check(ctx context.Context, all tally) error {
	rows, err := s.conn.Query(ctx, query("count_"+s.design))
	if err != nil {
		return err
	}
	type count struct {
		Name string
		Rows int64
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[count])
	if err != nil {
		return err
	}
	for _, c := range counts {
		if want := all.rows(c.Name); c.Rows != want {
			return fmt.Errorf("%d completions were written, but of %s there are %d instead of %d: the figure would be worth nothing", all.completions, c.Name, c.Rows, want)
		}
	}
	return nil
}

// drop removes the schema, also if ctx has ended or the schema is incomplete.
func (s *scratch) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropWithin)
	defer cancel()
	if s.conn != nil {
		_ = s.conn.Close(ctx)
	}
	if err := postgres.DropSchema(ctx, s.dsn, s.schema); err != nil {
		return fmt.Errorf("schema %s is still there; drop it: %w", s.schema, err)
	}
	return nil
}
