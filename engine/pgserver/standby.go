package pgserver

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed sql/standby_demand.sql
	standbyDemandSQL string
	//go:embed sql/standby_release.sql
	standbyReleaseSQL string
	//go:embed sql/reload.sql
	reloadSQL string
	//go:embed sql/standby_write.sql
	standbyWriteSQL string
	//go:embed sql/standby_awaited.sql
	standbyAwaitedSQL string
	//go:embed sql/promote.sql
	promoteSQL string
)

type standby struct {
	place *place
	proc  *process
}

const copyProgram = "pg_basebackup"

// CanHaveStandby returns why the server cannot have a standby; nil if it can.
func (s *Server) CanHaveStandby() error {
	if s.cluster == nil {
		return fmt.Errorf("%s: %w", s.way.title(), ErrNotManaged)
	}
	if _, err := os.Stat(filepath.Join(s.cluster.bin.dir, copyProgram)); err != nil {
		return fmt.Errorf("%s has no %s, which makes a standby: install Postgres' client programs", s.cluster.bin.dir, copyProgram)
	}
	return nil
}

// AddStandby adds a standby. When it returns, no commit is answered before the standby has it on disk; commits wait while the
// standby starts.
func (s *Server) AddStandby(ctx context.Context) error {
	if err := s.CanHaveStandby(); err != nil {
		return err
	}
	return s.cluster.addStandby(ctx)
}

// RemoveStandby ends the standby, if any; commits no longer wait.
func (s *Server) RemoveStandby(ctx context.Context) error {
	if s.cluster == nil {
		return nil
	}
	c := s.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.removeStandby(ctx)
}

// Promote kills the server with SIGKILL and lets its standby take its place, under the same DSN. It returns when the standby
// answers and accepts writes. Then there is no standby; the old server's data is removed soon afterwards.
func (s *Server) Promote(ctx context.Context) error {
	if s.cluster == nil {
		return fmt.Errorf("%s: %w", s.way.title(), ErrNotManaged)
	}
	return s.cluster.promote(ctx)
}

func (c *cluster) addStandby(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.StartTimeout, fmt.Errorf("the standby did not follow within %s", c.o.StartTimeout))
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed || !c.proc.alive():
		return errors.New("the server does not run, so that no standby can be made of it: start it first")
	case c.standby != nil:
		return errors.New("the server has a standby: promote it, or end it")
	}
	err := c.makeStandby(ctx)
	if err != nil {
		undoing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		return fmt.Errorf("making a standby: %w", errors.Join(err, c.removeStandby(undoing)))
	}
	return nil
}

// makeStandby copies the server, makes commits wait for a standby, and starts the copy as one. A commit that waits for the
// standby and ends with it shows that every later one does.
func (c *cluster) makeStandby(ctx context.Context) error {
	next := c.place.next()
	c.standby = &standby{place: next}
	if err := c.tool(ctx, next, copyProgram, "--dbname", c.place.ownDSN(), "--pgdata", next.cluster(),
		"--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream", "--no-sync"); err != nil {
		return err
	}
	settings := maps.Clone(c.settings)
	settings["wal_retrieve_retry_interval"] = "100ms" // it may sleep so long before it notices its promotion
	if err := c.configure(next, settings); err != nil {
		return err
	}
	watching, err := pgx.Connect(ctx, c.place.ownDSN())
	if err != nil {
		return err
	}
	defer func() { _ = watching.Close(context.WithoutCancel(ctx)) }()
	writing, err := pgx.Connect(ctx, c.place.ownDSN())
	if err != nil {
		return err
	}
	defer func() { _ = writing.Close(context.WithoutCancel(ctx)) }()
	for _, sql := range []string{standbyDemandSQL, reloadSQL} {
		if _, err := watching.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if err := c.commitThatWaits(ctx, watching, writing, func() error {
		c.standby.proc, err = c.launchIn(ctx, next)
		return err
	}); err != nil {
		return fmt.Errorf("a commit that waits for the standby: %w", err)
	}
	return nil
}

// commitThatWaits commits until a commit is seen to wait, calls come, and waits for the commit's end.
func (c *cluster) commitThatWaits(ctx context.Context, watching, writing *pgx.Conn, come func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	committed := make(chan error, 1)
	var running sync.WaitGroup // at most one commit, which ends with ctx
	commit := func() {
		_, err := writing.Exec(ctx, standbyWriteSQL)
		committed <- err
	}
	running.Go(commit)
	defer func() {
		cancel()
		running.Wait()
	}()
	tick := time.NewTicker(connectTick)
	defer tick.Stop()
	for waits := false; !waits; {
		select {
		case err := <-committed: // the server had not reread its settings
			if err != nil {
				return err
			}
			running.Go(commit)
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := watching.QueryRow(ctx, standbyAwaitedSQL, writing.PgConn().PID()).Scan(&waits); err != nil {
			return err
		}
	}
	if err := come(); err != nil {
		return err
	}
	select {
	case err := <-committed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// removeStandby ends the standby and the waiting of commits. The caller holds mu.
func (c *cluster) removeStandby(ctx context.Context) error {
	if c.standby == nil {
		return nil
	}
	s := c.standby
	c.standby = nil
	var err error
	if c.proc.alive() {
		err = c.release(ctx)
	}
	if s.proc != nil {
		s.proc.kill()
	}
	return errors.Join(err, os.RemoveAll(s.place.cluster()))
}

func (c *cluster) release(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.place.ownDSN())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, sql := range []string{standbyReleaseSQL, reloadSQL} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) promote(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.StartTimeout, fmt.Errorf("the standby did not take over within %s", c.o.StartTimeout))
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.standby == nil || !c.standby.proc.alive() {
		return errors.New("the server has no standby that runs, so that none can take its place: make one first")
	}
	if c.proc.alive() {
		if err := c.proc.end(ctx, syscall.SIGKILL); err != nil {
			return err
		}
	}
	old := c.place
	if err := promote(ctx, c.standby.place); err != nil {
		return fmt.Errorf("the standby does not take over: %w", err)
	}
	c.place, c.proc, c.standby = c.standby.place, c.standby.proc, nil
	c.removals.Go(func() { c.removeCrashed(old) })
	return nil
}

func promote(ctx context.Context, p *place) error {
	conn, err := pgx.Connect(ctx, p.ownDSN())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var leads bool
	if err := conn.QueryRow(ctx, promoteSQL).Scan(&leads); err != nil {
		return err
	}
	if !leads {
		return errors.New("it was asked to, and is still a standby")
	}
	return p.lead()
}

// removeWithin bounds the attempts to free a killed server's shared memory.
const removeWithin = 10 * time.Second

// removeCrashed frees the shared memory of a killed server that will not start again, and removes its data. Its last processes
// may take a moment to end.
func (c *cluster) removeCrashed(p *place) {
	ctx, cancel := context.WithTimeout(context.Background(), removeWithin)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := c.tool(ctx, p, "postgres", "--single", "-D", p.cluster(), database)
		if err == nil {
			break
		}
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
			c.o.logf("the server that was killed may have left some shared memory: %v", err)
		}
		break
	}
	if err := os.RemoveAll(p.cluster()); err != nil {
		c.o.logf("the data of the server that was killed: %v", err) // removed with the place
	}
}
