package pgserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/cpuguy83/dockercfg"
	"github.com/distribution/reference"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"
)

type engine struct {
	*client.Client
	version string // for Describe
	remote  bool   // reached over the network, at host
	host    string
}

// dialEngine finds the engine and queries its version.
func (o Options) dialEngine(ctx context.Context) (*engine, error) {
	ctx, cancel := context.WithTimeout(ctx, min(engineTimeout, o.StartTimeout))
	defer cancel()
	cli, err := newDockerClient(ctx)
	if err != nil {
		return nil, fmt.Errorf("no engine answers: %s; start Docker, or set DOCKER_HOST", oneLine(err.Error()))
	}
	answer, err := cli.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		_ = cli.Close()
		return nil, fmt.Errorf("the engine at %s does not tell its version: %s", cli.DaemonHost(), oneLine(err.Error()))
	}
	e := &engine{Client: cli, version: "Docker " + answer.Version}
	if u, err := url.Parse(cli.DaemonHost()); err == nil && u.Scheme != "unix" && u.Scheme != "npipe" {
		e.remote, e.host = true, u.Hostname()
	}
	return e, nil
}

// newDockerClient returns a client of the first engine that answers.
func newDockerClient(ctx context.Context) (*client.Client, error) {
	var errs []error
	for _, address := range daemonAddresses() {
		cli, err := client.New(client.FromEnv, client.WithHost(address))
		if err == nil {
			if _, err = cli.Ping(ctx, client.PingOptions{}); err == nil {
				return cli, nil
			}
			_ = cli.Close()
		}
		errs = append(errs, fmt.Errorf("%s: %w", address, err))
	}
	return nil, errors.Join(errs...)
}

// daemonAddresses lists where an engine may listen: only where the user says, in DOCKER_HOST or by a context of Docker's command;
// otherwise at the system's socket, then at sockets of engines without root.
func daemonAddresses() []string {
	if given := os.Getenv("DOCKER_HOST"); given != "" {
		return []string{given}
	}
	if given := contextAddress(); given != "" {
		return []string{given}
	}
	if runtime.GOOS == "windows" {
		return []string{client.DefaultDockerHost}
	}
	addresses := []string{client.DefaultDockerHost}
	home, _ := os.UserHomeDir() // without one, its sockets do not exist
	for _, socket := range []string{
		filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "docker.sock"), filepath.Join(home, ".docker", "run", "docker.sock"),
		filepath.Join(home, ".docker", "desktop", "docker.sock"), filepath.Join("/run", "user", strconv.Itoa(os.Getuid()), "docker.sock"),
	} {
		if _, err := os.Stat(socket); err == nil && filepath.IsAbs(socket) {
			addresses = append(addresses, "unix://"+socket)
		}
	}
	return addresses
}

// contextAddress is the engine's address in the context that the user selected for Docker's command; empty without one.
func contextAddress() string {
	file, err := dockercfg.ConfigPath()
	if err != nil {
		return ""
	}
	name := os.Getenv("DOCKER_CONTEXT")
	if name == "" {
		var selected struct{ CurrentContext string }
		text, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(text, &selected) != nil {
			return ""
		}
		name = selected.CurrentContext
	}
	var stored struct {
		Endpoints map[string]struct{ Host string }
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "contexts", "meta", fmt.Sprintf("%x", sha256.Sum256([]byte(name))), "meta.json"))
	if err != nil || json.Unmarshal(text, &stored) != nil {
		return "" // such as the context default, which is not stored
	}
	return stored.Endpoints["docker"].Host
}

// registryAuth returns the user's credentials for the image's registry, encoded; empty: none are known.
func registryAuth(image string) string {
	name, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return ""
	}
	cfg, err := dockercfg.LoadDefaultConfig()
	if err != nil {
		return ""
	}
	host := dockercfg.ResolveRegistryHost(reference.Domain(name))
	user, password, err := cfg.GetRegistryCredentials(host)
	if err != nil || user == "" && password == "" {
		return ""
	}
	auth := registry.AuthConfig{ServerAddress: host, Username: user, Password: password}
	if user == "" {
		auth = registry.AuthConfig{ServerAddress: host, IdentityToken: password}
	}
	encoded, err := authconfig.Encode(auth)
	if err != nil {
		return ""
	}
	return encoded
}

func (e *engine) hasImage(ctx context.Context, image string) (bool, error) {
	_, err := e.ImageInspect(ctx, image)
	switch {
	case err == nil:
		return true, nil
	case errdefs.IsNotFound(err):
		return false, nil
	}
	return false, fmt.Errorf("the engine does not report whether it has %s: %s", image, oneLine(err.Error()))
}

