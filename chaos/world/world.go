// Package world is what a chaos run happens to: a server that is the run's own, engines in processes, and a wire from each of
// them to the server. Faults of package fault happen to it.
package world

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"

	"github.com/jackc/pgx/v5"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/chaos/hosts"
	"pulley/chaos/process"
	"pulley/engine/oracle"
	"pulley/engine/pgserver"
	"pulley/engine/pgserver/pgwire"
)

// World is the server, the wires and the engines of a run. It implements fault.World.
type World struct {
	server  *pgserver.Server
	front   *pgwire.Proxy // to the server, wherever that is, for the run itself
	disk    *Disk         // the server's; nil: it has none of its own, and noDisk says why
	noDisk  error
	hosted  bool // engines are in containers
	workers bool // engines run actions in processes of their own
	hosts   *hosts.Hosts
	ledger  *fault.Ledger
	engines []*engineHost
}

var _ fault.World = (*World)(nil)

// Engines implements fault.World.
func (w *World) Engines() int { return len(w.engines) }

// Engine implements fault.World.
func (w *World) Engine(i int) fault.Engine { return w.engines[i] }

// Wire implements fault.World.
func (w *World) Wire(i int) *fault.Wire { return w.engines[i].wire }

// Server implements fault.World.
func (w *World) Server() fault.Server {
	if way := w.server.Way(); way != pgserver.WayLocal && way != pgserver.WayDownload {
		return nil
	}
	return w.server
}

// Standby implements fault.World.
func (w *World) Standby() (fault.Standby, error) { return w.server, w.server.CanHaveStandby() }

// Disk implements fault.World.
func (w *World) Disk() (fault.Disk, error) {
	if w.disk == nil {
		return nil, w.noDisk
	}
	return w.disk, nil
}

// HasWorkers implements fault.World.
func (w *World) HasWorkers() bool { return w.workers }

// Failed implements fault.World.
func (w *World) Failed() map[string]int { return w.ledger.Failed() }

// Admin implements fault.World.
func (w *World) Admin(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, w.server.DSN())
}

// Config is what a world is made of.
type Config struct {
	Case    cases.Case
	Command []string // the program, with its arguments, whose main function is process.Engine
	Server  *pgserver.Server
	Front   *pgwire.Proxy // the wire of the run itself
	Disk    *Disk         // the server's own; nil: it has none
	Ledger  *fault.Ledger

	OnLine func(engine int, source string, line []byte) process.Word // takes a line of a process, and gives what it says if it is no event
	Lost   func(engine int, source string)                           // takes note that a process has ended
	Due    func(shard int) bool                                      // says whether leases of such processes have run out
	Record func(...oracle.Event)
	Say    func(line string)
}

// Open makes a wire and a place for each engine; Start starts them.
func Open(ctx context.Context, cfg Config) (*World, error) {
	w := &World{server: cfg.Server, front: cfg.Front, disk: cfg.Disk, ledger: cfg.Ledger, hosted: cfg.Case.Hosts == cases.HostsDocker, workers: cfg.Case.HasPrograms()}
	err := w.openHosts(ctx, cfg.Say) // which may take its time, for an image
	ctx, cancel := context.WithTimeout(ctx, StartWithin)
	defer cancel()
	for i := 0; i < cfg.Case.Engines && err == nil; i++ {
		err = w.addEngine(ctx, cfg, i)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *World) addEngine(ctx context.Context, cfg Config, i int) error {
	listener, err := w.listen(ctx, cfg.Case)
	if err != nil {
		return err
	}
	wire, err := fault.NewWire(listener, w.server.DSN(), w.ledger, cfg.Due)
	if err != nil {
		return err
	}
	h := &engineHost{
		index: i, kase: cfg.Case, launch: process.LaunchChild(cfg.Command), wire: wire, onLine: cfg.OnLine, lost: cfg.Lost, record: cfg.Record, admin: w.Admin,
	}
	h.background, h.endBackground = context.WithCancel(context.Background())
	w.engines = append(w.engines, h)
	return w.assignHost(ctx, h, cfg.Command)
}

// SendOrder gives an engine an order.
func (w *World) SendOrder(engine int, o process.Order) error {
	p := w.engines[engine].process()
	if !p.Alive() {
		return process.ErrExited
	}
	return p.Send(o)
}

// Process is the one that is an engine now.
func (w *World) Process(engine int) *process.Process { return w.engines[engine].process().Process }

// Restart kills every engine, and starts it anew with the times of a case.
func (w *World) Restart(ctx context.Context, c cases.Case) error {
	return w.all(func(h *engineHost) error {
		if err := h.Signal(syscall.SIGKILL); err != nil {
			return err
		}
		select {
		case <-h.Exited():
		case <-ctx.Done():
			return fmt.Errorf("waiting for the end of engine %d: %w", h.index, context.Cause(ctx))
		}
		h.use(c)
		return h.Start(ctx)
	})
}

// Lacking says of each kind that a run of a case on this machine cannot have, why not. It starts a server as the case
// names it to find out, if it has to; of the case nothing else counts but its hosts, and whether it has programs.
func Lacking(ctx context.Context, c cases.Case, kinds []fault.Kind, log func(string)) (map[string]string, error) {
	if !slices.ContainsFunc(kinds, func(k fault.Kind) bool { return k.Lacks != nil }) {
		return map[string]string{}, nil
	}
	opened, err := OpenServer(ctx, cases.Case{Engines: 1, Server: c.Server}, nil, log)
	if err != nil {
		return nil, err
	}
	w := &World{server: opened, hosted: c.Hosts == cases.HostsDocker, workers: c.HasPrograms()}
	w.disk, w.noDisk = mountDisk()
	return w.Lacks(kinds), errors.Join(opened.Close(context.WithoutCancel(ctx)), w.disk.Close())
}

// Lacks says of each kind that the world cannot have, why not.
func (w *World) Lacks(kinds []fault.Kind) map[string]string {
	out := map[string]string{}
	for _, k := range kinds {
		if k.Lacks == nil {
			continue
		}
		if why := k.Lacks(w); why != "" {
			out[k.Name] = why
		}
	}
	return out
}

// listen listens where an engine reaches its wire.
func (w *World) listen(ctx context.Context, c cases.Case) (net.Listener, error) {
	if w.hosts != nil {
		return w.hosts.Listen(ctx, 3*c.Lease()/2)
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// Start starts all engines, at once.
func (w *World) Start(ctx context.Context) error {
	return w.all(func(h *engineHost) error { return h.Start(ctx) })
}

// Stop stops all engines in an orderly way, at once.
func (w *World) Stop(ctx context.Context) error {
	return w.all(func(h *engineHost) error { return h.Stop(ctx) })
}

func (w *World) all(do func(*engineHost) error) error {
	errs := make([]error, len(w.engines))
	var wg sync.WaitGroup
	for i, h := range w.engines {
		wg.Go(func() { errs[i] = do(h) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Unasked lists the ends of processes that nobody asked for.
func (w *World) Unasked() []string {
	var out []string
	for _, h := range w.engines {
		h.mu.Lock()
		out = append(out, h.unasked...)
		h.mu.Unlock()
	}
	return out
}

// Close ends what is left of the engines, and their hosts.
func (w *World) Close() (err error) {
	if w.hosts != nil { // what is in them ends with them, even if it stands still
		err = w.hosts.Close(context.Background())
	}
	for _, h := range w.engines {
		h.close()
	}
	return err
}
