// Package world has what a chaos run disturbs: a server of its own, engines in processes, and a wire from each to the server.
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

// World is the server, wires and engines of a run. It implements fault.World.
type World struct {
	server  *pgserver.Server
	front   *pgwire.Proxy // the run's own connection to the server, wherever it is
	disk    *Disk         // the server's; nil: none, and noDisk says why
	noDisk  error
	hosted  bool // engines are in containers
	workers bool // engines run actions in processes
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

// Scope implements fault.World.
func (w *World) Scope() fault.Scope {
	return fault.Scope{Application: fault.Application, Schemas: "pulley"}
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
	Command []string // a program, with arguments, that calls process.Engine
	Server  *pgserver.Server
	Front   *pgwire.Proxy
	Disk    *Disk // the server's own; nil: none
	Ledger  *fault.Ledger

	OnLine func(engine int, source string, line []byte) process.Word // handles a line of a process; returns its word if it is no event
	Lost   func(engine int, source string)
	Due    func(shard int) bool // reports whether leases of such processes have expired
	Record func(...oracle.Event)
	Say    func(line string)
}

// Open makes a wire and a place for each engine; Start starts the engines.
func Open(ctx context.Context, cfg Config) (*World, error) {
	w := &World{server: cfg.Server, front: cfg.Front, disk: cfg.Disk, ledger: cfg.Ledger, hosted: cfg.Case.Hosts == cases.HostsDocker, workers: cfg.Case.HasPrograms()}
	err := w.openHosts(ctx, cfg.Say) // an image may take its time
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

// SendOrder sends an order to an engine.
func (w *World) SendOrder(engine int, o process.Order) error {
	p := w.engines[engine].process()
	if !p.Alive() {
		return process.ErrExited
	}
	return p.Send(o)
}

// Process returns an engine's current process.
func (w *World) Process(engine int) *process.Process { return w.engines[engine].process().Process }

// Restart kills every engine and starts it with a case's times.
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

// Lacking says why a run of a case on this machine cannot have each of the kinds that it lacks. It may start the case's server to
// find out. Of the case it uses the server, the hosts, and whether it has programs.
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

// Lacks says why the world cannot have each of the kinds that it lacks.
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

func (w *World) listen(ctx context.Context, c cases.Case) (net.Listener, error) {
	if w.hosts != nil {
		return w.hosts.Listen(ctx, 3*c.Lease()/2)
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// Start starts all engines concurrently.
func (w *World) Start(ctx context.Context) error {
	return w.all(func(h *engineHost) error { return h.Start(ctx) })
}

// Stop stops all engines concurrently, in an orderly way.
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

// Unasked lists unexpected ends of processes.
func (w *World) Unasked() []string {
	var out []string
	for _, h := range w.engines {
		h.mu.Lock()
		out = append(out, h.unasked...)
		h.mu.Unlock()
	}
	return out
}

// Close ends the engines and their hosts.
func (w *World) Close() (err error) {
	if w.hosts != nil { // ends what is in them, even if it is paused
		err = w.hosts.Close(context.Background())
	}
	for _, h := range w.engines {
		h.close()
	}
	return err
}
