package chaos

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/chaos/hosts"
	"pulley/engine/backend/designs"
	"pulley/engine/oracle"
	"pulley/engine/pgserver"
	"pulley/engine/pgserver/pgwire"
)

// openOptions say how somebody opens the store of a case; tracer may be nil.
func openOptions(c cases.Case, dsn, who string, tracer pgx.QueryTracer) designs.OpenOptions {
	return designs.OpenOptions{
		DSN: dsn, Application: applicationOf(who), Lease: c.Lease(), Tracer: tracer,
	}
}

// applicationOf is the application_name of the sessions of a process.
func applicationOf(who string) string { return fault.Application + " " + who }

//go:embed sql/sessions.sql
var sessionsSQL string

// world is the server, the wires and the engines of a run. It implements fault.World.
type world struct {
	server  *pgserver.Server
	front   *pgwire.Proxy // to the server, wherever that is, for the run itself
	disk    *disk         // the server's; nil: it has none of its own, and noDisk says why
	noDisk  error
	hosted  bool // engines are in containers
	hosts   *hosts.Hosts
	ledger  *fault.Ledger
	engines []*engineHost
}

var _ fault.World = (*world)(nil)

// Engines implements fault.World.
func (w *world) Engines() int { return len(w.engines) }

// Engine implements fault.World.
func (w *world) Engine(i int) fault.Engine { return w.engines[i] }

// Wire implements fault.World.
func (w *world) Wire(i int) *fault.Wire { return w.engines[i].wire }

// Server implements fault.World.
func (w *world) Server() fault.Server {
	if way := w.server.Way(); way != pgserver.WayLocal && way != pgserver.WayDownload {
		return nil
	}
	return w.server
}

// Standby implements fault.World.
func (w *world) Standby() (fault.Standby, error) { return w.server, w.server.CanFollow() }

// Disk implements fault.World.
func (w *world) Disk() (fault.Disk, error) {
	if w.disk == nil {
		return nil, w.noDisk
	}
	return w.disk, nil
}

// Failed implements fault.World.
func (w *world) Failed() map[string]int { return w.ledger.Failed() }

// Admin implements fault.World.
func (w *world) Admin(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, w.server.DSN())
}

// engineHost is the place of one engine: a wire, and the process that has it now. It implements
// fault.Engine.
type engineHost struct {
	index   int
	kase    cases.Case
	launch  launcher
	host    *hosts.Host // nil: it is in none
	wire    *fault.Wire
	watch   *watch
	record  func(...oracle.Event)
	admin   func(context.Context) (*pgx.Conn, error)
	life    context.Context // of what goes on after a process
	endLife context.CancelFunc

	mu      sync.Mutex
	current *process
	runs    int
	told    int
	unasked []string // how processes ended that nobody had killed or stopped
	past    sync.WaitGroup
}

// Start implements fault.Engine.
func (h *engineHost) Start(ctx context.Context) error {
	h.mu.Lock()
	h.runs++
	s := setup{Case: h.kase, DSN: h.wire.DSN(), Index: h.index, Source: fmt.Sprintf("engine %d.%d", h.index, h.runs)}
	s.Case.Faults = nil
	h.mu.Unlock()
	h.wire.Starting(true)
	defer h.wire.Starting(false)
	p, err := startProcess(ctx, h.launch, s, h.hear, func(p *process) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.current = p
		h.past.Go(func() { h.ended(p) })
	})
	if err != nil {
		return err
	}
	select {
	case <-p.ready:
		return nil
	case <-p.gone:
		return fmt.Errorf("engine %d did not start: %w: %s", h.index, p.err, p.stderr.String())
	case <-ctx.Done():
		return fmt.Errorf("engine %d did not start in time: %w", h.index, context.Cause(ctx))
	}
}

// ended waits for the end of a process, and notes one that nobody asked for.
func (h *engineHost) ended(p *process) {
	<-p.gone
	p.finish()
	h.mu.Lock()
	defer h.mu.Unlock()
	var started bool
	select {
	case <-p.ready:
		started = true
	default:
	}
	if started && !p.expected {
		h.unasked = append(h.unasked, fmt.Sprintf("the process of %s ended by itself: %v: %s", p.source, p.err, p.stderr.String()))
	}
	h.watch.lost(h.index, p.source)
	h.past.Go(func() { h.forget(p) })
}

// goneWithin bounds how long the sessions of a process that has ended are watched.
const goneWithin = 20 * time.Second

