package pgserver

import (
	"context"
	"fmt"

	"github.com/testcontainers/testcontainers-go"
)

// Docker is a Docker engine that has an image of Postgres, for those who run other things in its containers. The caller
// closes it.
type Docker struct {
	*testcontainers.DockerClient
	Image  string // of Options.Image
	Remote bool   // the engine is on another machine, as far as its address tells
}

// DialDocker finds the engine where Open does, and has it pull the image if it lacks that. Options.StartTimeout bounds
// finding it, Options.FetchTimeout pulling.
func DialDocker(ctx context.Context, o Options) (*Docker, error) {
	o, err := o.resolve()
	if err != nil {
		return nil, err
	}
	e, err := o.dialEngine(ctx)
	if err != nil {
		return nil, fmt.Errorf("Docker: %w", err)
	}
	if err := e.ensureImage(ctx, o); err != nil {
		_ = e.Close()
		return nil, fmt.Errorf("Docker: %w", err)
	}
	return &Docker{DockerClient: e.DockerClient, Image: o.Image, Remote: e.remote}, nil
}
