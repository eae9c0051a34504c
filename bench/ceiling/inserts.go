package ceiling

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend/postgres"
)

// insertWay writes no completions, but rows of a table that no design has.
const (
	insertWay    = "insert"
	pointsDesign = "points"
)

// Inserts is how many rows a second a number of connections inserted.
type Inserts struct {
	Connections int
	RowsPerS    float64
}

// MeasureInserts measures point writes, as benchmarks of Postgres itself do: rows that are inserted one by one, each in a
// transaction of its own, into a table of three columns with a UUIDv7 as its key. Of cfg it uses DSN, Connections and Duration.
// Numbers of connections that the server does not have are left out, unless it has none of them.
func MeasureInserts(ctx context.Context, cfg Config) (all []Inserts, err error) {
	cfg.Ways, cfg.Idle = Ways(), false
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &scratch{dsn: cfg.DSN, design: pointsDesign, schema: "pulley_ceiling_" + uuid.NewString()[:8] + "_" + pointsDesign}
	defer func() { err = postgres.Explain(errors.Join(err, s.drop(ctx))) }()
	if err := s.open(ctx, slices.Max(cfg.Connections)); err != nil {
		return nil, err
	}
	var refused error
	for _, n := range cfg.Connections {
		p := &point{way: insertWay, batch: 1, connections: n, shape: shape{writes: FanOut(fanOutWidth)}}
		rate, err := p.measure(ctx, s, cfg.Duration)
		var server *pgconn.PgError
		switch {
		case errors.As(err, &server) && server.Code == noConnectionLeft:
			refused = err
		case err != nil:
			return nil, fmt.Errorf("ceiling: %s: %w", p, err)
		default:
			all = append(all, Inserts{n, rate})
		}
	}
	if len(all) == 0 {
		return nil, refused
	}
	return all, nil
}

// inserted writes one row a call.
type inserted struct{ *stream }

func (w *inserted) fill(context.Context) error { return nil }
func (w *inserted) tally() tally               { return tally{completions: w.next} }

func (w *inserted) call(ctx context.Context) error {
	id := w.id(w.next)
	w.next++
	w.param(id[:], []byte("payload-7"))
	return w.exec(ctx, "insert", 1)
}

// createSchema makes the schema of a design without migrations.
func (s *scratch) createSchema(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{s.schema}.Sanitize())
	return err
}
