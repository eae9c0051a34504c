package ceiling

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal"
	"pulley/engine/backend/postgres/push"
)

// application is the name of all sessions that measure.
const application = "pulley ceiling"

// The designs whose tables are written to.
const (
	pushDesign    = "push"
	journalDesign = "journal"
)

// dropWithin bounds how long a schema's end may take after everything else has ended.
const dropWithin = 30 * time.Second

// scratch is a schema of a design's own tables, for one round.
type scratch struct {
	dsn, design, schema string

	conn *pgx.Conn // for what is not timed
}

// open sets the schema up with the design's migrations, a shard for each connection.
func (s *scratch) open(ctx context.Context, shards int) error {
	if err := s.migrate(ctx, postgres.Config{DSN: s.dsn, Schema: s.schema, Shards: shards, Application: application}); err != nil {
		return err
	}
	var err error
	if s.conn, err = s.connect(ctx); err != nil {
		return err
	}
	if s.design == journalDesign {
		if _, err := s.conn.Exec(ctx, query("own"), epoch); err != nil {
			return err
		}
		return s.run(ctx, query("packs"))
	}
	return s.run(ctx, query("probe"))
}

// migrate opens the design, which makes its tables, and closes it again.
func (s *scratch) migrate(ctx context.Context, store postgres.Config) error {
	if s.design == journalDesign {
		b, err := journal.Open(ctx, journal.Config{Store: store})
		if err != nil {
			return err
		}
		b.Close()
		return nil
	}
	b, err := push.Open(ctx, push.Config{Store: store})
	if err != nil {
		return err
	}
	b.Close()
	return nil
}

// connect opens a session as the designs do.
func (s *scratch) connect(ctx context.Context) (*pgx.Conn, error) {
	return postgres.Connect(ctx, postgres.Config{DSN: s.dsn, Schema: s.schema, Application: application})
}

// run runs statements that take nothing.
func (s *scratch) run(ctx context.Context, sql string) error {
	_, err := s.conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// empty takes all rows away.
func (s *scratch) empty(ctx context.Context) error { return s.run(ctx, query("empty_"+s.design)) }

// check counts the rows in the tables, which have to be those of the tally of all writers.
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

// drop removes the schema, also when ctx has ended or it was never set up whole.
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
