package trial

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5"

	"pulley/adapter/host"
	"pulley/adapter/protocol"
	"pulley/chaos/fault"
	"pulley/engine/pgserver"
)

// world is what faults hit: processes of an adapter, their wires, and a server.
type world struct {
	server *pgserver.Server
	store  *host.Store
	host   *host.Host
	ledger *fault.Ledger
	places []*place
}

var _ fault.World = (*world)(nil)

// openWorld makes an empty store, and a wire and a place for each process. The caller closes the world, even after an error.
func openWorld(ctx context.Context, r *run, server *pgserver.Server) (*world, error) {
	w := &world{server: server, ledger: fault.NewLedger()}
	var err error
	if w.store, err = host.NewStore(ctx, server.DSN()); err != nil {
		return w, err
	}
	if w.host, err = host.New(host.Config{
		Command: r.Command, Observe: r.history.observe, Log: r.log, Misbehaved: r.misbehaved,
	}); err != nil {
		return w, err
	}
	for i := range r.Processes {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return w, err
		}
		wire, err := fault.NewWire(listener, w.store.ServerDSN(), w.ledger, nil)
		if err != nil {
			return w, err
		}
		p := &place{number: i, run: r, world: w, wire: wire}
		w.places = append(w.places, p)
		dsn, err := host.URL(wire.DSN(), w.store.Database())
		if err != nil {
			return w, err
		}
		p.setup = host.Setup{Store: protocol.Store{DSN: dsn, Dir: w.store.Dir}, Workloads: r.Workloads}
	}
	return w, nil
}

// close ends the processes and removes the store.
func (w *world) close(ctx context.Context) error {
	var errs []error
	for _, p := range w.places {
		p.expect()
	}
	if w.host != nil {
		errs = append(errs, w.host.Close(ctx))
	}
	for _, p := range w.places {
		p.wait()
		p.wire.Close()
	}
	if w.store != nil {
		errs = append(errs, w.store.Close(ctx))
	}
	return errors.Join(errs...)
}

// Engines implements fault.World.
func (w *world) Engines() int { return len(w.places) }

// Engine implements fault.World.
func (w *world) Engine(i int) fault.Engine { return w.places[i] }

// Wire implements fault.World.
func (w *world) Wire(i int) *fault.Wire { return w.places[i].wire }

// Server implements fault.World.
func (w *world) Server() fault.Server {
	if w.server == nil {
		return nil
	}
	return w.server
}

// Scope implements fault.World: all of the run's database is the system's.
func (w *world) Scope() fault.Scope { return fault.Scope{} }

// HasWorkers implements fault.World.
func (w *world) HasWorkers() bool { return false }

// Failed implements fault.World.
func (w *world) Failed() map[string]int { return w.ledger.Failed() }

// Admin implements fault.World.
func (w *world) Admin(ctx context.Context) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig(w.server.DSN())
	if err != nil {
		return nil, err
	}
	c.Database, c.RuntimeParams["application_name"] = w.store.Database(), fault.AdminApplication
	return pgx.ConnectConfig(ctx, c)
}

var errNotHere = errors.New("a run with an adapter has none")

// Standby implements fault.World.
func (w *world) Standby() (fault.Standby, error) { return nil, errNotHere }

// Container implements fault.World.
func (w *world) Container() (fault.Container, error) { return nil, errNotHere }

// Host implements fault.World.
func (w *world) Host(int) (fault.Container, error) { return nil, errNotHere }

// Disk implements fault.World.
func (w *world) Disk() (fault.Disk, error) { return nil, errNotHere }

// start starts every process, the first of which creates what the system needs.
func (w *world) start(ctx context.Context) error {
	for i, p := range w.places {
		if err := p.begin(ctx, i == 0); err != nil {
			return fmt.Errorf("process %d: %w", i, err)
		}
	}
	return nil
}
