package main

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	gue "github.com/vgarvardt/gue/v5"
	gueadapter "github.com/vgarvardt/gue/v5/adapter"
	"github.com/vgarvardt/gue/v5/adapter/pgxv5"

	"pulley/adapter/protocol"
)

// answerWithin bounds what the adapter itself asks: a connection that was cut off may never answer. Jobs have gue's default, no bound.
const answerWithin = 10 * time.Second

// enqueueMost bounds the jobs of one statement of gue, which has eight parameters for each; Postgres takes 65,535.
const enqueueMost = 1000

// migration makes the table of gue. It is migrations/schema.sql of gue, under the MIT license, which users apply by themselves.
//
//go:embed migration.sql
var migration string

// store is the hand-made tables beside that of gue.
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

func (s store) create(ctx context.Context) error {
	// Instances count their tasks that are not done, and tasks their needs that are not done. changed is when a task was done last.
	_, err := s.Exec(ctx, migration+`
		CREATE TABLE instances (id text PRIMARY KEY, todo int NOT NULL, value text, changed timestamptz NOT NULL DEFAULT now());
		CREATE INDEX ON instances (changed) WHERE todo = 0;
		CREATE TABLE tasks (instance text, task text, needs text[] NOT NULL, missing int NOT NULL, value text, PRIMARY KEY (instance, task))`)
	return err
}

// submit stores those instances that are not there, and enqueues their tasks without needs.
func (s store) submit(ctx context.Context, client *gue.Client, instances []protocol.Instance, workloads map[string]*protocol.Workload) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	used := map[string]*protocol.Workload{}
	for _, i := range instances {
		used[i.Workload] = workloads[i.Workload]
	}
	return pgx.BeginFunc(ctx, s, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			WITH t AS (
					SELECT w.key AS workload, t.name AS task, ARRAY(SELECT json_array_elements_text(t.needs)) AS needs
					FROM json_each($1) AS w, json_to_recordset(w.value->'tasks') AS t(name text, needs json)),
				given AS (SELECT id, workload FROM json_to_recordset($2) AS i(id text, workload text)),
				new AS (
					INSERT INTO instances (id, todo) SELECT id, (SELECT count(*) FROM t WHERE t.workload = given.workload) FROM given
					ON CONFLICT DO NOTHING RETURNING id),
				stored AS (
					INSERT INTO tasks (instance, task, needs, missing)
					SELECT DISTINCT id, task, needs, cardinality(needs) FROM new JOIN given USING (id) JOIN t USING (workload) RETURNING instance, task, missing)
			SELECT DISTINCT instance, workload, task FROM stored JOIN given ON id = instance WHERE missing = 0`, used, instances)
		if err != nil {
			return err
		}
		jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*gue.Job, error) {
			var a arguments
			if err := row.Scan(&a.Instance, &a.Workload, &a.Task); err != nil {
				return nil, err
			}
			return newJob(a)
		})
		for err == nil && len(jobs) > 0 {
			n := min(len(jobs), enqueueMost)
			err = client.EnqueueBatchTx(ctx, jobs[:n], pgxv5.NewTx(tx))
			jobs = jobs[n:]
		}
		return err
	})
}

// readInputs reads the values that a job's task needs, in the job's transaction.
func readInputs(ctx context.Context, tx gueadapter.Tx, a arguments) (inputs map[string]string, err error) {
	err = tx.QueryRow(ctx, `
		SELECT json_object_agg(n.task, n.value) FILTER (WHERE n.task IS NOT NULL)
		FROM tasks t LEFT JOIN tasks n ON n.instance = t.instance AND n.task = ANY (t.needs)
		WHERE t.instance = $1 AND t.task = $2`, a.Instance, a.Task).Scan(&inputs)
	return inputs, err
}

// complete stores a task's value in its job's transaction. It returns the tasks that need nothing more, and whether the instance has
// ended. Nothing asks whether the task had a value already: gue's lock says that it had none.
func complete(ctx context.Context, tx gueadapter.Tx, a arguments, value string, isResult bool) (ready []string, isEnd bool, err error) {
	// The instance is locked before the followers, which two jobs would lock in different orders.
	err = tx.QueryRow(ctx, `
		WITH i AS (UPDATE instances SET todo = todo - 1, value = CASE WHEN $4 THEN $3 ELSE value END, changed = clock_timestamp()
				WHERE id = $1 RETURNING id, todo),
			done AS (UPDATE tasks SET value = $3 FROM i WHERE instance = id AND task = $2),
			followers AS (UPDATE tasks SET missing = missing - 1 FROM i WHERE instance = id AND $2 = ANY (needs) RETURNING task, missing)
		SELECT ARRAY(SELECT task FROM followers WHERE missing = 0), todo = 0 FROM i`, a.Instance, a.Task, value, isResult).Scan(&ready, &isEnd)
	return ready, isEnd, err
}

// recentEnds lists the instances whose ends a dead process may not have reported.
func (s store) recentEnds(ctx context.Context) ([]string, error) {
	rows, err := s.Query(ctx, `SELECT id FROM instances WHERE todo = 0 AND changed > now() - interval '1 minute'`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func (s store) look(ctx context.Context, ids []string) ([]protocol.State, error) {
	return s.states(ctx, `SELECT id, CASE todo WHEN 0 THEN value END FROM instances WHERE id = ANY ($1)`, ids)
}

func (s store) ended(ctx context.Context, ids []string) ([]protocol.State, error) {
	return s.states(ctx, `SELECT id, value FROM instances WHERE id = ANY ($1) AND todo = 0`, ids)
}

// states runs a query for ids and values; without a value, an instance is open.
func (s store) states(ctx context.Context, sql string, ids []string) ([]protocol.State, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	rows, err := s.Query(ctx, sql, ids)
	if err != nil {
		return nil, err
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