// forget waits until the server has no session of a process that has ended, and records that. Where that
// cannot be seen, it is not recorded: then its last calls may have happened at any time.
func (h *engineHost) forget(p *process) {
	ctx, cancel := context.WithTimeout(h.life, goneWithin)
	defer cancel()
	for ctx.Err() == nil {
		if n, err := h.sessions(ctx, p.source); err == nil && n == 0 {
			h.record(oracle.Event{Kind: oracle.Gone, Process: p.source})
			return
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// sessions counts those of a process.
func (h *engineHost) sessions(ctx context.Context, source string) (n int, err error) {
	conn, err := h.admin(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return n, conn.QueryRow(ctx, sessionsSQL, applicationOf(source)).Scan(&n)
}

// use has the processes that are started from now on have the times of a case.
func (h *engineHost) use(c cases.Case) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kase = c
}

// hear takes a line of a process.
func (h *engineHost) hear(p *process, line []byte) {
	if h.watch.hear(h.index, p.source, line) == sayMisbehaved {
		h.mu.Lock()
		h.told++
		h.mu.Unlock()
	}
}

// process is the one that has the place now.
func (h *engineHost) process() *process {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current
}

// expect says that the current process is about to be ended.
func (h *engineHost) expect() *process {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current != nil {
		h.current.expected = true
	}
	return h.current
}

// Signal implements fault.Engine.
func (h *engineHost) Signal(s syscall.Signal) error {
	p := h.process()
	if s == syscall.SIGKILL {
		p = h.doom()
	}
	if err := p.system.Signal(s); err != nil {
		return fmt.Errorf("signal %v to %s: %w", s, p.source, err)
	}
	return nil
}

// doom says that the current process is about to be killed.
func (h *engineHost) doom() *process {
	p := h.expect()
	h.record(oracle.Event{Kind: oracle.Killed, Process: p.source})
	return p
}

// Gone implements fault.Engine.
func (h *engineHost) Gone() <-chan struct{} { return h.process().gone }

// Stop implements fault.Engine.
func (h *engineHost) Stop(ctx context.Context) error {
	p := h.expect()
	p.finish()
	select {
	case <-p.gone:
	case <-ctx.Done():
		return fmt.Errorf("%s has not stopped: %w", p.source, context.Cause(ctx))
	}
	if p.err != nil {
		return fmt.Errorf("%s stopped with %w: %s", p.source, p.err, p.stderr.String())
	}
	return nil
}

// Order implements fault.Engine.
func (h *engineHost) Order(o fault.Order) error {
	p := h.process()
	if o.Die > 0 {
		p = h.expect()
	}
	return p.tell(order{Fault: &o})
}

// Told implements fault.Engine.
func (h *engineHost) Told() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.told
}

// close kills what is left, and waits for it.
func (h *engineHost) close() {
	if p := h.expect(); p != nil {
		_ = p.system.Signal(syscall.SIGKILL) // it may have ended
		<-p.gone
	}
	h.endLife()
	h.past.Wait()
	h.wire.Close()
}

// openWorld makes a wire and a place for each engine; start starts them.
func (r *run) openWorld(ctx context.Context, server *pgserver.Server) (*world, error) {
	w := &world{server: server, front: r.front, disk: r.disk, ledger: r.ledger, hosted: r.Hosts == cases.HostsDocker}
	err := w.openHosts(ctx, r.Config) // which may take its time, for an image
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for i := 0; i < r.Engines && err == nil; i++ {
		err = r.addEngine(ctx, w, i)
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (r *run) addEngine(ctx context.Context, w *world, i int) error {
	listener, err := w.listen(ctx, r.Case)
	if err != nil {
		return err
	}
	wire, err := fault.NewWire(listener, w.server.DSN(), r.ledger, r.watch.orphans.due)
	if err != nil {
		return err
	}
	h := &engineHost{index: i, kase: r.Case, launch: launchChild(r.Command), wire: wire, watch: r.watch, record: r.record, admin: w.Admin}
	h.life, h.endLife = context.WithCancel(context.Background())
	w.engines = append(w.engines, h)
	return w.giveHost(ctx, h, r.Command)
}

// listen listens where an engine reaches its wire.
func (w *world) listen(ctx context.Context, c cases.Case) (net.Listener, error) {
	if w.hosts != nil {
		return w.hosts.Listen(ctx, 3*c.Lease()/2)
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// start starts all engines, at once.
func (w *world) start(ctx context.Context) error {
	return w.all(func(h *engineHost) error { return h.Start(ctx) })
}

// stop stops all engines in an orderly way, at once.
func (w *world) stop(ctx context.Context) error {
	return w.all(func(h *engineHost) error { return h.Stop(ctx) })
}

func (w *world) all(do func(*engineHost) error) error {
	errs := make([]error, len(w.engines))
	var wg sync.WaitGroup
	for i, h := range w.engines {
		wg.Go(func() { errs[i] = do(h) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// unasked lists the ends of processes that nobody asked for.
func (w *world) unasked() []string {
	var out []string
	for _, h := range w.engines {
		h.mu.Lock()
		out = append(out, h.unasked...)
		h.mu.Unlock()
	}
	return out
}

func (w *world) close() (err error) {
	if w.hosts != nil { // what is in them ends with them, even if it stands still
		err = w.hosts.Close(context.Background())
	}
	for _, h := range w.engines {
		h.close()
	}
	return err
}

// startWithin bounds the start of the server and of the engines.
const startWithin = 4 * time.Minute

// Connections of a run's server: few, so that they can be exhausted soon.
const (
	connectionsOwn    = 30 // for the run itself, and for what is being made anew
	connectionsEngine = 20
)

// noticingLoss has a server that is taken off its network notice soon that nobody is there any more.
var noticingLoss = map[string]string{
	"tcp_keepalives_idle": "1", "tcp_keepalives_interval": "1", "tcp_keepalives_count": "2", "tcp_user_timeout": "2000",
}

// openServer starts a Postgres that is the run's own, on a disk of its own if one is given.
func openServer(ctx context.Context, c cases.Case, d *disk, log func(string)) (*pgserver.Server, error) {
	settings := map[string]string{"max_connections": strconv.Itoa(connectionsOwn + connectionsEngine*c.Engines)}
	if nap := c.Nap(); nap > 0 {
		settings["autovacuum_naptime"] = strconv.Itoa(int(nap/time.Second)) + "s"
	}
	dir := ""
	if d != nil {
		dir = d.dir()
	}
	ways := []pgserver.Way{pgserver.WayLocal, pgserver.WayDocker, pgserver.WayDownload}
	if c.Server == cases.ServerDocker {
		ways = []pgserver.Way{pgserver.WayDocker}
		maps.Copy(settings, noticingLoss)
	}
	return pgserver.Open(ctx, pgserver.Options{
		TempDir:  dir,
		Settings: settings,
		Ways:     ways, Log: log, StartTimeout: startWithin,
	})
}
