package world

import (
	"context"
	"errors"

	"pulley/chaos/fault"
	"pulley/engine/pgserver"
)

// relocatedServer is the container of a world's server. When its address changes, it redirects the wires.
type relocatedServer struct {
	*pgserver.Container
	world *World
}

var _ fault.Container = relocatedServer{}

func (m relocatedServer) Restart(ctx context.Context) error {
	return errors.Join(m.Container.Restart(ctx), m.world.point())
}

func (m relocatedServer) Connect(ctx context.Context) error {
	return errors.Join(m.Container.Connect(ctx), m.world.point())
}

var errNoContainer = errors.New("the server is in no container; with Docker, --server docker has it in one")

// Container implements fault.World.
func (w *World) Container() (fault.Container, error) {
	c, err := w.server.Container()
	if err != nil {
		return nil, errNoContainer
	}
	return relocatedServer{c, w}, nil
}

// point directs all wires to the server's current address.
func (w *World) point() error {
	dsn := w.server.DSN()
	errs := []error{w.front.Point(dsn)}
	for _, h := range w.engines {
		errs = append(errs, h.wire.Point(dsn))
	}
	return errors.Join(errs...)
}
