package hosts

import (
	"context"
	_ "embed"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"pulley/engine/pgserver"
	"pulley/internal/pause"
)

const pipes = "/pulley/pipes"

//go:embed lifeline.sh
var lifelineScript string

// Host is a container for processes. Its methods must not be called concurrently, except Close.
type Host struct {
	hosts   *Hosts
	address netip.Addr // never changes
	started atomic.Int64

	mu    sync.Mutex
	id    string // of the container; empty: none
	stdin *client.HijackedResponse
}

// Add starts a host.
func (h *Hosts) Add(ctx context.Context) (*Host, error) {
	h.mu.Lock()
	h.last = h.last.Next()
	one := &Host{hosts: h, address: h.last}
	h.all = append(h.all, one)
	h.mu.Unlock()
	if !h.subnet.Contains(one.address) {
		return nil, fmt.Errorf("the network %s has no address left", h.network)
	}
	return one, one.up(ctx)
}

// up makes the container, attaches to its first process and starts it, in this order, so that it never runs without something
// that ends it.
func (h *Host) up(ctx context.Context) error {
	docker := h.hosts.docker
	created, err := docker.ContainerCreate(ctx, h.options())
	if err != nil {
		return fmt.Errorf("making a host in a container of %s: %w", docker.Image, err)
	}
	h.mu.Lock()
	h.id = created.ID
	h.mu.Unlock()
	attached, err := docker.ContainerAttach(ctx, created.ID, client.ContainerAttachOptions{Stream: true, Stdin: true})
	if err == nil {
		h.mu.Lock()
		h.stdin = &attached.HijackedResponse
		h.mu.Unlock()
		_, err = docker.ContainerStart(ctx, created.ID, client.ContainerStartOptions{})
	}
	if err != nil {
		return fmt.Errorf("starting a host in a container of %s: %w", docker.Image, err)
	}
	return nil
}

func (h *Host) container() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.id
}

// options describe the container: one address, this process's user without privileges, two read-only mounts, and nothing
// writable.
func (h *Host) options() client.ContainerCreateOptions {
	hs := h.hosts
	return client.ContainerCreateOptions{
		Config: &container.Config{
			Image: hs.docker.Image, Entrypoint: []string{"/bin/sh", "-c", lifelineScript}, Cmd: []string{},
			User:      strconv.Itoa(os.Getuid()) + ":" + strconv.Itoa(os.Getgid()),
			Labels:    map[string]string{label: hs.folder.path},
			OpenStdin: true, StdinOnce: true, AttachStdin: true,
		},
		HostConfig: &container.HostConfig{
			NetworkMode: container.NetworkMode(hs.network), AutoRemove: true, ReadonlyRootfs: true,
			CapDrop: []string{"ALL"}, SecurityOpt: []string{"label=disable"},
			Binds:     []string{hs.program + ":" + Program + ":ro", hs.folder.path + ":" + pipes + ":ro"},
			LogConfig: container.LogConfig{Type: "none"},
			Resources: container.Resources{CpusetCpus: processors()},
		},
		NetworkingConfig: &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{hs.network: h.endpoint()}},
	}
}

func (h *Host) endpoint() *network.EndpointSettings {
	return &network.EndpointSettings{IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: h.address}}
}

const callTimeout = time.Minute

// Pause pauses every process of the host.
func (h *Host) Pause(ctx context.Context) error {
	return h.callDocker(ctx, "pausing it", func(ctx context.Context, id string) error {
		_, err := h.hosts.docker.ContainerPause(ctx, id, client.ContainerPauseOptions{})
		return err
	})
}

// Unpause continues them.
func (h *Host) Unpause(ctx context.Context) error {
	return h.callDocker(ctx, "having it continue", func(ctx context.Context, id string) error {
		_, err := h.hosts.docker.ContainerUnpause(ctx, id, client.ContainerUnpauseOptions{})
		return err
	})
}

// Restart kills the container with all its processes, by SIGKILL, and starts an empty one at its address. Docker removes ended
// containers; having it restart one instead is not reliable.
func (h *Host) Restart(ctx context.Context) error {
	return h.callDocker(ctx, "killing it and starting it again", func(ctx context.Context, _ string) error {
		if err := h.Close(ctx); err != nil {
			return err
		}
		return h.up(ctx)
	})
}

// Disconnect takes the host off its network. Its connections do not notice: what is written to them waits.
func (h *Host) Disconnect(ctx context.Context) error {
	return h.callDocker(ctx, "taking it off its network", func(ctx context.Context, id string) error {
		_, err := h.hosts.docker.NetworkDisconnect(ctx, h.hosts.network, client.NetworkDisconnectOptions{Container: id, Force: true})
		return err
	})
}

// Connect connects the host at its old address. Connections that neither end has given up continue.
func (h *Host) Connect(ctx context.Context) error {
	return h.callDocker(ctx, "putting it into its network again", func(ctx context.Context, id string) error {
		_, err := h.hosts.docker.NetworkConnect(ctx, h.hosts.network, client.NetworkConnectOptions{Container: id, EndpointConfig: h.endpoint()})
		return err
	})
}

func (h *Host) callDocker(ctx context.Context, what string, do func(ctx context.Context, id string) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("Docker has not answered within %v", callTimeout))
	defer cancel()
	id := h.container()
	if err := do(ctx, id); err != nil {
		return fmt.Errorf("the host %.12s: %s: %w", id, what, err)
	}
	return nil
}

const exitPollPause = 20 * time.Millisecond

// Close kills the host's processes by SIGKILL, whatever its state, and waits until it is removed.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	id, life := h.id, h.stdin
	h.id, h.stdin = "", nil
	h.mu.Unlock()
	if id == "" {
		return nil
	}
	if life != nil {
		defer life.Close() // not earlier: its first process would end by itself
	}
	if err := remove(ctx, h.hosts.docker, id); err != nil {
		return fmt.Errorf("the host %.12s is left, remove it with docker rm -f: %w", id, err)
	}
	return nil
}

func remove(ctx context.Context, docker *pgserver.Docker, id string) error {
	_, err := docker.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) { // a conflict means that it is removing itself
		return err
	}
	for range pause.Tries(ctx, exitPollPause) {
		if _, err := docker.ContainerInspect(ctx, id, client.ContainerInspectOptions{}); errdefs.IsNotFound(err) {
			return nil
		}
	}
	return context.Cause(ctx)
}
