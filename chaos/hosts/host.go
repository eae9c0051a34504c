package hosts

import (
	"context"
	_ "embed"
	"errors"
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
)

// pipes is where a container sees the run's folder.
const pipes = "/pulley/pipes"

//go:embed lifeline.sh
var lifelineScript string

// Host is a container in which processes are started. Its methods are not to be called at once, but for Close.
type Host struct {
	hosts   *Hosts
	id      string
	address netip.Addr // the same for its whole life
	started atomic.Int64

	mu   sync.Mutex
	life *client.HijackedResponse // the first process's standard input
}

// Add starts a host.
func (h *Hosts) Add(ctx context.Context) (*Host, error) {
	h.mu.Lock()
	h.last = h.last.Next()
	one := &Host{hosts: h, address: h.last}
	h.mu.Unlock()
	if !h.subnet.Contains(one.address) {
		return nil, fmt.Errorf("the network %s has no address left", h.network)
	}
	created, err := h.docker.ContainerCreate(ctx, one.options())
	if err != nil {
		return nil, fmt.Errorf("making a host in a container of %s: %w", h.docker.Image, err)
	}
	one.id = created.ID
	h.mu.Lock()
	h.all = append(h.all, one)
	h.mu.Unlock()
	if err := one.hold(ctx); err != nil {
		return nil, err
	}
	if _, err := h.docker.ContainerStart(ctx, one.id, client.ContainerStartOptions{}); err != nil {
		return nil, fmt.Errorf("starting a host in a container of %s: %w", h.docker.Image, err)
	}
	return one, nil
}

// options say what the container is: it has one address, this process's user without privileges, two things to read, and
// nothing to write to.
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

// hold takes hold of the first process, so that it ends with this one.
func (h *Host) hold(ctx context.Context) error {
	attached, err := h.hosts.docker.ContainerAttach(ctx, h.id, client.ContainerAttachOptions{Stream: true, Stdin: true})
	if err == nil {
		_, err = attached.Conn.Write([]byte("\n"))
	}
	if err != nil {
		return fmt.Errorf("taking hold of the host %.12s: %w", h.id, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life != nil {
		h.life.Close() // it ended with the container
	}
	h.life = &attached.HijackedResponse
	return nil
}

// Pause has every process of the host stand still.
func (h *Host) Pause(ctx context.Context) error {
	if _, err := h.hosts.docker.ContainerPause(ctx, h.id, client.ContainerPauseOptions{}); err != nil {
		return fmt.Errorf("pausing the host %.12s: %w", h.id, err)
	}
	return nil
}

// Unpause has them go on.
func (h *Host) Unpause(ctx context.Context) error {
	if _, err := h.hosts.docker.ContainerUnpause(ctx, h.id, client.ContainerUnpauseOptions{}); err != nil {
		return fmt.Errorf("having the host %.12s go on: %w", h.id, err)
	}
	return nil
}

// Restart kills the container with SIGKILL, which is every process in it, and starts it again, with nothing in it and the
// address that it had. The engine does both at once, since it removes a container of ours that has ended.
func (h *Host) Restart(ctx context.Context) error {
	atOnce := 0 // the first process does not heed what it is sent before
	if _, err := h.hosts.docker.ContainerRestart(ctx, h.id, client.ContainerRestartOptions{Timeout: &atOnce}); err != nil {
		return fmt.Errorf("killing the host %.12s: %w", h.id, err)
	}
	return h.hold(ctx)
}

// Disconnect takes the host off its network. Its connections know nothing of it: what is written to them waits.
func (h *Host) Disconnect(ctx context.Context) error {
	_, err := h.hosts.docker.NetworkDisconnect(ctx, h.hosts.network, client.NetworkDisconnectOptions{Container: h.id, Force: true})
	if err != nil {
		return fmt.Errorf("taking the host %.12s off its network: %w", h.id, err)
	}
	return nil
}

// Connect puts it into the network again, under the address that it had: connections go on that nobody has given up.
func (h *Host) Connect(ctx context.Context) error {
	_, err := h.hosts.docker.NetworkConnect(ctx, h.hosts.network, client.NetworkConnectOptions{Container: h.id, EndpointConfig: h.endpoint()})
	if err != nil {
		return fmt.Errorf("putting the host %.12s into its network again: %w", h.id, err)
	}
	return nil
}

// goneTick is the time between two looks whether a container has gone.
const goneTick = 50 * time.Millisecond

// Close ends the host and every process in it, whatever state it is in, and waits until it is gone.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	if h.life != nil {
		h.life.Close()
		h.life = nil
	}
	h.mu.Unlock()
	_, err := h.hosts.docker.ContainerRemove(ctx, h.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) { // in conflict with its removing itself
		return fmt.Errorf("the host %.12s is left, remove it with docker rm -f: %w", h.id, err)
	}
	tick := time.NewTicker(goneTick)
	defer tick.Stop()
	for {
		if _, err := h.hosts.docker.ContainerInspect(ctx, h.id, client.ContainerInspectOptions{}); errdefs.IsNotFound(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the host %.12s is left, remove it with docker rm -f", h.id), context.Cause(ctx))
		case <-tick.C:
		}
	}
}
