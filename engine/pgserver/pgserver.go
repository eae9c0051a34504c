package pgserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Server is a Postgres that answered a query. Its methods are safe for concurrent use.
type Server struct {
	way   Way
	dsn   string
	where string // where it was found, for Describe
	facts facts
	moved atomic.Pointer[string] // the current DSN, if it has changed

	// At most one of these is set; neither for a server given by a DSN.
	cluster   *cluster
	container *container

	closing  sync.Once
	closeErr error
}

// Open finds or starts a Postgres as the package comment describes. The caller must Close the server; ctx bounds only Open.
// Each way also has its own deadline.
func Open(ctx context.Context, o Options) (*Server, error) {
	o, err := o.resolve()
	if err != nil {
		return nil, err
	}
	o.sweep(ctx)
	var lacking []string
	for _, way := range o.Ways {
		if way == WayDSN && o.DSN == "" {
			lacking = append(lacking, "DSN: none given")
			continue
		}
		s, err := o.open(ctx, way)
		if err == nil {
			o.logf("using %s", s.Describe())
			return s, nil
		}
		if way == WayDSN {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("looking for a Postgres was interrupted (%s): %w", way.title(), context.Cause(ctx))
		}
		o.logf("%s: %v", way.title(), err)
		lacking = append(lacking, fmt.Sprintf("%s: %v", way.title(), err))
	}
	return nil, fmt.Errorf("%w (%s); %s", ErrNoPostgres, strings.Join(lacking, "; "), howToInstall())
}

func (o Options) open(ctx context.Context, way Way) (*Server, error) {
	switch way {
	case WayDSN:
		return o.openDSN(ctx)
	case WayLocal:
		return o.openLocal(ctx)
	case WayDocker:
		return o.openDocker(ctx)
	case WayDownload:
		return o.openDownload(ctx)
	default:
		return nil, fmt.Errorf("%q is no way to find a Postgres", way)
	}
}

func (o Options) openDSN(ctx context.Context) (*Server, error) {
	if len(o.Settings) > 0 {
		o.logf("DSN: the given server settings are not applied, the server is not ours")
	}
	ctx, cancel := context.WithTimeout(ctx, min(o.StartTimeout, dsnTimeout))
	defer cancel()
	f, err := inspect(ctx, o.DSN, wanted{schema: o.Schema, readOnly: o.ReadOnly})
	if err != nil {
		return nil, err
	}
	where := "at " + f.target
	if f.pooled {
		where += ", through a pooler"
	}
	return &Server{way: WayDSN, dsn: o.DSN, where: where, facts: f}, nil
}

// DSN is the connection string, as a URL for servers that we started and as given otherwise: it may hold a password. It
// survives Stop and Start; a container's changes with each Restart and Connect.
func (s *Server) DSN() string {
	if dsn := s.moved.Load(); dsn != nil {
		return *dsn
	}
	return s.dsn
}

// Way is how the server was obtained.
func (s *Server) Way() Way { return s.way }

// Started reports whether we started the server, and so will end it.
func (s *Server) Started() bool { return s.way != WayDSN }

// Version is the version as server_version_num: 150018 is 15.18.
func (s *Server) Version() int { return s.facts.version }

// Durability is the durability settings at the time of Open.
func (s *Server) Durability() Durability { return s.facts.durability }

// HasStatementStats reports whether pg_stat_statements can be read in the DSN's database.
func (s *Server) HasStatementStats() bool { return s.facts.statementStats }

// Pooled reports whether the DSN leads through a pooler: another process answers than the one that the handshake named.
func (s *Server) Pooled() bool { return s.facts.pooled }

// Describe describes the server and its way in one line, without a password.
func (s *Server) Describe() string {
	return fmt.Sprintf("%s: PostgreSQL %s %s", s.way.title(), s.facts.versionText, s.where)
}

// String is Describe, so that a log line does not contain the DSN.
func (s *Server) String() string { return s.Describe() }

// closeTimeout bounds Close beyond the caller's context: a server must be ended even if every context is cancelled.
const closeTimeout = 30 * time.Second

// Close ends a server that we started, without a checkpoint since its data is removed, and removes its files. It does nothing
// to a server given by a DSN. It continues for at most half a minute when ctx is cancelled. Later calls return the first one's
// result.
func (s *Server) Close(ctx context.Context) error {
	s.closing.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		switch {
		case s.cluster != nil:
			s.closeErr = s.cluster.close(ctx)
		case s.container != nil:
			s.closeErr = s.container.close(ctx)
		}
	})
	return s.closeErr
}

// StopMode is how a server is ended.
type StopMode int

// The modes.
const (
	StopFast      StopMode = iota // rolls back, writes a checkpoint, ends
	StopImmediate                 // ends at once; the next start recovers
	StopKill                      // SIGKILL to the postmaster, a crash; the next start recovers
)

// ErrNotManaged is wrapped by the errors of Stop and Start for a server that we did not start from binaries.
var ErrNotManaged = errors.New("only a server that was started from binaries can be stopped and started again")

// Stop ends the server and keeps its data for Start. It returns when the server's first process has exited. Stopping a stopped
// server does nothing. If ctx ends first, the server is killed, and the error says so.
func (s *Server) Stop(ctx context.Context, mode StopMode) error {
	if s.cluster == nil {
		return fmt.Errorf("%s: %w", s.way.title(), ErrNotManaged)
	}
	return s.cluster.stop(ctx, mode)
}

// Start starts a stopped server under the same DSN and returns when it answers queries, after its recovery. Starting a running
// server does nothing. It retries while a crash has left something that disappears by itself, until ctx ends or
// Options.StartTimeout is over.
func (s *Server) Start(ctx context.Context) error {
	if s.cluster == nil {
		return fmt.Errorf("%s: %w", s.way.title(), ErrNotManaged)
	}
	return s.cluster.start(ctx)
}
