package pgserver

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/cpuguy83/dockercfg"
	"github.com/distribution/reference"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"
)

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
