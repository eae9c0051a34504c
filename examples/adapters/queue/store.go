package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

// answerWithin bounds a statement: a connection that was cut off may never answer.
const answerWithin = 10 * time.Second

// store is the queue's tables. Each method is one statement, which is a transaction: a process that is killed, paused or cut off
// leaves no transaction open.
type store struct{ *pgxpool.Pool }

// job is a leased task. The number of its attempt is the lease's token.
type job struct {
	seq int64
	adapter.Execution
}

// connect makes a pool that connects when a statement needs it: a store that does not answer now may answer later.
func connect(ctx context.Context, dsn string, connections int) (store, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return store{}, err
	}
	config.MaxConns = int32(connections)
	config.ConnConfig.ConnectTimeout = answerWithin
	pool, err := pgxpool.NewWithConfig(ctx, config)
	return store{pool}, err
}

// exec runs a statement without rows.
func (s store) exec(ctx context.Context, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	_, err := s.Exec(ctx, sql, args...)
	return err
}

// one scans the first row of a statement's result, and reports whether there is one.
func (s store) one(ctx context.Context, to []any, sql string, args ...any) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	err := s.QueryRow(ctx, sql, args...).Scan(to...)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// isWrong reports whether the server refuses a statement for what it says: its data, a constraint, or its names. Other errors pass.
func isWrong(err error) bool {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || len(refused.Code) < 2 {
		return false
	}
	class := refused.Code[:2]
	return class == "22" || class == "23" || class == "42"
}

func (s store) create(ctx context.Context) error {
	// Instances count their jobs that are not done, and jobs their needs that are not done. A job with a value is done.
	return s.exec(ctx, `
		CREATE TABLE instances (id text PRIMARY KEY, workload text NOT NULL, todo int NOT NULL, value text);
		CREATE TABLE jobs (
			seq bigserial PRIMARY KEY, instance text NOT NULL, task text NOT NULL, needs text[] NOT NULL, missing int NOT NULL,
			attempt int NOT NULL DEFAULT 0, leased_until timestamptz NOT NULL DEFAULT '-infinity', value text, UNIQUE (instance, task));
		CREATE INDEX jobs_ready ON jobs (seq) WHERE missing = 0 AND value IS NULL`)
}

// submit stores those instances that are not there, with their jobs.
func (s store) submit(ctx context.Context, instances []protocol.Instance, workloads map[string]*protocol.Workload) error {
	used := map[string]*protocol.Workload{}
	for _, i := range instances {
		used[i.Workload] = workloads[i.Workload]
	}
	return s.exec(ctx, `
		WITH tasks AS (
				SELECT w.key AS workload, t.name AS task, ARRAY(SELECT json_array_elements_text(t.needs)) AS needs
				FROM json_each($1) AS w, json_to_recordset(w.value->'tasks') AS t(name text, needs json)),
			new AS (
				INSERT INTO instances (id, workload, todo)
				SELECT id, workload, (SELECT count(*) FROM tasks WHERE tasks.workload = i.workload)
				FROM json_to_recordset($2) AS i(id text, workload text) ON CONFLICT DO NOTHING RETURNING id, workload)
		INSERT INTO jobs (instance, task, needs, missing) SELECT id, task, needs, cardinality(needs) FROM new JOIN tasks USING (workload)`, used, instances)
}

// take leases the oldest job that is ready and that nobody has leased; nil: there is none.
func (s store) take(ctx context.Context, lease time.Duration) (*job, error) {
	var j job
	found, err := s.one(ctx, []any{&j.seq, &j.Attempt, &j.Instance, &j.Task, &j.Workload, &j.Inputs}, `
		UPDATE jobs SET attempt = attempt + 1, leased_until = now() + $1 * interval '1 ms'
		WHERE seq = (
			SELECT seq FROM jobs WHERE missing = 0 AND value IS NULL AND leased_until < now()
			ORDER BY seq LIMIT 1 FOR UPDATE SKIP LOCKED)
		RETURNING seq, attempt, instance, task, (SELECT workload FROM instances WHERE id = instance),
			(SELECT json_object_agg(n.task, n.value) FROM jobs n WHERE n.instance = jobs.instance AND n.task = ANY (jobs.needs))`, lease.Milliseconds())
	if !found {
		return nil, err
	}
	return &j, nil
}

func (s store) renew(ctx context.Context, j job, lease time.Duration) error {
	return s.exec(ctx, `UPDATE jobs SET leased_until = now() + $3 * interval '1 ms' WHERE seq = $1 AND attempt = $2`, j.seq, j.Attempt, lease.Milliseconds())
}

func (s store) release(ctx context.Context, j job) error {
	return s.exec(ctx, `UPDATE jobs SET leased_until = '-infinity' WHERE seq = $1 AND attempt = $2`, j.seq, j.Attempt)
}

// complete stores a job's value and makes its followers ready, unless another attempt has begun. It returns the instance's value if
// the instance has ended, now or before.
func (s store) complete(ctx context.Context, j job, value string, isResult bool) (end *string, err error) {
	// The instance is locked before the followers, which two completions would lock in different orders.
	_, err = s.one(ctx, []any{&end}, `
		WITH done AS (UPDATE jobs SET value = $3 WHERE seq = $1 AND attempt = $2 AND value IS NULL RETURNING instance, task),
			i AS (UPDATE instances SET todo = todo - 1, value = CASE WHEN $4 THEN $3 ELSE value END FROM done WHERE id = instance
				RETURNING id, task, todo, value),
			ready AS (UPDATE jobs SET missing = missing - 1 FROM i WHERE instance = id AND i.task = ANY (needs))
		SELECT value FROM i WHERE todo = 0 UNION ALL SELECT value FROM instances WHERE id = $5 AND todo = 0`,
		j.seq, j.Attempt, value, isResult, j.Instance)
	return end, err
}

func (s store) look(ctx context.Context, ids []string) ([]protocol.State, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	rows, err := s.Query(ctx, `SELECT id, CASE todo WHEN 0 THEN value END FROM instances WHERE id = ANY ($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("look: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (protocol.State, error) {
		state, value := protocol.State{Status: protocol.Open}, (*string)(nil)
		err := row.Scan(&state.ID, &value)
		if value != nil {
			state.Status, state.Value = protocol.Completed, *value
		}
		return state, err
	})
}
