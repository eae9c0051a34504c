package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

// answerWithin bounds each statement: a connection that was cut off may never answer.
const answerWithin = 10 * time.Second

// The names in PgQ.
const (
	queueName    = "tasks"
	consumerName = "adapter"
)

// PgQ without C code, cooperative consumers, and the adapter's tables.
var (
	//go:embed upstream/pgq_pl_only.sql
	pgqSQL string
	//go:embed upstream/pgq_coop.sql
	coopSQL string
	//go:embed schema.sql
	schemaSQL string
)

// store is a database with PgQ and the adapter's tables. What takes locks that others need is one statement, which is one transaction:
// no process can be paused or cut off in the middle of it and keep them. Effects are transactions as users write them.
type store struct{ *pgxpool.Pool }

func connect(ctx context.Context, dsn string, connections int) (store, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return store{}, err
	}
	config.MaxConns = int32(connections)
	config.ConnConfig.ConnectTimeout = answerWithin
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err == nil {
		err = pool.Ping(ctx)
	}
	return store{pool}, err
}

// create installs PgQ in an empty database, and makes the queue, its consumer and the adapter's tables.
func (s store) create(ctx context.Context, settings settings) error {
	if err := s.install(ctx); err != nil {
		return fmt.Errorf("installing PgQ: %w", err)
	}
	for _, sql := range []string{coopSQL, schemaSQL} {
		if err := s.execute(ctx, sql); err != nil {
			return err
		}
	}
	// A queue's first tick is made with it, and is where consumers begin.
	if err := s.execute(ctx, `SELECT pgq.create_queue($1)`, queueName); err != nil {
		return err
	}
	for name, value := range settings.queueConfig() {
		if err := s.execute(ctx, `SELECT pgq.set_queue_config($1, $2, $3)`, queueName, name, value); err != nil {
			return err
		}
	}
	return s.execute(ctx, `SELECT pgq.register_consumer($1, $2)`, queueName, consumerName)
}

// installTries bounds installations that meet another one.
const installTries = 5

// install installs PgQ. Its three roles belong to the server, so an installation in another database may be making them, too.
func (s store) install(ctx context.Context) (err error) {
	for range installTries {
		if err = s.execute(ctx, pgqSQL); err == nil {
			return nil
		}
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "23505" && refused.Code != "42710" {
			return err // not: duplicate key, duplicate object
		}
		if err := pause(ctx, pauseLeast); err != nil {
			return err
		}
	}
	return err
}

func (s store) execute(ctx context.Context, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	_, err := s.Exec(ctx, sql, args...)
	return err
}

// transact runs a transaction.
func (s store) transact(ctx context.Context, do func(context.Context, pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return pgx.BeginFunc(ctx, s, func(tx pgx.Tx) error { return do(ctx, tx) })
}

// value runs a query for one value, which may be NULL.
func value[T any](ctx context.Context, s store, sql string, args ...any) (v *T, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	err = s.QueryRow(ctx, sql, args...).Scan(&v)
	return v, err
}

// list runs a query for rows.
func list[T any](ctx context.Context, s store, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	rows, err := s.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// submit stores those instances that are not there, and inserts their first events.
func (s store) submit(ctx context.Context, instances []protocol.Instance, workloads map[string]*protocol.Workload) error {
	used := map[string]*protocol.Workload{}
	for _, i := range instances {
		used[i.Workload] = workloads[i.Workload]
	}
	return s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT adapter.submit($1, $2)`, instances, used)
		return err
	})
}

// complete stores the value of an event's task, if it is the first one. It notes the instance's value if the instance has ended.
func (s store) complete(ctx context.Context, e *event, value string) error {
	return s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error { return completeTx(ctx, tx, e, value, false) })
}

func completeTx(ctx context.Context, tx pgx.Tx, e *event, value string, trusting bool) error {
	return tx.QueryRow(ctx, `SELECT adapter.complete($1, $2, $3, $4)`, e.Instance, e.Task, value, trusting).Scan(&e.end)
}

func (s store) look(ctx context.Context, ids []string) ([]protocol.State, error) {
	return list(ctx, s, func(row pgx.CollectableRow) (protocol.State, error) {
		state, value := protocol.State{Status: protocol.Open}, (*string)(nil)
		err := row.Scan(&state.ID, &value)
		if value != nil {
			state.Status, state.Value = protocol.Completed, *value
		}
		return state, err
	}, `SELECT id, CASE todo WHEN 0 THEN value END FROM instances WHERE id = ANY ($1)`, ids)
}

// nextBatch returns a subconsumer's batch: the one that it has, else that of another one which gave no sign of life for dead, else a
// new one; 0: there is none. With dead zero it takes nothing from others. It is a sign of life of a subconsumer that has a batch.
func (s store) nextBatch(ctx context.Context, subconsumer string, dead time.Duration) (int64, error) {
	var interval *string
	if dead > 0 {
		text := postgresInterval(dead)
		interval = &text
	}
	batch, err := value[int64](ctx, s, `SELECT pgq_coop.next_batch($1, $2, $3, $4::text::interval)`, queueName, consumerName, subconsumer, interval)
	if batch == nil {
		return 0, err
	}
	return *batch, err
}

// event is a task of an instance, in a batch.
type event struct {
	id int64
	adapter.Execution
	done   bool    // the task had a value already
	value  string  // what its execution gave
	failed bool    // its execution failed
	end    *string // the instance's value, if it has ended
}

// events returns the events of a batch, in the order of their insertion.
func (s store) events(ctx context.Context, batch int64) ([]*event, error) {
	return list(ctx, s, func(row pgx.CollectableRow) (*event, error) {
		e := new(event)
		err := row.Scan(&e.id, &e.Attempt, &e.Instance, &e.Workload, &e.Task, &e.Inputs, &e.done, &e.end)
		return e, err
	}, `SELECT ev_id, coalesce(ev_retry, 0) + 1, ev_extra1, ev_extra2, ev_extra3, ev_data::json, t.value IS NOT NULL, CASE todo WHEN 0 THEN i.value END
		FROM pgq.get_batch_events($1) LEFT JOIN tasks t ON t.instance = ev_extra1 AND t.task = ev_extra3 LEFT JOIN instances i ON i.id = ev_extra1
		ORDER BY ev_id`, batch)
}

// errFinished says that another process has finished a batch. What its own transaction did is rolled back.
var errFinished = errors.New("the batch was finished by another process")

// finish puts events of a batch that failed into the retry queue, and finishes the batch. With trusting it also stores the values of
// the others, the last of which counts, in the same transaction.
func (s store) finish(ctx context.Context, batch int64, events []*event, after time.Duration, trusting bool) error {
	return s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		for _, e := range events {
			var err error
			switch {
			case e.failed:
				_, err = tx.Exec(ctx, `SELECT pgq.event_retry($1, $2, clock_timestamp() + $3::text::interval)`, batch, e.id, postgresInterval(after))
			case trusting:
				err = completeTx(ctx, tx, e, e.value, true)
			}
			if err != nil {
				return err
			}
		}
		var finished int
		if err := tx.QueryRow(ctx, `SELECT pgq_coop.finish_batch($1)`, batch).Scan(&finished); err != nil {
			return err
		}
		if finished != 1 {
			return errFinished
		}
		return nil
	})
}

func postgresInterval(d time.Duration) string {
	return fmt.Sprintf("%d milliseconds", d.Milliseconds())
}
