package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/adapter/protocol"
)

// createTables makes the adapter's tables. An instance with a value has completed.
const createTables = `
	CREATE TABLE instances (id text PRIMARY KEY, workload text NOT NULL, value text);
	CREATE TABLE results (instance text, task text, value text NOT NULL, PRIMARY KEY (instance, task))`

// addInstances inserts those instances that are not there, and returns them.
func addInstances(ctx context.Context, tx pgx.Tx, instances []protocol.Instance) ([]protocol.Instance, error) {
	rows, err := tx.Query(ctx, `
		INSERT INTO instances (id, workload) SELECT id, workload FROM json_to_recordset($1) AS i(id text, workload text)
		ORDER BY id ON CONFLICT DO NOTHING RETURNING id, workload`, instances)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[protocol.Instance])
}

// finished is what the store says after a task has finished.
type finished struct {
	counts bool            // whether its value is the one that counts
	have   map[string]bool // the tasks of the instance that have values
	end    *string         // the instance's value, if it had ended before
}

// storeValue locks an instance and stores a task's value. Without trust, the first value counts.
func storeValue(ctx context.Context, tx pgx.Tx, args taskArgs, value string, trusting bool) (f finished, err error) {
	conflict := "DO NOTHING"
	if trusting {
		conflict = "(instance, task) DO UPDATE SET value = excluded.value"
	}
	// Each statement sees what was committed before it began: the last one what others committed until the instance was locked.
	var batch pgx.Batch
	batch.Queue(`SELECT value FROM instances WHERE id = $1 FOR UPDATE`, args.Instance)
	batch.Queue(`INSERT INTO results (instance, task, value) VALUES ($1, $2, $3) ON CONFLICT `+conflict, args.Instance, args.Task, value)
	batch.Queue(`SELECT task FROM results WHERE instance = $1`, args.Instance)
	answers := tx.SendBatch(ctx, &batch)
	defer func() {
		if closed := answers.Close(); err == nil {
			err = closed
		}
	}()
	if err := answers.QueryRow().Scan(&f.end); err != nil {
		return f, err
	}
	tag, err := answers.Exec()
	if err != nil {
		return f, err
	}
	f.counts = tag.RowsAffected() > 0
	rows, err := answers.Query()
	if err != nil {
		return f, err
	}
	tasks, err := pgx.CollectRows(rows, pgx.RowTo[string])
	f.have = map[string]bool{}
	for _, task := range tasks {
		f.have[task] = true
	}
	return f, err
}

// endInstance makes the value of the result's task the instance's, and returns it. Without trust, the first one counts.
func endInstance(ctx context.Context, tx pgx.Tx, instance, result string, trusting bool) (end *string, err error) {
	err = tx.QueryRow(ctx, `
		UPDATE instances SET value = CASE WHEN $3 OR instances.value IS NULL THEN results.value ELSE instances.value END
		FROM results WHERE id = $1 AND instance = id AND task = $2 RETURNING instances.value`, instance, result, trusting).Scan(&end)
	return end, err
}

// valuesOf returns the values of all tasks that some tasks need. One of them has just finished, with a value.
func valuesOf(ctx context.Context, tx pgx.Tx, args taskArgs, value string, next []protocol.Task) (map[string]string, error) {
	values := map[string]string{args.Task: value}
	var others []string
	for _, t := range next {
		for _, need := range t.Needs {
			if need != args.Task {
				others = append(others, need)
			}
		}
	}
	if len(others) == 0 {
		return values, nil
	}
	rows, err := tx.Query(ctx, `SELECT task, value FROM results WHERE instance = $1 AND task = ANY ($2)`, args.Instance, others)
	if err != nil {
		return nil, err
	}
	var task, text string
	_, err = pgx.ForEachRow(rows, []any{&task, &text}, func() error { values[task] = text; return nil })
	return values, err
}

// look says what became of instances. One has failed if River has discarded a job of it; one of one task may have its job's output.
func look(ctx context.Context, pool *pgxpool.Pool, ids []string) ([]protocol.State, error) {
	rows, err := pool.Query(ctx, `
		SELECT i.id, coalesce(i.value, (
			SELECT metadata->>'output' FROM river_job
			WHERE args @> jsonb_build_object('instance', i.id) AND state = 'completed' AND metadata ? 'output' LIMIT 1)), CASE WHEN i.value IS NULL THEN (
			SELECT coalesce(errors[cardinality(errors)]->>'error', 'a job is ' || state) FROM river_job
			WHERE args @> jsonb_build_object('instance', i.id) AND state IN ('discarded', 'cancelled') LIMIT 1) END
		FROM instances i WHERE i.id = ANY ($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("look: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (protocol.State, error) {
		state, value, failure := protocol.State{Status: protocol.Open}, (*string)(nil), (*string)(nil)
		err := row.Scan(&state.ID, &value, &failure)
		switch {
		case value != nil:
			state.Status, state.Value = protocol.Completed, *value
		case failure != nil:
			state.Status, state.Message = protocol.Failed, *failure
		}
		return state, err
	})
}
