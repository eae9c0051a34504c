package pgserver

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/internal/pause"
)

// dsnTimeout bounds the check of a server given by a DSN.
const dsnTimeout = 15 * time.Second

//go:embed sql/inspect.sql
var inspectSQL string

//go:embed sql/statement_stats_create.sql
var statementStatsCreateSQL string

//go:embed sql/statement_stats_read.sql
var statementStatsReadSQL string

// Durability holds the settings that decide what survives a crash. A setting unknown to the server is empty.
type Durability struct {
	Fsync             string `json:"fsync"`              // on: commits reach the disk
	SynchronousCommit string `json:"synchronous_commit"` // on: COMMIT answers after that
	FullPageWrites    string `json:"full_page_writes"`   // on: a torn page is repaired
	WALLevel          string `json:"wal_level"`
	WALSyncMethod     string `json:"wal_sync_method"`
	DataChecksums     string `json:"data_checksums"`
}

// Weakness returns in one line why an acknowledged commit may be lost in a crash; empty if it cannot be.
func (d Durability) Weakness() string {
	var weak []string
	if d.Fsync != "on" {
		weak = append(weak, "fsync is "+orUnknown(d.Fsync))
	}
	if d.SynchronousCommit == "off" || d.SynchronousCommit == "" {
		weak = append(weak, "synchronous_commit is "+orUnknown(d.SynchronousCommit))
	}
	if d.FullPageWrites != "on" {
		weak = append(weak, "full_page_writes is "+orUnknown(d.FullPageWrites))
	}
	return strings.Join(weak, ", ")
}

func (d Durability) String() string {
	return fmt.Sprintf("fsync=%s synchronous_commit=%s full_page_writes=%s wal_level=%s wal_sync_method=%s data_checksums=%s",
		orUnknown(d.Fsync), orUnknown(d.SynchronousCommit), orUnknown(d.FullPageWrites),
		orUnknown(d.WALLevel), orUnknown(d.WALSyncMethod), orUnknown(d.DataChecksums))
}

func orUnknown(value string) string { return cmp.Or(value, "unknown") }

type facts struct {
	version        int    // server_version_num
	versionText    string // for people: 15.18
	target         string // user@host:port/database, never a password
	durability     Durability
	statementStats bool
	pooled         bool // another process answers than that of the handshake
}

// wanted says how a server will be used.
type wanted struct {
	schema   string // a user who cannot create schemas may use this one, if it exists
	readOnly bool   // nothing is written
}

// inspect connects, queries the facts and rejects an unusable server. It waits for a starting server until ctx ends. Errors
// name the server, without a password.
func inspect(ctx context.Context, dsn string, use wanted) (facts, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return facts{}, dsnSyntaxError(dsn, err)
	}
	conn, err := connect(ctx, cfg)
	if err != nil {
		return facts{}, connectError(cfg, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return query(ctx, conn, cfg, use)
}

const connectTick = 20 * time.Millisecond

func connect(ctx context.Context, cfg *pgx.ConnConfig) (conn *pgx.Conn, err error) {
	for range pause.Tries(ctx, connectTick) {
		if conn, err = pgx.ConnectConfig(ctx, cfg); err == nil || !isStartingUp(err) {
			break
		}
	}
	return conn, err
}

// query reads the facts. It checks the version from the connection first, because an older server may not understand the query.
func query(ctx context.Context, conn *pgx.Conn, cfg *pgx.ConnConfig, use wanted) (facts, error) {
	f := facts{target: target(cfg), versionText: shortVersion(conn.PgConn().ParameterStatus("server_version"))}
	if n, ok := versionNumber(f.versionText); ok && n < MinVersion {
		return facts{}, tooOld(f.target, f.versionText)
	}
	var readOnly, mayCreate, hasSchema bool
	var pid uint32
	d := &f.durability
	err := conn.QueryRow(ctx, inspectSQL, pgx.QueryExecModeSimpleProtocol, use.schema).Scan(&f.version, &d.Fsync,
		&d.SynchronousCommit, &d.FullPageWrites, &d.WALLevel, &d.WALSyncMethod, &d.DataChecksums, &readOnly, &mayCreate, &hasSchema, &pid)
	if err != nil {
		return facts{}, fmt.Errorf("the server %s does not answer a question about itself: %s", f.target, oneLine(reason(err)))
	}
	switch {
	case f.version < MinVersion:
		return facts{}, tooOld(f.target, f.versionText)
	case readOnly && !use.readOnly:
		return facts{}, fmt.Errorf("the server %s accepts no writes (a standby, or default_transaction_read_only is on): give a DSN of the primary", f.target)
	case !mayCreate && !hasSchema:
		return facts{}, fmt.Errorf("user %q may not create schemas at %s: let its owner run GRANT CREATE ON DATABASE %s TO %s, or make the schema for it, with pulley schema",
			cfg.User, f.target, pgx.Identifier{cfg.Database}.Sanitize(), pgx.Identifier{cfg.User}.Sanitize())
	}
	f.pooled = pid != conn.PgConn().PID()
	f.versionText = cmp.Or(f.versionText, strconv.Itoa(f.version))
	_, err = conn.Exec(ctx, statementStatsReadSQL)
	f.statementStats = err == nil
	return f, nil
}

func tooOld(where, version string) error {
	return fmt.Errorf("PostgreSQL %s at %s is too old: give a server of version %d or later", version, where, MinVersion/10000)
}

// createStatementStats creates pg_stat_statements if possible. A server without it is usable.
func createStatementStats(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statementStatsCreateSQL)
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

// shortVersion removes packagers' additions: "15.18 (Debian 15.18-0+deb12u1)" is 15.18.
func shortVersion(text string) string {
	short, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return short
}

// versionNumber converts 15.18, 9.6.24, 18beta1 or 17.5.0 to the form of server_version_num; ok is false if the text does not
// begin with a number.
func versionNumber(text string) (number int, ok bool) {
	parts := strings.Split(text, ".")
	major, ok := leadingInt(parts[0])
	if !ok {
		return 0, false
	}
	minor, patch := 0, 0
	if len(parts) > 1 {
		minor, _ = leadingInt(parts[1])
	}
	if major >= 10 {
		return major*10000 + minor, true
	}
	if len(parts) > 2 {
		patch, _ = leadingInt(parts[2])
	}
	return major*10000 + minor*100 + patch, true
}

func leadingInt(text string) (n int, ok bool) {
	end := 0
	for end < len(text) && end < 4 && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(text[:end])
	return n, err == nil
}
