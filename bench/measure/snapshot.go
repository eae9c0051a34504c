package measure

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/internal/pause"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// Scope identifies the workload.
type Scope struct {
	// Schema has the counted tables. It need not exist at the first snapshot.
	Schema string
	// AppPrefix begins the application names of all the workload's sessions. Not empty, at most 63 bytes, to which Postgres
	// truncates such names.
	AppPrefix string
	// Database: all tables and sessions of the database are the workload's. Schema and AppPrefix are empty then.
	Database bool
	// Wait bounds Snapshot's wait for the end of the workload's sessions. Zero means ten seconds.
	Wait time.Duration
	// Working: the workload's sessions are at work, and nobody waits for their end. Delta then tells only what is exact: bytes of WAL and
	// transactions that wrote.
	Working bool
}

const (
	defaultWait  = 10 * time.Second
	pollEvery    = 5 * time.Millisecond
	maxAppPrefix = 63
	// from then on statistics are exact after the sessions end
	exactVersion = 15
)

func (s Scope) validate() error {
	switch {
	case s.Database && s.Schema+s.AppPrefix != "":
		return errors.New("measure: all of a database is counted, and a schema or an application name is given")
	case s.Database && s.Wait >= 0:
		return nil
	case s.Schema == "":
		return errors.New("measure: no schema given")
	case s.AppPrefix == "" || len(s.AppPrefix) > maxAppPrefix:
		return fmt.Errorf("measure: application name prefix %q must have 1 to %d bytes", s.AppPrefix, maxAppPrefix)
	case s.Wait < 0:
		return fmt.Errorf("measure: wait of %v is negative", s.Wait)
	}
	return nil
}

func (s Scope) sessions() string {
	if s.Database {
		return "of the database"
	}
	return fmt.Sprintf("named %q", s.AppPrefix+"…")
}

// Counters is a reading of the server's counters, meaningful only in Delta.
type Counters struct {
	scope           Scope
	state           state
	statements      *int64
	statementsWhy   string // why statements is nil
	statementsEpoch string // changes when entries were evicted or reset
	checkpoints     *int64
	// ourStatements is the number of the measuring session's transactions before the one that read the state.
	ourStatements int64
}

type state struct {
	VersionNum       int          `json:"version_num"`
	BackendPID       int          `json:"backend_pid"`
	InRecovery       bool         `json:"in_recovery"`
	WALBytes         *json.Number `json:"wal_bytes"`
	NextXID          string       `json:"next_xid"`
	Database         database     `json:"database"`
	OtherSessions    *int64       `json:"other_sessions"`
	Maintenance      int64        `json:"maintenance"`
	ForeignSessions  int64        `json:"strangers"`
	StatementsSchema *string      `json:"statements_schema"`
	TrackCounts      string       `json:"track_counts"`
	Tables           []table      `json:"tables"`
}

func (s *state) major() int { return s.VersionNum / 10000 }

// database is part of pg_stat_database. Sessions is nil before Postgres 14.
type database struct {
	Commits    int64   `json:"xact_commit"`
	Rollbacks  int64   `json:"xact_rollback"`
	Deadlocks  int64   `json:"deadlocks"`
	Sessions   *int64  `json:"sessions"`
	StatsReset *string `json:"stats_reset"`
}

type table struct {
	OID              int64 `json:"oid"`
	SeqRowsRead      int64 `json:"seq_rows_read"`
	IndexRowsFetched int64 `json:"index_rows_fetched"`
	IndexEntriesRead int64 `json:"index_entries_read"`
	Inserted         int64 `json:"inserted"`
	Updated          int64 `json:"updated"`
	HOTUpdated       int64 `json:"hot_updated"`
	Deleted          int64 `json:"deleted"`
}

// Snapshot reads the counters when the workload has no session left, or at once if the scope says that it is working. The connection must be to the workload's database and used
// only for snapshots: Snapshot counts and subtracts its own transactions. It writes nothing.
//
// It fails if sessions remain after the scope's timeout, if ctx ends, or if the server does not answer. A figure that cannot be
// read is not a failure; Delta reports why it is missing.
func Snapshot(ctx context.Context, conn *pgx.Conn, scope Scope) (*Counters, error) {
	if err := scope.validate(); err != nil {
		return nil, err
	}
	scope.Wait = cmp.Or(scope.Wait, defaultWait)
	s := &session{conn: conn}
	c := &Counters{scope: scope}
	if !scope.Working {
		if err := s.waitForFlush(ctx, scope); err != nil {
			return nil, err
		}
	}
	c.ourStatements = s.transactions()
	var raw []byte
	if err := s.row(ctx, query("snapshot"), []any{scope.Schema, scope.AppPrefix, samplerName}, &raw); err != nil {
		return nil, fmt.Errorf("measure: read the server's counters: %w", err)
	}
	if err := json.Unmarshal(raw, &c.state); err != nil {
		return nil, fmt.Errorf("measure: read the server's counters: %w", err)
	}
	if err := s.readStatements(ctx, c); err != nil {
		return nil, err
	}
	if err := s.readCheckpoints(ctx, c); err != nil {
		return nil, err
	}
	return c, nil
}

