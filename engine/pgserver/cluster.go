package pgserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"pulley/internal/pause"
	"pulley/internal/watchdog"
)

// cluster is a server that runs from binaries, in its own place.
//
// Invariants: the watchdog is older than every process that uses the place; the place's locks are held until the watchdog is
// done; proc, if not nil, is the last server that was ready (it may have died since).
type cluster struct {
	o        Options
	bin      binaries
	who      *account
	watchdog *watchdog.Watchdog
	settings map[string]string // of the server, without its address

	place *place // of the leading server; under mu once there may be a standby

	mu       sync.Mutex
	proc     *process
	standby  *standby // nil: none
	removals sync.WaitGroup
	closed   bool
}

func (o Options) openCluster(ctx context.Context, way Way, b binaries, who *account) (*Server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.StartTimeout, fmt.Errorf("the server did not start within %s", o.StartTimeout))
	defer cancel()
	p, err := o.makePlace(who)
	if err != nil {
		return nil, err
	}
	w, err := startWatchdog(p.dirs())
	if err != nil {
		p.drop()
		for _, dir := range p.dirs() {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		return nil, err
	}
	c := &cluster{o: o, bin: b, who: who, watchdog: w, place: p}
	f, err := c.bringUp(ctx)
	if err != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if closeErr := c.close(closing); closeErr != nil {
			o.logf("after a failed start: %v", closeErr)
		}
		return nil, err
	}
	where := fmt.Sprintf("in %s, started on a private socket", b.dir)
	return &Server{way: way, dsn: p.dsn(), where: where, facts: f, cluster: c}, nil
}

// bringUp makes the data directory and starts the first server on it, without statement counters if their library is missing.
func (c *cluster) bringUp(ctx context.Context) (facts, error) {
	if err := c.initialise(ctx); err != nil {
		return facts{}, err
	}
	free, err := freeBytes(c.place.data.path)
	if err != nil {
		return facts{}, err
	}
	settings := c.o.serverSettings(c.bin.version, walRoom(free))
	if err := c.configure(c.place, settings); err != nil {
		return facts{}, err
	}
	err = c.start(ctx)
	if errors.Is(err, errNoStatementStats) {
		c.o.logf("%s has no %s: statement counters will be missing", c.bin.dir, statementStats)
		settings = withoutStatementStats(settings)
		if err := c.configure(c.place, settings); err != nil {
			return facts{}, err
		}
		err = c.start(ctx)
	}
	if err != nil {
		return facts{}, err
	}
	c.settings = settings
	if err := createStatementStats(ctx, c.place.dsn()); err != nil {
		c.o.logf("%s cannot be created: %s", statementStats, oneLine(err.Error()))
	}
	return inspect(ctx, c.place.dsn(), wanted{})
}

// ClustersVariable is the environment variable that names a directory of data directories made by initdb, one for each build of
// Postgres. A server then begins with a copy, at a tenth of initdb's processor time. It is for test runs, which start servers
// by the dozen: whatever sets the variable removes the directory.
const ClustersVariable = "PULLEY_TEST_CLUSTERS"

func (c *cluster) initialise(ctx context.Context) error {
	if kept := os.Getenv(ClustersVariable); kept != "" && os.Geteuid() == 0 { // an ordinary user could not read another account's copy
		return c.initialiseFrom(ctx, kept)
	}
	return c.initdb(ctx)
}

// initdb makes the data directory. It is not synced, because after a crash of the machine it is removed, not used.
func (c *cluster) initdb(ctx context.Context) error {
	return c.tool(ctx, c.place, "initdb", "-D", c.place.cluster(), "-U", superuser, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
}

// initialiseFrom copies the data directory kept for these binaries. If there is none, it makes one and keeps a copy; of
// concurrent copies one is kept.
func (c *cluster) initialiseFrom(ctx context.Context, dir string) error {
	build := sha256.Sum256(fmt.Appendf(nil, "%s %d", c.bin.dir, c.bin.version))
	kept := filepath.Join(dir, fmt.Sprintf("%x", build[:6]))
	if _, err := os.Stat(kept); err == nil {
		return c.copyCluster(ctx, kept, c.place.cluster())
	}
	if err := c.initdb(ctx); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(dir, 0o755), c.who.chown(dir)); err != nil {
		return err
	}
	own := kept + "-" + rand.Text() // until it is complete
	if err := c.copyCluster(ctx, c.place.cluster(), own); err != nil {
		return err
	}
	err := os.Rename(own, kept)
	if errors.Is(err, os.ErrExist) { // another process was first
		return os.RemoveAll(own)
	}
	return err
}