// ensureImage pulls a missing image. It tries once: an unreachable registry should be reported now, not after a quarter of an
// hour.
func (e *engine) ensureImage(ctx context.Context, o Options) error {
	has, err := e.hasImage(ctx, o.Image)
	if has || err != nil {
		return err
	}
	o.logf("Docker: pulling the image %s", o.Image)
	ctx, cancel := context.WithTimeoutCause(ctx, o.FetchTimeout, fmt.Errorf("not done within %s", o.FetchTimeout))
	defer cancel()
	pull, err := e.ImagePull(ctx, o.Image, client.ImagePullOptions{RegistryAuth: registryAuth(o.Image)})
	if err == nil {
		err = pull.Wait(ctx)
		_ = pull.Close()
	}
	if err != nil {
		return fmt.Errorf("the image %s is not here and cannot be pulled: %s; pull it where there is a network, or name another one in PULLEY_POSTGRES_IMAGE",
			o.Image, oneLine(err.Error()))
	}
	return nil
}

func (e *engine) canPull(ctx context.Context, image string) error {
	_, err := e.DistributionInspect(ctx, image, client.DistributionInspectOptions{EncodedRegistryAuth: registryAuth(image)})
	if err != nil {
		return fmt.Errorf("the image %s is not here and cannot be pulled: %s", image, oneLine(err.Error()))
	}
	return nil
}

func (e *engine) entryPoint(ctx context.Context, image string) (entry, command []string, err error) {
	info, err := e.ImageInspect(ctx, image)
	if err != nil {
		return nil, nil, fmt.Errorf("the engine does not show the image %s: %s", image, oneLine(err.Error()))
	}
	if info.Config == nil || len(info.Config.Entrypoint)+len(info.Config.Cmd) == 0 {
		return nil, nil, fmt.Errorf("the image %s has no entry point: name an image of Postgres, such as %s", image, defaultImage)
	}
	return info.Config.Entrypoint, info.Config.Cmd, nil
}

// imageVersion is the image's Postgres version, as in the official image's PG_MAJOR; zero, the oldest, if unknown.
func (e *engine) imageVersion(ctx context.Context, image string) int {
	info, err := e.ImageInspect(ctx, image)
	if err != nil || info.Config == nil {
		return 0
	}
	for _, variable := range info.Config.Env {
		if major, ok := strings.CutPrefix(variable, "PG_MAJOR="); ok {
			n, _ := versionNumber(major)
			return n
		}
	}
	return 0
}

// sweep removes our containers that never started, or that ended and remained, unless they are so young that they may be about
// to start.
func (e *engine) sweep(ctx context.Context, o Options, now time.Time) {
	list, err := e.ContainerList(ctx, client.ContainerListOptions{
		All:     true,
		Filters: make(client.Filters).Add("label", containerLabel).Add("status", "created", "exited", "dead"),
	})
	if err != nil {
		o.logf("Docker: leftovers cannot be looked for: %s", oneLine(err.Error()))
		return
	}
	for _, item := range list.Items {
		if now.Sub(time.Unix(item.Created, 0)) < createdGrace {
			continue
		}
		if _, err := e.ContainerRemove(ctx, item.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err == nil {
			o.logf("removed the container %.12s, left by an earlier run", item.ID)
		}
	}
}

// lifeline is a container's standard input: the container ends when it closes, and the kernel closes it with our process. It
// also receives the container's output.
type lifeline struct {
	stream client.HijackedResponse
	ended  chan struct{} // closed when the output ended

	mu   sync.Mutex
	tail []byte // the end of the output
}

func (e *engine) attach(ctx context.Context, id string) (*lifeline, error) {
	attached, err := e.ContainerAttach(ctx, id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return nil, fmt.Errorf("attach to the container: %w", err)
	}
	if _, err := attached.Conn.Write([]byte("\n")); err != nil { // notifies the container's lifeline
		attached.Close()
		return nil, fmt.Errorf("attach to the container: %w", err)
	}
	l := &lifeline{stream: attached.HijackedResponse, ended: make(chan struct{})}
	// Ends with the stream, at the latest when drop closes it.
	go func() {
		defer close(l.ended)
		_, _ = stdcopy.StdCopy(l, l, l.stream.Reader)
	}()
	return l, nil
}

func (l *lifeline) Write(p []byte) (int, error) {
	const enough = 16 << 10
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, p...)
	if excess := len(l.tail) - enough; excess > 0 {
		l.tail = bytes.Clone(l.tail[excess:])
	}
	return len(p), nil
}

func (l *lifeline) lastWords() string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if said := failureIn(string(l.tail), ""); said != "" {
		return "; it says: " + said
	}
	return ""
}

func (l *lifeline) hasPrinted(text string) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.tail, []byte(text))
}

func (l *lifeline) drop() {
	if l == nil {
		return
	}
	l.stream.Close()
	<-l.ended
}

var _ io.Writer = (*lifeline)(nil)

// Docker is a Docker engine with an image of Postgres, for running other things in containers. The caller closes it.
type Docker struct {
	*client.Client
	Image  string // of Options.Image
	Remote bool   // on another machine, by its address
}

// DialDocker finds the engine as Open does, and pulls the image if needed. Options.StartTimeout bounds finding it,
// Options.FetchTimeout pulling.
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
	return &Docker{Client: e.Client, Image: o.Image, Remote: e.remote}, nil
}
