package pgserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moby/moby/client"
)

// Container is the container of a server, for those who want it to have mishaps.
type Container struct {
	server *Server
	*container
}

// ErrNoContainer says that a server is in none of ours.
var ErrNoContainer = errors.New("the server is in no container")

// Container gives the server's; an error says that it has none.
func (s *Server) Container() (*Container, error) {
	if s.container == nil {
		return nil, ErrNoContainer
	}
	return &Container{s, s.container}, nil
}

// Pause has every process of the container stand still.
func (c *Container) Pause(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.engine.ContainerPause(ctx, c.id, client.ContainerPauseOptions{}); err != nil {
		return fmt.Errorf("pausing the container %.12s: %w", c.id, err)
	}
	return nil
}

// Unpause has them go on.
func (c *Container) Unpause(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.engine.ContainerUnpause(ctx, c.id, client.ContainerUnpauseOptions{}); err != nil {
		return fmt.Errorf("having the container %.12s continue: %w", c.id, err)
	}
	return nil
}

// Restart kills the container with SIGKILL, which is every process in it, starts one like it with its volumes, and returns
// when the server answers, under a new DSN. It is another container, since the engine removes one of ours that has ended:
// having it start that again instead works most of the time only.
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

// successor makes a container like this one, which has its volumes too: so they stay when it goes.
func (c *Container) successor(ctx context.Context) (id string, err error) {
	info, err := c.engine.ContainerInspect(ctx, c.id, client.ContainerInspectOptions{})
	if err != nil {
		return "", fmt.Errorf("the container %.12s: %w", c.id, err)
	}
	like := client.ContainerCreateOptions{Config: info.Container.Config, HostConfig: info.Container.HostConfig}
	like.Config.Hostname = "" // is the first one's
	like.HostConfig.VolumesFrom = []string{c.id}
	created, err := c.engine.ContainerCreate(ctx, like)
	if err != nil {
		return "", fmt.Errorf("making a container like %.12s: %w", c.id, err)
	}
	return created.ID, nil
}

// Disconnect takes the container off its network: nothing reaches the server, nor does anybody hear of it.
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

// Connect puts the container into the network again that it was taken off, and returns when its server answers, under a
// new DSN.
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

// moveTimeout bounds how long a server may take to be reached again.
const moveTimeout = time.Minute

// move finds out where the server is now.
func (c *Container) move(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, moveTimeout, fmt.Errorf("the container did not answer within %s", moveTimeout))
	defer cancel()
	dsn, err := c.findServer(ctx)
	if err == nil {
		c.server.moved.Store(&dsn)
	}
	return err
}
