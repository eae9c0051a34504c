package pgserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moby/moby/client"
)

// Container is a server's container, for causing mishaps.
type Container struct {
	server *Server
	*container
}

// ErrNoContainer means that the server is in none of our containers.
var ErrNoContainer = errors.New("the server is in no container")

// Container returns the server's container, or ErrNoContainer.
func (s *Server) Container() (*Container, error) {
	if s.container == nil {
		return nil, ErrNoContainer
	}
	return &Container{s, s.container}, nil
}

// Pause pauses every process of the container.
func (c *Container) Pause(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.engine.ContainerPause(ctx, c.id, client.ContainerPauseOptions{}); err != nil {
		return fmt.Errorf("pausing the container %.12s: %w", c.id, err)
	}
	return nil
}

// Unpause continues them.
func (c *Container) Unpause(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.engine.ContainerUnpause(ctx, c.id, client.ContainerUnpauseOptions{}); err != nil {
		return fmt.Errorf("having the container %.12s continue: %w", c.id, err)
	}
	return nil
}

// Restart kills all processes of the container with SIGKILL, starts an equal container with its volumes, and returns when the
// server answers, under a new DSN. It makes another container because the engine removes an ended one of ours, and starting
// that again works only most of the time.
func (c *Container) Restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next, err := c.successor(ctx)
	if err != nil {
		return err
	}
	if _, err := c.engine.ContainerKill(ctx, c.id, client.ContainerKillOptions{Signal: "SIGKILL"}); err != nil {
		return fmt.Errorf("killing the container %.12s: %w", c.id, err)
	}
	if err := c.remove(ctx); err != nil {
		return err
	}
	c.id, c.stdin = next, nil
	if c.stdin, err = c.engine.attach(ctx, c.id); err != nil {
		return err
	}
	if _, err := c.engine.ContainerStart(ctx, c.id, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("starting the container %.12s: %w", c.id, err)
	}
	return c.move(ctx)
}

// successor makes an equal container with the same volumes, which thereby survive this one.
func (c *Container) successor(ctx context.Context) (id string, err error) {
	info, err := c.engine.ContainerInspect(ctx, c.id, client.ContainerInspectOptions{})
	if err != nil {
		return "", fmt.Errorf("the container %.12s: %w", c.id, err)
	}
	like := client.ContainerCreateOptions{Config: info.Container.Config, HostConfig: info.Container.HostConfig}
	like.Config.Hostname = "" // contains the old container's id
	like.HostConfig.VolumesFrom = []string{c.id}
	created, err := c.engine.ContainerCreate(ctx, like)
	if err != nil {
		return "", fmt.Errorf("making a container like %.12s: %w", c.id, err)
	}
	return created.ID, nil
}

// Disconnect takes the container off its network, silently for both sides.
func (c *Container) Disconnect(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := c.engine.ContainerInspect(ctx, c.id, client.ContainerInspectOptions{})
	if err != nil {
		return fmt.Errorf("the networks of the container %.12s: %w", c.id, err)
	}
	for name := range info.Container.NetworkSettings.Networks {
		_, err := c.engine.NetworkDisconnect(ctx, name, client.NetworkDisconnectOptions{Container: c.id, Force: true})
		if err != nil {
			return fmt.Errorf("taking the container %.12s off the network %s: %w", c.id, name, err)
		}
		c.stopped = name
		return nil // it has one
	}
	return fmt.Errorf("the container %.12s is in no network", c.id)
}

// Connect reconnects the container to its network, and returns when its server answers, under a new DSN.
func (c *Container) Connect(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped == "" {
		return nil
	}
	if _, err := c.engine.NetworkConnect(ctx, c.stopped, client.NetworkConnectOptions{Container: c.id}); err != nil {
		return fmt.Errorf("putting the container %.12s into the network %s: %w", c.id, c.stopped, err)
	}
	c.stopped = ""
	return c.move(ctx)
}

// moveTimeout bounds the wait for a server at a new address.
const moveTimeout = time.Minute

func (c *Container) move(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, moveTimeout, fmt.Errorf("the container did not answer within %s", moveTimeout))
	defer cancel()
	dsn, err := c.findServer(ctx)
	if err == nil {
		c.server.moved.Store(&dsn)
	}
	return err
}