// copyCluster copies an unused data directory, with the permissions that a server requires.
func (c *cluster) copyCluster(ctx context.Context, from, to string) error {
	return c.program(ctx, c.place, "cp", "-R", "-p", from, to)
}

func (c *cluster) tool(ctx context.Context, p *place, name string, args ...string) error {
	return c.program(ctx, p, filepath.Join(c.bin.dir, name), args...)
}

func (c *cluster) program(ctx context.Context, p *place, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = p.data.path
	cmd.Env = serverEnv()
	cmd.SysProcAttr = c.who.attributes()
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s was stopped: %w", filepath.Base(program), context.Cause(ctx))
	}
	return fmt.Errorf("%s in %s failed: %s", filepath.Base(program), p.data.path, failureIn(string(out), err.Error()))
}

const (
	defaultConfigName = "postgresql.conf"
	ownConfigName     = "pulley.conf"
)

// configure writes our settings to a separate file, which the server's file includes last: so they override initdb's, and ALTER
// SYSTEM overrides them. Writing again replaces them.
func (c *cluster) configure(p *place, settings map[string]string) error {
	address := map[string]string{
		"listen_addresses":        "",
		"port":                    p.port(),
		"unix_socket_directories": p.socket.path,
		"unix_socket_permissions": "0700",
	}
	text := configFile(settings) + configFile(address)
	own := filepath.Join(p.cluster(), ownConfigName)
	_, err := os.Stat(own)
	first := errors.Is(err, os.ErrNotExist)
	if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
		return err
	}
	if err := c.who.chown(own); err != nil || !first {
		return err
	}
	main, err := os.OpenFile(filepath.Join(p.cluster(), defaultConfigName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = main.WriteString("\ninclude '" + ownConfigName + "'\n")
	return errors.Join(err, main.Close())
}

// start launches the server and waits until it answers. After a crash it retries as long as the dead server's last processes
// still hold resources.
func (c *cluster) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.StartTimeout, fmt.Errorf("the server did not start within %s", c.o.StartTimeout))
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.New("the server is closed and cannot be started again: open a new one")
	}
	if c.proc.alive() {
		return nil
	}
	var err error
	for range pause.Tries(ctx, 100*time.Millisecond) {
		if err = c.launch(ctx); !errors.Is(err, errStillInUse) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), err)
}

func (c *cluster) launch(ctx context.Context) (err error) {
	proc, err := c.launchIn(ctx, c.place)
	if err == nil {
		c.proc = proc
	}
	return err
}

func (c *cluster) launchIn(ctx context.Context, p *place) (*process, error) {
	proc, err := startProcess(filepath.Join(c.bin.dir, "postgres"), p, c.who)
	if err != nil {
		return nil, err
	}
	if err := proc.awaitReady(ctx, p.ownDSN()); err != nil {
		proc.kill()
		return nil, err
	}
	return proc, nil
}

func (c *cluster) stop(ctx context.Context, mode StopMode) error {
	signal := map[StopMode]syscall.Signal{
		StopFast: syscall.SIGINT, StopImmediate: syscall.SIGQUIT, StopKill: syscall.SIGKILL,
	}[mode]
	if signal == 0 {
		return fmt.Errorf("%d is no way to stop a server: give StopFast, StopImmediate or StopKill", mode)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proc == nil {
		return nil
	}
	defer func() { c.proc = nil }()
	return c.proc.end(ctx, signal)
}

func (c *cluster) close(ctx context.Context) error {
	stopping, cancel := context.WithTimeout(ctx, closeTimeout/3)
	err := c.stop(stopping, StopImmediate)
	cancel()
	c.removals.Wait() // bounded
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.standby != nil {
		c.standby.proc.kill()
		c.standby = nil
	}
	err = errors.Join(err, c.watchdog.Release(ctx, ""))
	c.place.drop()
	if len(c.place.left()) > 0 { // the watchdog was killed
		err = errors.Join(err, clearLeftovers(ctx, c.place.dirs()))
	}
	for _, dir := range c.place.left() {
		err = errors.Join(err, fmt.Errorf("%s could not be removed: remove it by hand", dir))
	}
	return err
}
