package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"pulley/engine/backend/postgres"
)

var errSimpleProtocol = errors.New("the transaction's connection uses the simple protocol, which sends no arrays; leave default_query_exec_mode=simple_protocol out of its DSN")

// submittedByOthers is the payload of a notification by a transaction that stored instances: all engines look for work, also that of the
// same store.
const submittedByOthers = "submitted"

// InTransactionOf calls use with a connection within a caller's transaction: what use writes is committed with it, or not at all.
// After an error of use nothing of it is left, and the transaction can continue. All engines are notified by its commit.
func (s *Store) InTransactionOf(ctx context.Context, tx pgx.Tx, use func(Conn) error) error {
	conn := tx.Conn()
	if conn == nil {
		return errors.New("the transaction has no connection; begin it with pgx")
	}
	if conn.Config().DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol {
		return errSimpleProtocol
	}
	leave, err := registerArraysUntil(ctx, conn)
	if err != nil {
		return err
	}
	defer leave()
	life, err := s.Incarnation(ctx)
	if err != nil {
		return postgres.Explain(err)
	}
	within, err := tx.Begin(ctx) // a savepoint
	if err != nil {
		return postgres.Explain(err)
	}
	err = s.inSchema(ctx, within, life, func() error { return use(joined{within}) })
	if err == nil {
		return postgres.Explain(within.Commit(ctx))
	}
	return postgres.Explain(errors.Join(err, within.Rollback(context.WithoutCancel(ctx))))
}

// inSchema calls use with the schema's tables in sight, and restores the caller's settings.
func (s *Store) inSchema(ctx context.Context, tx pgx.Tx, life string, use func() error) error {
	var path, locks string
	var there bool
	err := tx.QueryRow(ctx, "SELECT current_setting('search_path'), current_setting('lock_timeout'), to_regclass($1) IS NOT NULL",
		pgx.Identifier{s.Schema, "incarnation"}.Sanitize()).Scan(&path, &locks, &there)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("the transaction's database has no schema %s; begin it in the database of the store", s.Schema)
	}
	var id string
	if _, err := tx.Exec(ctx, "SELECT set_config('search_path', $1, true)", pgx.Identifier{s.Schema}.Sanitize()); err != nil {
		return err
	}
	if err := tx.QueryRow(ctx, "SELECT id::text FROM incarnation").Scan(&id); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if id != life {
		s.Outlived(life)
		return errors.New("the transaction is in another database than the store, or its server has restarted; try again, or begin it in the store's database")
	}
	if err := use(); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "SELECT set_config('search_path', $1, true), set_config('lock_timeout', $2, true), pg_notify($3, $4)", path, locks, s.channel(), submittedByOthers)
	return err
}

// joined is a connection within a transaction whose begin and end are its owner's.
type joined struct{ pgx.Tx }

func (joined) InTransaction() bool { return true }
func (joined) Release()            {}

// SendBatch implements Querier. It leaves out what would begin or end the transaction.
func (j joined) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	b.QueuedQueries = slices.DeleteFunc(b.QueuedQueries, func(q *pgx.QueuedQuery) bool { return q.SQL == "BEGIN" || q.SQL == "COMMIT" })
	if len(b.QueuedQueries) == 0 {
		return emptyBatch{}
	}
	return j.Tx.SendBatch(ctx, b)
}

// emptyBatch is the result of a batch that is not sent, since nothing is left of it. It can only be closed.
type emptyBatch struct{ pgx.BatchResults }

func (emptyBatch) Close() error { return nil }

// registerArraysUntil registers the array types for a connection of others, until leave is called.
func registerArraysUntil(ctx context.Context, conn *pgx.Conn) (leave func(), err error) {
	m := conn.TypeMap()
	var before []*pgtype.Type
	for array := range arrayElements {
		if t, ok := m.TypeForOID(array); ok {
			before = append(before, t)
		}
	}
	if err := registerArrays(ctx, conn); err != nil {
		return nil, err
	}
	return func() {
		for _, t := range before {
			m.RegisterType(t)
		}
	}, nil
}
