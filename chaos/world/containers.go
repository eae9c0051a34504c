package world

import (
	"context"
	"errors"

	"pulley/chaos/fault"
	"pulley/engine/pgserver"
)

// relocatedServer is the container of a world's server. Where it comes back under another address, the wires lead there.
type relocatedServer struct {
	*pgserver.Container
	world *World
}

var _ fault.Container = relocatedServer{}

// Restart implements fault.Container.
func (m relocatedServer) Restart(ctx context.Context) error {
	return errors.Join(m.Container.Restart(ctx), m.world.point())
}

// Connect implements fault.Container.
func (m relocatedServer) Connect(ctx context.Context) error {
	return errors.Join(m.Container.Connect(ctx), m.world.point())
}

// errNoContainer says what to do about a server without one.
var errNoContainer = errors.New("the server is in no container; with Docker, --server docker has it in one")

// Container implements fault.World.
func (w *World) Container() (fault.Container, error) {
	c, err := w.server.Container()
	if err != nil {
		return nil, errNoContainer
	}
	return relocatedServer{c, w}, nil
}

// point has all wires lead to where the server is now.
func (w *World) point() error {
	dsn := w.server.DSN()
	errs := []error{w.front.Point(dsn)}
	for _, h := range w.engines {
		errs = append(errs, h.wire.Point(dsn))
	}
	return errors.Join(errs...)
}
