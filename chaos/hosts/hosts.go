package hosts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"pulley/engine/pgserver"
)

// Program is the path of this process's own program in a host.
const Program = "/pulley/engine"

const (
	closeTimeout = 2 * time.Minute // bounds Close, whatever its context says
	sweepTimeout = 2 * time.Minute // bounds the removal of earlier runs' leftovers
	networkTries = 5               // others may take the free addresses that were found
)

// label is the label of a run's containers and networks; its value is the run's folder. Tests of this package use another, so
// that concurrent runs do not remove what a test leaves on purpose.
var label = "pulley.chaos.hosts"

// Hosts are the hosts of one run.
type Hosts struct {
	docker  *pgserver.Docker
	folder  *folder
	program string // this process's own file
	network string
	subnet  netip.Prefix
	gateway netip.Addr

	mu   sync.Mutex
	last netip.Addr // last address given to a host
	all  []*Host
}

// Open makes the network of a run and removes what killed runs left. log may be nil.
func Open(ctx context.Context, log func(line string)) (*Hosts, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program's own file, which the hosts' processes run: %w", err)
	}
	docker, err := pgserver.DialDocker(ctx, pgserver.Options{Log: log})
	if err != nil {
		return nil, fmt.Errorf("hosts for engines: %w", err)
	}
	h := &Hosts{docker: docker, program: program}
	if log == nil {
		log = func(string) {}
	}
	h.sweep(ctx, log)
	preparing, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("Docker has not answered within %v", callTimeout))
	defer cancel()
	if err := h.prepare(preparing); err != nil {
		return nil, errors.Join(fmt.Errorf("hosts for engines: %w", err), h.Close(ctx))
	}
	return h, nil
}

// prepare makes the folder and the network, and checks that hosts can reach this process.
func (h *Hosts) prepare(ctx context.Context) (err error) {
	if h.docker.Remote {
		return errors.New("the Docker engine is on another machine, from where an engine's process does not reach this one; use one here")
	}
	if h.folder, err = makeFolder(); err != nil {
		return err
	}
	if err := h.makeNetwork(ctx); err != nil {
		return err
	}
	h.last = h.gateway
	listener, err := net.Listen("tcp", net.JoinHostPort(h.gateway.String(), "0"))
	if err != nil {
		return fmt.Errorf("the network's gateway is not on this machine, as with a Docker engine in a machine of its own: %w", err)
	}
	return listener.Close()
}

// makeNetwork lets Docker choose free addresses and then makes the network with them named: only then can a container get its old
// address again.
func (h *Hosts) makeNetwork(ctx context.Context) (err error) {
	name := filepath.Base(h.folder.path)
	for range networkTries {
		if err = h.tryNetwork(ctx, name, nil); err != nil {
			return err
		}
		var found client.NetworkInspectResult
		if found, err = h.docker.NetworkInspect(ctx, name, client.NetworkInspectOptions{}); err != nil {
			return fmt.Errorf("the network %s: %w", name, err)
		}
		for _, config := range found.Network.IPAM.Config {
			if config.Subnet.Addr().Is4() {
				h.subnet = config.Subnet.Masked()
			}
		}
		if !h.subnet.IsValid() {
			return fmt.Errorf("the network %s has no IPv4 addresses", name)
		}
		h.gateway = h.subnet.Addr().Next()
		if _, err = h.docker.NetworkRemove(ctx, name, client.NetworkRemoveOptions{}); err != nil {
			return fmt.Errorf("the network %s: %w", name, err)
		}
		if err = h.tryNetwork(ctx, name, &network.IPAM{Config: []network.IPAMConfig{{Subnet: h.subnet, Gateway: h.gateway}}}); err == nil {
			return nil
		}
	}
	return err
}

func (h *Hosts) tryNetwork(ctx context.Context, name string, addresses *network.IPAM) error {
	_, err := h.docker.NetworkCreate(ctx, name, client.NetworkCreateOptions{
		Driver: "bridge", Internal: true, IPAM: addresses, Labels: map[string]string{label: h.folder.path},
	})
	if err != nil {
		return fmt.Errorf("making the network %s: %w", name, err)
	}
	h.network = name
	return nil
}

// Gateway returns this machine's only address for processes of hosts.
func (h *Hosts) Gateway() netip.Addr { return h.gateway }

// Listen listens at the gateway. A connection ends if its host does not answer for patience, as a server would end one to a
// disconnected host.
func (h *Hosts) Listen(ctx context.Context, patience time.Duration) (net.Listener, error) {
	config := net.ListenConfig{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: max(1, int(patience/time.Second))},
		Control:         connTimeout(patience),
	}
	return config.Listen(ctx, "tcp", net.JoinHostPort(h.gateway.String(), "0"))
}

// Close ends every host and removes the network. It ignores the end of ctx, for at most two minutes. Closing twice is safe.
func (h *Hosts) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	h.mu.Lock()
	all := h.all
	h.all = nil
	h.mu.Unlock()
	var errs []error
	for _, one := range all {
		errs = append(errs, one.Close(ctx))
	}
	if h.network != "" {
		_, err := h.docker.NetworkRemove(ctx, h.network, client.NetworkRemoveOptions{})
		if err != nil {
			err = fmt.Errorf("the network %s is left, remove it with docker network rm: %w", h.network, err)
		}
		errs = append(errs, err)
		h.network = ""
	}
	return errors.Join(append(errs, h.folder.drop(), h.docker.Close())...)
}

// sweep removes what killed runs left. It logs failures and never fails a run.
func (h *Hosts) sweep(ctx context.Context, log func(string)) {
	dead := map[string]bool{}
	isDead := func(labels map[string]string) bool {
		path := labels[label]
		if _, known := dead[path]; !known {
			dead[path] = isLeftover(path)
		}
		return dead[path]
	}
	ctx, cancel := context.WithTimeoutCause(ctx, sweepTimeout, fmt.Errorf("not done within %v", sweepTimeout))
	defer cancel()
	filter := make(client.Filters).Add("label", label)
	containers, err := h.docker.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		log(fmt.Sprintf("Docker: hosts that earlier runs left cannot be looked for: %s", oneLine(err)))
		return
	}
	for _, item := range containers.Items {
		if isDead(item.Labels) {
			swept(log, fmt.Sprintf("the container %.12s", item.ID), remove(ctx, h.docker, item.ID))
		}
	}
	networks, err := h.docker.NetworkList(ctx, client.NetworkListOptions{Filters: filter})
	if err != nil {
		return
	}
	for _, item := range networks.Items {
		if isDead(item.Labels) {
			_, err := h.docker.NetworkRemove(ctx, item.ID, client.NetworkRemoveOptions{})
			swept(log, "the network "+item.Name, err)
		}
	}
	for path, is := range dead {
		if is && strings.HasPrefix(filepath.Base(path), folderPrefix) {
			_ = os.RemoveAll(path)
		}
	}
}

func swept(log func(string), what string, err error) {
	if err != nil {
		log(fmt.Sprintf("an earlier run left %s, which could not be removed: %s", what, oneLine(err)))
		return
	}
	log(fmt.Sprintf("removed %s, left by an earlier run", what))
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
