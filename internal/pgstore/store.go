package pgstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
	"pulley/internal/pgdial"
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

// OpenTimeout bounds opening a store: a server that is cut off never answers.
const OpenTimeout = 5 * time.Minute

// validate refuses a Config with an impossible value.
func validate(c postgres.Config) error {
	switch {
	case c.Schema == "":
		return errors.New("postgres: no schema; name one")
	case c.Shards < 0 || c.Shards > math.MaxInt16:
		return fmt.Errorf("postgres: %d shards; choose from 1 to %d", c.Shards, math.MaxInt16)
	case !slices.Contains([]postgres.PoolMode{postgres.PoolDetect, postgres.PoolNone, postgres.PoolSession, postgres.PoolTransaction}, c.PoolMode):
		_, err := postgres.ParsePoolMode(string(c.PoolMode))
		return fmt.Errorf("postgres: %w", err)
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
	dial        func(context.Context) (ListenConn, error) // opens connections outside the pool; nil: there are none
	unheard     sync.Once                                 // tells that there are none
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
	ctx, cancel := context.WithTimeout(ctx, OpenTimeout)
	defer cancel()
	link, conn, err := pgdial.Open(ctx, cfg, registerArrays)
	if err != nil {
		return nil, postgres.Explain(err)
	}
	err = migrate(ctx, link, conn, cfg, design)
	if err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))); err != nil {
		return nil, postgres.Explain(err)
	}
	connections, err := openPool(ctx, link)
	if err != nil {
		return nil, postgres.Explain(err)
	}
	s := On(Host{Pool: connections, Clock: Machine{}, Schema: cfg.Schema, Name: uuid.NewString(), Problem: cfg.Problem, Listen: listening(link)})
	if err := connections.QueryRow(ctx, "SELECT shards FROM store").Scan(&s.shards); err != nil {
		connections.Close()
		return nil, postgres.Explain(err)
	}
	if _, err := s.Incarnation(ctx); err != nil && !MayOnlyRead(err) {
		connections.Close()
		return nil, postgres.Explain(err)
	}
	if cfg.Shards != 0 && cfg.Shards != s.shards {
		connections.Close()
		return nil, fmt.Errorf("postgres: schema %s was set up with %d shards, not %d; leave the number out or use another schema", cfg.Schema, s.shards, cfg.Shards)
	}
	return s, nil
}

// Shards returns the schema's number of shards.
func (s *Store) Shards() int { return s.shards }

// Close closes all connections, after the calls that use them.
func (s *Store) Close() { s.Pool.Close() }

// Connect opens a direct connection with the settings of a store's pool, outside any pool. The schema must be set up. The caller closes
// it.
func Connect(ctx context.Context, cfg postgres.Config) (*pgx.Conn, error) {
	if err := validate(cfg); err != nil {
		return nil, err
	}
	link, err := pgdial.Direct(cfg, registerArrays)
	if err != nil {
		return nil, postgres.Explain(err)
	}
	conn, _, err := link.Connect(ctx)
	if err == nil {
		err = registerArrays(ctx, conn)
	}
	return conn, postgres.Explain(err)
}
