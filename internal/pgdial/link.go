package pgdial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/engine/backend/postgres"
)

// connectTimeout bounds connecting, unless the DSN does.
const connectTimeout = 10 * time.Second

// Link is a way to a schema, which knows what is between. It is safe for concurrent use.
type Link struct {
	mode    postgres.PoolMode // never PoolDetect
	tracked bool              // the pooler keeps track of the names of prepared statements
	plain   *pgxpool.Config   // without settings
	direct  *pgx.ConnConfig   // past a pooler, with settings; nil: no other way
	all     []setting
}

// Open asks the server of cfg what is between, and returns a connection without settings, too, which the caller closes. prepare is
// called with each further connection. Errors are not explained (postgres.Explain).
func Open(ctx context.Context, cfg postgres.Config, prepare func(context.Context, *pgx.Conn) error) (*Link, *pgx.Conn, error) {
	l, err := newLink(cfg, cfg.DSN, prepare)
	if err != nil {
		return nil, nil, err
	}
	conn, err := l.connectPlain(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err = l.detect(ctx, conn, cfg.PoolMode); err == nil && cfg.DirectDSN != "" {
		err = l.passBy(ctx, conn, cfg, prepare)
	}
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return l, conn, nil
}

// Direct returns the link of a server that is connected directly, without asking it.
func Direct(cfg postgres.Config, prepare func(context.Context, *pgx.Conn) error) (*Link, error) {
	l, err := newLink(cfg, cfg.DSN, prepare)
	if err == nil {
		l.mode = postgres.PoolNone
	}
	return l, err
}

func newLink(cfg postgres.Config, dsn string, prepare func(context.Context, *pgx.Conn) error) (*Link, error) {
	pc, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	pc.MaxConns = int32(postgres.DefaultConnections)
	if cfg.Connections > 0 {
		pc.MaxConns = int32(cfg.Connections)
	}
	application := cfg.Application
	if application == "" {
		application = "pulley"
	}
	pc.ConnConfig.RuntimeParams["application_name"] = application
	if pc.ConnConfig.ConnectTimeout == 0 {
		pc.ConnConfig.ConnectTimeout = connectTimeout
	}
	pc.ConnConfig.Tracer = cfg.Tracer
	pc.AfterConnect = prepare
	return &Link{plain: pc, all: settings(cfg.Schema)}, nil
}

// connectPlain prepares no statement under a name, which a pooler might leave behind for other clients.
func (l *Link) connectPlain(ctx context.Context) (*pgx.Conn, error) {
	cc := l.plain.ConnConfig.Copy()
	cc.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	return pgx.ConnectConfig(ctx, cc)
}

func (l *Link) detect(ctx context.Context, conn *pgx.Conn, told postgres.PoolMode) error {
	l.mode = told
	if told == postgres.PoolDetect {
		straight, err := isDirect(ctx, conn)
		switch {
		case err != nil:
			return err
		case straight:
			l.mode = postgres.PoolNone
		default:
			l.mode = postgres.PoolTransaction
		}
	}
	var err error
	switch l.mode {
	case postgres.PoolSession:
		err = l.checkSessions(ctx, conn)
	case postgres.PoolTransaction:
		l.tracked, err = tracksNames(ctx, conn)
	}
	return err
}

// isDirect reports whether the process that answers is that of the handshake. A pooler cannot pass on an id, which a client could
// use for another's session.
func isDirect(ctx context.Context, conn *pgx.Conn) (bool, error) {
	pid, err := pidOf(ctx, conn)
	return pid == conn.PgConn().PID(), err
}

func pidOf(ctx context.Context, conn *pgx.Conn) (pid uint32, err error) {
	err = conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid)
	return pid, err
}

// sessionChecks is how many times two connections take turns. A pooler of transactions gives the second one the server process
// that the first one has just left, unless others are quicker, or it takes processes by turns.
const sessionChecks = 4

// checkSessions refuses a pooler that does not pool sessions: settings that are made once would reach other clients.
func (l *Link) checkSessions(ctx context.Context, conn *pgx.Conn) error {
	other, err := l.connectPlain(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = other.Close(context.WithoutCancel(ctx)) }()
	first, err := pidOf(ctx, conn)
	if err != nil {
		return err
	}
	for range sessionChecks {
		theirs, err := pidOf(ctx, other)
		if err != nil {
			return err
		}
		ours, err := pidOf(ctx, conn)
		if err != nil {
			return err
		}
		if theirs == first || ours != first {
			return errors.New("postgres: the pooler does not pool sessions, as the pool mode says: it gives a session's server process to others; " +
				"leave the pool mode out, or make it transaction")
		}
	}
	return nil
}

