package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/converter"
	"github.com/cschleiden/go-workflows/backend/history"
	"github.com/cschleiden/go-workflows/backend/postgres"
	"github.com/cschleiden/go-workflows/core"
	"github.com/cschleiden/go-workflows/workflow"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/adapter/protocol"
)

// migrating is a backend that can make its tables, as that of Postgres.
type migrating interface {
	backend.Backend

	Migrate() error
}

// once is the backend of Postgres, but that it creates an instance once. That one gives each a new execution, and compares with
// active instances only, without a lock.
type once struct{ migrating }

// execution is the id of the only execution that an instance has. Table instances has a unique index on both.
const execution = "1"

const uniqueViolation = "23505" // SQLSTATE

// CreateWorkflowInstance stores an instance, or returns ErrInstanceAlreadyExists.
func (b once) CreateWorkflowInstance(ctx context.Context, instance *workflow.Instance, event *history.Event) error {
	instance.ExecutionID = execution
	err := b.migrating.CreateWorkflowInstance(ctx, instance, event)
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Code == uniqueViolation {
		return backend.ErrInstanceAlreadyExists
	}
	return err
}

func newBackend(dsn string, s settings) (once, error) {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return once{}, err
	}
	// The parts become a line of KEY=VALUE, in which an empty password would swallow what follows.
	b := postgres.NewPostgresBackend(quote(c.Host), int(c.Port), quote(c.User), quote(c.Password), quote(c.Database),
		postgres.WithApplyMigrations(false),
		postgres.WithPostgresOptions(func(db *sql.DB) {
			db.SetMaxOpenConns(s.connections)
			db.SetMaxIdleConns(s.connections)
		}),
		postgres.WithBackendOptions(
			backend.WithLogger(logger()), backend.WithStickyTimeout(s.sticky),
			backend.WithWorkflowLockTimeout(s.workflowLock), backend.WithActivityLockTimeout(s.activityLock),
		))
	return once{b}, nil
}

func quote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

func connect(ctx context.Context, dsn string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = lookConnections
	config.ConnConfig.ConnectTimeout = answerWithin
	return pgxpool.NewWithConfig(ctx, config)
}

// statesOf selects instances with the event that ended each.
const statesOf = `
	SELECT i.instance_id, i.state, a.data
	FROM instances i
	LEFT JOIN history h ON h.instance_id = i.instance_id AND h.execution_id = i.execution_id AND h.event_type = $1 AND i.state = $2
	LEFT JOIN attributes a ON a.instance_id = h.instance_id AND a.execution_id = h.execution_id AND a.event_id = h.event_id
	WHERE `

// look says what became of instances.
func look(ctx context.Context, pool *pgxpool.Pool, ids []string) ([]protocol.State, error) {
	return states(ctx, pool, statesOf+`i.instance_id = ANY ($3)`, ids)
}

// ended returns those of some instances that have ended.
func ended(ctx context.Context, pool *pgxpool.Pool, ids []string) ([]protocol.State, error) {
	return states(ctx, pool, statesOf+`i.state = $2 AND i.instance_id = ANY ($3)`, ids)
}

// endedSince returns the instances that ended since some time.
func endedSince(ctx context.Context, pool *pgxpool.Pool, since time.Time) ([]protocol.State, error) {
	return states(ctx, pool, statesOf+`i.state = $2 AND i.completed_at > $3`, since)
}

func states(ctx context.Context, pool *pgxpool.Pool, query string, of any) ([]protocol.State, error) {
	rows, err := pool.Query(ctx, query, int(history.EventType_WorkflowExecutionFinished), int(core.WorkflowInstanceStateFinished), of)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (protocol.State, error) {
		state, ended, data := protocol.State{Status: protocol.Open}, core.WorkflowInstanceState(0), []byte(nil)
		if err := row.Scan(&state.ID, &ended, &data); err != nil || ended != core.WorkflowInstanceStateFinished {
			return state, err
		}
		attributes, err := history.DeserializeAttributes(history.EventType_WorkflowExecutionFinished, data)
		if err != nil {
			return state, fmt.Errorf("the end of %q: %w", state.ID, err)
		}
		end := attributes.(*history.ExecutionCompletedAttributes)
		if end.Error != nil {
			state.Status, state.Message = protocol.Failed, end.Error.Error()
			return state, nil
		}
		state.Status = protocol.Completed
		if err := converter.DefaultConverter.From(end.Result, &state.Value); err != nil {
			return state, fmt.Errorf("the value of %q: %w", state.ID, err)
		}
		return state, nil
	})
}
