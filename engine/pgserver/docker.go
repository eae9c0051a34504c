package pgserver

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	dockercontainer "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"pulley/internal/pause"
)

const (
	postgresPort   = "5432/tcp"
	containerLabel = "pulley.pgserver" // identifies our leftovers
	containerShm   = 512 << 20         // bytes of /dev/shm, for parallel queries; Docker's default is 64 MB
	containerWALMB = 4096              // the daemon's free disk space is unknown

	// createdGrace is how long another process may take to start a created container.
	createdGrace = 2 * time.Minute

	// engineTimeout bounds a quick request to the engine.
	engineTimeout = 10 * time.Second
)

var errNoAnswer = errors.New("no address of it answers")

//go:embed lifeline.sh
var lifelineScript string

type container struct {
	engine   *engine
	id       string
	password string

	mu      sync.Mutex
	stdin   *lifeline
	stopped string // the network that it was disconnected from; empty: none
}

// openDocker runs a server in a container that ends with this process, without statement counters if the image lacks their
// library.
func (o Options) openDocker(ctx context.Context) (*Server, error) {
	e, err := o.dialEngine(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.ensureImage(ctx, o); err != nil {
		_ = e.Close()
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.StartTimeout, fmt.Errorf("the container did not answer within %s", o.StartTimeout))
	defer cancel()
	e.sweep(ctx, o, time.Now())
	settings := o.serverSettings(e.imageVersion(ctx, o.Image), containerWALMB)
	s, err := o.openContainer(ctx, e, settings)
	if errors.Is(err, errNoStatementStats) {
		o.logf("%s has no %s: statement counters will be missing", o.Image, statementStats)
		s, err = o.openContainer(ctx, e, withoutStatementStats(settings))
	}
	if err != nil {
		_ = e.Close()
	}
	return s, err
}

func (o Options) openContainer(ctx context.Context, e *engine, settings map[string]string) (*Server, error) {
	c := &container{engine: e}
	s, err := c.bringUp(ctx, o, settings)
	if err == nil {
		return s, nil
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if closeErr := c.remove(closing); closeErr != nil {
		o.logf("after a failed start: %v", closeErr)
	}
	return nil, err
}

func (c *container) bringUp(ctx context.Context, o Options, settings map[string]string) (*Server, error) {
	c.password = rand.Text()
	if err := c.run(ctx, o, settings, c.password); err != nil {
		return nil, err
	}
	dsn, err := c.findServer(ctx)
	if err != nil {
		return nil, err
	}
	if err := createStatementStats(ctx, dsn); err != nil {
		o.logf("%s cannot be created: %s", statementStats, oneLine(err.Error()))
	}
	f, err := inspect(ctx, dsn, wanted{})
	if err != nil {
		return nil, err
	}
	where := fmt.Sprintf("in a container of %s, started by %s", o.Image, c.engine.version)
	return &Server{way: WayDocker, dsn: dsn, where: where, facts: f, container: c}, nil
}

// run creates the container, attaches its lifeline and starts it, in this order, so that something always ends it.
func (c *container) run(ctx context.Context, o Options, settings map[string]string, password string) error {
	entry, command, err := c.engine.entryPoint(ctx, o.Image)
	if err != nil {
		return err
	}
	created, err := c.engine.ContainerCreate(ctx, c.engine.containerOptions(o.Image, password, slices.Concat(entry, command, commandLine(settings))))
	if err == nil {
		c.id = created.ID
		c.stdin, err = c.engine.attach(ctx, c.id)
	}
	if err == nil {
		_, err = c.engine.ContainerStart(ctx, c.id, client.ContainerStartOptions{})
	}
	if err != nil && c.stdin.hasPrinted(noStatementStats) {
		return errNoStatementStats
	}
	if err != nil {
		return fmt.Errorf("the container of %s does not start: %s%s", o.Image, oneLine(err.Error()), c.stdin.lastWords())
	}
	return nil
}

func (e *engine) containerOptions(image, password string, command []string) client.ContainerCreateOptions {
	port := network.MustParsePort(postgresPort)
	return client.ContainerCreateOptions{
		Config: &dockercontainer.Config{
			Image:      image,
			Entrypoint: []string{"/bin/sh", "-c", lifelineScript, "pulley-lifeline"},
			Cmd:        command,
			Env: []string{
				"POSTGRES_USER=" + superuser, "POSTGRES_DB=" + database, "POSTGRES_PASSWORD=" + password,
				"POSTGRES_INITDB_ARGS=--no-locale --encoding=UTF8",
			},
			Labels:       map[string]string{containerLabel: "1"},
			ExposedPorts: network.PortSet{port: {}},
			OpenStdin:    true, StdinOnce: true, AttachStdin: true,
		},
		HostConfig: &dockercontainer.HostConfig{
			AutoRemove:   true,
			ShmSize:      containerShm,
			PortBindings: network.PortMap{port: {{HostIP: e.bindAddress()}}},
		},
	}
}

func (c *container) findServer(ctx context.Context) (string, error) {
	dsns, err := c.addresses(ctx, c.password)
	if err != nil {
		return "", err
	}
	return c.awaitReady(ctx, dsns)
}

// addresses lists the possible DSNs. Which one works depends on where we run: on the engine's machine, in a container beside
// it, or elsewhere.
func (c *container) addresses(ctx context.Context, password string) ([]string, error) {
	info, err := c.engine.ContainerInspect(ctx, c.id, client.ContainerInspectOptions{})
	if err != nil {
		return nil, c.ended(ctx, "the container ended at once")
	}
	dsn := func(host, port string) string {
		u := url.URL{
			Scheme: "postgres", User: url.UserPassword(superuser, password), Host: net.JoinHostPort(host, port),
			Path: "/" + database, RawQuery: "sslmode=disable&connect_timeout=5",
		}
		return u.String()
	}
	var dsns []string
	settings := info.Container.NetworkSettings
	for _, binding := range settings.Ports[network.MustParsePort(postgresPort)] {
		for _, host := range c.engine.hosts() {
			dsns = append(dsns, dsn(host, binding.HostPort))
		}
	}
	for _, endpoint := range settings.Networks {
		if endpoint.IPAddress.IsValid() {
			dsns = append(dsns, dsn(endpoint.IPAddress.String(), strconv.Itoa(int(network.MustParsePort(postgresPort).Num()))))
		}
	}
	if len(dsns) == 0 {
		return nil, errors.New("the engine gave the container neither a port nor an address")
	}
	return dsns, nil
}

// awaitReady tries the addresses in turn until one answers with our password. An image that sets its database up is not
// reachable over the network, so the first answer is the final server's.
func (c *container) awaitReady(ctx context.Context, dsns []string) (string, error) {
	tick := time.NewTicker(5 * connectTick)
	defer tick.Stop()
	var last error
	for {
		for _, dsn := range dsns {
			attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
			_, err := inspect(attempt, dsn, wanted{})
			cancel()
			if err == nil {
				return dsn, nil
			}
			if ctx.Err() == nil {
				last = err
			}
		}
		select {
		case <-c.stdin.ended:
			return "", c.ended(ctx, "the container ended before it was ready")
		case <-ctx.Done():
			return "", fmt.Errorf("%w: %w%s", context.Cause(ctx), cmp.Or(last, errNoAnswer), c.stdin.lastWords())
		case <-tick.C:
		}
	}
}

func (c *container) ended(ctx context.Context, what string) error {
	if c.stdin != nil {
		select {
		case <-c.stdin.ended: // all output has arrived
		case <-ctx.Done():
		}
	}
	if c.stdin.hasPrinted(noStatementStats) {
		return errNoStatementStats
	}
	return errors.New(what + c.stdin.lastWords())
}

func (c *container) close(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.remove(ctx), c.engine.Close())
}

func (c *container) remove(ctx context.Context) error {
	c.stdin.drop()
	if c.id == "" {
		return nil
	}
	_, err := c.engine.ContainerRemove(ctx, c.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
		return fmt.Errorf("the container %.12s cannot be removed: %s; remove it with docker rm -f", c.id, oneLine(err.Error()))
	}
	for range pause.Tries(ctx, 5*connectTick) {
		_, err := c.engine.ContainerInspect(ctx, c.id, client.ContainerInspectOptions{})
		if errdefs.IsNotFound(err) {
			return nil
		}
	}
	return fmt.Errorf("the container %.12s is still there: remove it with docker rm -f", c.id)
}

// bindAddress is the address on which the engine publishes the port: only the loopback if we are on the engine's machine.
func (e *engine) bindAddress() netip.Addr {
	if e.remote || insideContainer() {
		return netip.IPv4Unspecified()
	}
	return netip.MustParseAddr("127.0.0.1")
}

func (e *engine) hosts() []string {
	var hosts []string
	if given := os.Getenv("TESTCONTAINERS_HOST_OVERRIDE"); given != "" {
		hosts = append(hosts, given)
	}
	if e.remote {
		return append(hosts, e.host)
	}
	hosts = append(hosts, "127.0.0.1")
	if insideContainer() {
		hosts = append(hosts, "host.docker.internal", "172.17.0.1")
	}
	return hosts
}

func insideContainer() bool {
	_, err := os.Stat("/.dockerenv")
	return err == nil || strings.TrimSpace(os.Getenv("container")) != ""
}