// tracksNames reports whether a pooler gives prepared statements names of its own, and so keeps track of them. One that passes
// names on as they are leaves the statement to other clients, and executes it where it does not exist.
func tracksNames(ctx context.Context, conn *pgx.Conn) (bool, error) {
	name := "pulley_" + uuid.NewString()
	p := conn.PgConn().StartPipeline(ctx)
	p.SendPrepare(name, "SELECT 1", nil)
	p.SendQueryParams("SELECT EXISTS (SELECT FROM pg_prepared_statements WHERE name = '"+name+"')::text", nil, nil, nil, nil)
	p.SendDeallocate(name)
	if err := p.Sync(); err != nil {
		return false, errors.Join(err, p.Close())
	}
	tracked := false
	for {
		got, err := p.GetResults()
		if err != nil || got == nil {
			break // Close returns it
		}
		if reader, ok := got.(*pgconn.ResultReader); ok {
			result := reader.Read()
			tracked = len(result.Rows) == 1 && string(result.Rows[0][0]) == "false"
		}
	}
	err := p.Close()
	if _, refused := errors.AsType[*pgconn.PgError](err); refused && !conn.IsClosed() {
		return false, nil // it refuses names
	}
	return tracked, err
}

// passBy checks that the direct DSN reaches the same database, without a pooler.
func (l *Link) passBy(ctx context.Context, conn *pgx.Conn, cfg postgres.Config, prepare func(context.Context, *pgx.Conn) error) error {
	by, err := newLink(cfg, cfg.DirectDSN, prepare)
	if err != nil {
		return fmt.Errorf("the direct DSN: %w", err)
	}
	past, err := by.connectPlain(ctx)
	if err != nil {
		return fmt.Errorf("the direct DSN: %w", err)
	}
	defer func() { _ = past.Close(context.WithoutCancel(ctx)) }()
	straight, err := isDirect(ctx, past)
	if err != nil {
		return fmt.Errorf("the direct DSN: %w", err)
	}
	if !straight {
		return errors.New("postgres: the direct DSN leads through a pooler, too; give one with host and port of the server itself")
	}
	same, err := meet(ctx, conn, past)
	if err != nil {
		return fmt.Errorf("comparing the direct DSN with the DSN: %w", err)
	}
	if !same {
		return errors.New("postgres: the direct DSN reaches another server or database than the DSN; give that of the same database")
	}
	l.direct = by.withSettings().ConnConfig
	return nil
}

// meet reports whether two connections lead to the same database: they exclude each other from a lock.
func meet(ctx context.Context, one, other *pgx.Conn) (same bool, err error) {
	key := rand.Int64()
	err = pgx.BeginFunc(ctx, one, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", key); err != nil {
			return err
		}
		return other.QueryRow(ctx, "SELECT NOT pg_try_advisory_xact_lock($1)", key).Scan(&same)
	})
	return same, err
}

// withSettings returns a configuration whose startup parameters are the settings.
func (l *Link) withSettings() *pgxpool.Config {
	pc := l.plain.Copy()
	for _, s := range l.all {
		pc.ConnConfig.RuntimeParams[s.name] = s.value
	}
	return pc
}

// Pool opens a pool. With a mode of PoolTransaction its connections have no settings, and only [Transactions] may use it.
func (l *Link) Pool(ctx context.Context) (*pgxpool.Pool, error) {
	pc := l.plain.Copy()
	switch l.mode {
	case postgres.PoolNone:
		pc = l.withSettings()
	case postgres.PoolSession:
		prepare := pc.AfterConnect
		pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			return errors.Join(l.setForSession(ctx, conn), prepare(ctx, conn))
		}
	case postgres.PoolTransaction:
		pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec // prepares nothing under a name
	}
	return pgxpool.NewWithConfig(ctx, pc)
}

func (l *Link) setForSession(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, set(l.all, false))
	return err
}

// PoolsTransactions reports whether each transaction may be served by another server connection.
func (l *Link) PoolsTransactions() bool { return l.mode == postgres.PoolTransaction }

// Mode returns what is between; it is not PoolDetect.
func (l *Link) Mode() postgres.PoolMode { return l.mode }

// TracksNames reports whether a pooler of transactions keeps track of the names of prepared statements.
func (l *Link) TracksNames() bool { return l.tracked }

// Listens reports whether Connect is possible: a session that lasts can be had.
func (l *Link) Listens() bool { return l.direct != nil || l.mode != postgres.PoolTransaction }

// Connect opens a connection that lasts, outside of any pool and past a pooler if there is a way. It returns the id of its server
// process, too. The caller closes the connection.
func (l *Link) Connect(ctx context.Context) (*pgx.Conn, uint32, error) {
	switch {
	case l.direct != nil:
		conn, err := pgx.ConnectConfig(ctx, l.direct.Copy())
		if err != nil {
			return nil, 0, err
		}
		return conn, conn.PgConn().PID(), nil
	case l.mode == postgres.PoolNone:
		conn, err := pgx.ConnectConfig(ctx, l.withSettings().ConnConfig)
		if err != nil {
			return nil, 0, err
		}
		return conn, conn.PgConn().PID(), nil
	case l.mode == postgres.PoolSession:
		conn, err := pgx.ConnectConfig(ctx, l.plain.ConnConfig.Copy())
		if err != nil {
			return nil, 0, err
		}
		err = l.setForSession(ctx, conn)
		var pid uint32
		if err == nil {
			pid, err = pidOf(ctx, conn)
		}
		if err != nil {
			return nil, 0, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
		}
		return conn, pid, nil
	}
	return nil, 0, errors.New("postgres: no session lasts through a pooler of transactions; give a direct DSN")
}

// SetForMigration makes the settings for a transaction. A migration names its own search path.
func (l *Link) SetForMigration(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, set(without(l.all, "search_path"), true))
	return err
}