// session counts the transactions of the measuring session with the connection, so that those of a failed and retried snapshot
// do not count as the workload's.
type session struct{ conn *pgx.Conn }

const transactionsKey = "pulley/bench/measure.transactions"

func (s *session) transactions() int64 {
	n, _ := s.conn.PgConn().CustomData()[transactionsKey].(int64)
	return n
}

func (s *session) row(ctx context.Context, sql string, args []any, into ...any) error {
	s.conn.PgConn().CustomData()[transactionsKey] = s.transactions() + 1
	return s.conn.QueryRow(ctx, sql, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...).Scan(into...)
}

func (s *session) waitForFlush(ctx context.Context, scope Scope) error {
	deadline := time.Now().Add(scope.Wait)
	left := int64(-1)
	for range pause.Tries(ctx, pollEvery) {
		if err := s.row(ctx, query("sessions"), []any{scope.AppPrefix, samplerName}, &left); err != nil {
			return fmt.Errorf("measure: look for the workload's sessions: %w", err)
		}
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("measure: %d sessions %s are still connected after %v: close them before measuring",
				left, scope.sessions(), scope.Wait)
		}
	}
	if left != 0 {
		return fmt.Errorf("measure: wait for the workload's sessions to end: %w", ctx.Err())
	}
	if s.majorVersion() < exactVersion {
		return nil
	}
	var void any
	if err := s.row(ctx, query("flush"), nil, &void); err != nil {
		return fmt.Errorf("measure: hand in own statistics: %w", err)
	}
	return nil
}

// majorVersion parses the version announced at connection: 15 for "15.18", 17 for "17beta1"; zero if it has another form.
func (s *session) majorVersion() int {
	text := s.conn.PgConn().ParameterStatus("server_version")
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(text)
	}
	n, err := strconv.Atoi(text[:end])
	if err != nil {
		return 0
	}
	return n
}

func (s *session) readStatements(ctx context.Context, c *Counters) error {
	if c.state.StatementsSchema == nil {
		c.statementsWhy = "statements were not counted: the extension pg_stat_statements is not in this database"
		return nil
	}
	schema := pgx.Identifier{*c.state.StatementsSchema}.Sanitize()
	var raw []byte
	err := s.row(ctx, strings.ReplaceAll(query("statements"), "{schema}", schema), nil, &raw)
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) {
		c.statementsWhy = "statements were not counted: " + refused.Message
		return nil
	}
	if err != nil {
		return fmt.Errorf("measure: count statements: %w", err)
	}
	var got struct {
		Calls int64  `json:"calls"`
		Track string `json:"track"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return fmt.Errorf("measure: count statements: %w", err)
	}
	if got.Track == "none" {
		c.statementsWhy = "statements were not counted: pg_stat_statements.track is none"
		return nil
	}
	c.statements = &got.Calls
	return s.readStatementsEpoch(ctx, c, schema)
}

func (s *session) readStatementsEpoch(ctx context.Context, c *Counters, schema string) error {
	if c.state.major() < 14 {
		return nil
	}
	var dealloc int64
	var reset *string
	err := s.row(ctx, strings.ReplaceAll(query("statements_info"), "{schema}", schema), nil, &dealloc, &reset)
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) {
		return nil // an older extension lacks the view
	}
	if err != nil {
		return fmt.Errorf("measure: count statements: %w", err)
	}
	c.statementsEpoch = strconv.FormatInt(dealloc, 10)
	if reset != nil {
		c.statementsEpoch += " " + *reset
	}
	return nil
}

func (s *session) readCheckpoints(ctx context.Context, c *Counters) error {
	name := "checkpoints"
	if c.state.major() >= 17 {
		name = "checkpoints_17"
	}
	var n int64
	err := s.row(ctx, query(name), nil, &n)
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) {
		return nil // without the privilege, only a warning is missing
	}
	if err != nil {
		return fmt.Errorf("measure: count checkpoints: %w", err)
	}
	c.checkpoints = &n
	return nil
}

func query(name string) string { return Statement(sqlFiles, name) }

// Statement returns the embedded statement sql/NAME.sql. Names are constants; a missing one panics.
func Statement(files embed.FS, name string) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err)
	}
	return string(text)
}
