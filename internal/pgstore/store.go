package pgstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
)

//go:embed migrations/*.sql
var base embed.FS

//go:embed sql/lookup.sql
var lookupSQL string

//go:embed sql/cancel.sql
var cancelSQL string

//go:embed sql/workflow_put.sql
var workflowPutSQL string

//go:embed sql/workflow_get.sql
var workflowGetSQL string

// statementTimeout bounds each statement, so that no lock is waited for indefinitely.
const statementTimeout = 60 * time.Second

// idleTimeout bounds how long a transaction may wait for its engine between two statements. They take no time there, so an engine
// that lets one wait for so long is paused or cut off, and holds locks that others wait for: in pull, all other scans of its shard.
// It is an engine's default lease: after that, others have its work anyway. The server then ends the session, and the engine
// repeats the transaction.
const idleTimeout = 10 * time.Second

// OpenTimeout bounds opening a store: a server that is cut off never answers.
const OpenTimeout = 5 * time.Minute

// validate refuses a Config with an impossible value.
func validate(c postgres.Config) error {
	switch {
	case c.Schema == "":
		return errors.New("postgres: no schema; name one")
	case c.Shards < 0 || c.Shards > math.MaxInt16:
		return fmt.Errorf("postgres: %d shards; choose from 1 to %d", c.Shards, math.MaxInt16)
	case c.Connections < 0 || c.Connections == 1:
		return fmt.Errorf("postgres: %d connections; choose 2 or more", c.Connections)
	}
	return nil
}

// Store is an open schema on a Host. It is safe for concurrent use.
type Store struct {
	Pool   Pool
	Clock  Clock
	Jitter func() float64 // in [0, 1), for pauses and lock timeouts
	Schema string

	CommitSlotRetention time.Duration // see Host

	name        string                                    // unique; used in notifications
	dial        func(context.Context) (ListenConn, error) // opens connections outside the pool
	problem     func(error)                               // may be nil
	shards      int
	mu          sync.Mutex
	numbers     map[[32]byte]int32      // of workflows, by hash
	programs    map[int32]*plan.Program // by number
	incarnation string                  // of the server; empty: unknown
}

// Open connects, runs the shared and the design's migrations, and reads the number of shards, within OpenTimeout. Errors are one
// line and say what to do.
func Open(ctx context.Context, cfg postgres.Config, design fs.FS) (*Store, error) {
	if err := validate(cfg); err != nil {
		return nil, err
	}
	pc, err := poolConfig(cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, OpenTimeout)
	defer cancel()
	if err := migrate(ctx, pc.ConnConfig.Copy(), cfg, design); err != nil {
		return nil, postgres.Explain(err)
	}
	connections, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, postgres.Explain(err)
	}
	apart := pc.ConnConfig.Copy()
	s := On(Host{Pool: pool{connections}, Clock: Machine{}, Schema: cfg.Schema, Name: uuid.NewString(), Problem: cfg.Problem, Listen: func(ctx context.Context) (ListenConn, error) {
		conn, err := pgx.ConnectConfig(ctx, apart)
		if err != nil {
			return nil, err
		}
		return pgListenConn{conn}, nil
	}})
	if err := connections.QueryRow(ctx, "SELECT shards FROM store").Scan(&s.shards); err != nil {
		connections.Close()
		return nil, postgres.Explain(err)
	}
	if _, err := s.Incarnation(ctx); err != nil {
		connections.Close()
		return nil, postgres.Explain(err)
	}
	if cfg.Shards != 0 && cfg.Shards != s.shards {
		connections.Close()
		return nil, fmt.Errorf("postgres: schema %s was set up with %d shards, not %d; leave the number out or use another schema", cfg.Schema, s.shards, cfg.Shards)
	}
	return s, nil
}

func poolConfig(cfg postgres.Config) (*pgxpool.Config, error) {
	pc, err := pgxpool.ParseConfig(cfg.DSN)
	if err != nil {
		return nil, postgres.Explain(err)
	}
	pc.MaxConns = int32(postgres.DefaultConnections)
	if cfg.Connections > 0 {
		pc.MaxConns = int32(cfg.Connections)
	}
	application := cfg.Application
	if application == "" {
		application = "pulley"
	}
	for name, value := range map[string]string{
		"search_path":                         pgx.Identifier{cfg.Schema}.Sanitize(),
		"application_name":                    application,
		"enable_seqscan":                      "off",
		"random_page_cost":                    "0.01",
		"enable_bitmapscan":                   "off",
		"enable_indexonlyscan":                "off", // the server's counters omit their rows
		"enable_sort":                         "off", // all ordered reads have an index
		"enable_incremental_sort":             "off",
		"jit":                                 "off",
		"plan_cache_mode":                     "force_generic_plan",
		"statement_timeout":                   strconv.FormatInt(statementTimeout.Milliseconds(), 10),
		"idle_in_transaction_session_timeout": strconv.FormatInt(idleTimeout.Milliseconds(), 10),
	} {
		pc.ConnConfig.RuntimeParams[name] = value
	}
	if pc.ConnConfig.ConnectTimeout == 0 {
		pc.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	pc.ConnConfig.Tracer = cfg.Tracer
	pc.AfterConnect = registerArrays
	return pc, nil
}

// Shards returns the schema's number of shards.
func (s *Store) Shards() int { return s.shards }

// Close closes all connections, after the calls that use them.
func (s *Store) Close() { s.Pool.Close() }

// Connect opens a connection with the settings of a store's pool, outside any pool. The schema must be set up. The caller closes
// it.
func Connect(ctx context.Context, cfg postgres.Config) (*pgx.Conn, error) {
	if err := validate(cfg); err != nil {
		return nil, err
	}
	pc, err := poolConfig(cfg)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, pc.ConnConfig)
	if err == nil {
		err = registerArrays(ctx, conn)
	}
	return conn, postgres.Explain(err)
}
