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

// Scope says what belongs to the workload.
type Scope struct {
	// Schema is the schema whose tables are counted. It need not exist yet for the first snapshot.
	Schema string
	// AppPrefix is what the application names of all of the workload's sessions begin with. Must not be empty, and at
	// most 63 bytes, which is where Postgres cuts such a name.
	AppPrefix string
	// Wait is how long Snapshot waits for the workload's sessions to be gone. Zero means ten seconds.
	Wait time.Duration
}

const (
	defaultWait  = 10 * time.Second
	pollEvery    = 5 * time.Millisecond
	maxAppPrefix = 63
	// exactVersion is the first version whose statistics are exact once the sessions are gone.
	exactVersion = 15
)

func (s Scope) validate() error {
	switch {
	case s.Schema == "":
		return errors.New("measure: no schema given")
	case s.AppPrefix == "" || len(s.AppPrefix) > maxAppPrefix:
		return fmt.Errorf("measure: application name prefix %q must have 1 to %d bytes", s.AppPrefix, maxAppPrefix)
	case s.Wait < 0:
		return fmt.Errorf("measure: wait of %v is negative", s.Wait)
	}
	return nil
}

// Counters is the state of the server's counters at one moment. It means nothing alone; see Delta.
type Counters struct {
	scope Scope
	state state
	// Statements.
	statements      *int64
	statementsWhy   string // Why statements is nil.
	statementsEpoch string // Changes when entries were thrown out or reset.
	checkpoints     *int64
	// ourStatements is how many transactions the measuring session had done when it read the state; the one that read it had not
	// been counted yet.
	ourStatements int64
}

// state is what sql/snapshot.sql returns.
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

// database is the part of pg_stat_database that is used here. Sessions is nil before Postgres 14.
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

// Snapshot reads the counters once no session of the workload is left. The connection must be to the workload's
// database, and used for nothing but snapshots from the first to the last, because the session's own transactions are
// taken off by counting them here. It writes nothing.
//
// It fails when the scope's time is up and sessions are still there, when ctx ends, or when the server does not answer.
// A figure that this server or this user cannot read is not a failure; Delta will say why it is missing.
func Snapshot(ctx context.Context, conn *pgx.Conn, scope Scope) (*Counters, error) {
	if err := scope.validate(); err != nil {
		return nil, err
	}
	scope.Wait = cmp.Or(scope.Wait, defaultWait)
	s := &session{conn: conn}
	c := &Counters{scope: scope}
	if err := s.waitForFlush(ctx, scope); err != nil {
		return nil, err
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

// session is the measuring session. It counts what it does, and keeps the count with the connection, so that a
// snapshot that failed and was tried again does not count as the workload's.
type session struct{ conn *pgx.Conn }

const transactionsKey = "pulley/bench/measure.transactions"

func (s *session) transactions() int64 {
	n, _ := s.conn.PgConn().CustomData()[transactionsKey].(int64)
	return n
}

// row runs a query that gives one row, as one transaction: the simple protocol neither prepares nor describes.
func (s *session) row(ctx context.Context, sql string, args []any, into ...any) error {
	s.conn.PgConn().CustomData()[transactionsKey] = s.transactions() + 1
	return s.conn.QueryRow(ctx, sql, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...).Scan(into...)
}

// waitForFlush returns when the statistics of the workload and of this session have been handed in.
func (s *session) waitForFlush(ctx context.Context, scope Scope) error {
	deadline := time.Now().Add(scope.Wait)
	left := int64(-1)
	for range pause.Tries(ctx, pollEvery) {
		if err := s.row(ctx, query("sessions"), []any{scope.AppPrefix}, &left); err != nil {
			return fmt.Errorf("measure: look for the workload's sessions: %w", err)
		}
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("measure: %d sessions named %q are still connected after %v: close them before measuring",
				left, scope.AppPrefix+"…", scope.Wait)
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

// majorVersion is what the server said at connection, without a query: 15 for "15.18", 17 for "17beta1". Zero where it
// speaks of itself otherwise.
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

// readStatements sums up the calls of pg_stat_statements, or notes why that cannot be done.
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
		return nil // An extension older than the server has no such view.
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
		return nil // Without the right to see them there is only no warning.
	}
	if err != nil {
		return fmt.Errorf("measure: count checkpoints: %w", err)
	}
	c.checkpoints = &n
	return nil
}

func query(name string) string { return Statement(sqlFiles, name) }

// Statement is the text of a statement that is embedded as sql/NAME.sql. The names are constants, so a missing one is a broken build.
func Statement(files embed.FS, name string) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err)
	}
	return string(text)
}
