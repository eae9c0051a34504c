package pgserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/client"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// withoutDocker removes what the tester's environment says about Docker, and returns the directories of its configuration and its
// sockets.
func withoutDocker(t *testing.T) (config, sockets string) {
	t.Helper()
	config, sockets = t.TempDir(), t.TempDir()
	for name, value := range map[string]string{
		"DOCKER_HOST": "", "DOCKER_CONTEXT": "", "DOCKER_CONFIG": config, "XDG_RUNTIME_DIR": sockets, "HOME": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	return config, sockets
}

func TestEnginesAreFoundWhereDockerFindsThem(t *testing.T) {
	config, sockets := withoutDocker(t)
	want := func(what string, addresses ...string) {
		t.Helper()
		if got := daemonAddresses(); !slices.Equal(got[:len(addresses)], addresses) || len(got) > 1 && got[0] != client.DefaultDockerHost {
			t.Errorf("%s: %q, want %q", what, got, addresses)
		}
	}
	want("nothing said", client.DefaultDockerHost)
	write(t, filepath.Join(sockets, "docker.sock"), "")
	want("an engine without root", client.DefaultDockerHost, "unix://"+filepath.Join(sockets, "docker.sock"))
	for name, address := range map[string]string{"far": "tcp://far:2376", "near": "unix:///near.sock"} {
		write(t, filepath.Join(config, "contexts", "meta", fmt.Sprintf("%x", sha256.Sum256([]byte(name))), "meta.json"),
			fmt.Sprintf(`{"Name": %q, "Endpoints": {"docker": {"Host": %q}}}`, name, address))
	}
	write(t, filepath.Join(config, "config.json"), `{"currentContext": "far"}`)
	want("a context", "tcp://far:2376")
	t.Setenv("DOCKER_CONTEXT", "near")
	want("another context for this process", "unix:///near.sock")
	t.Setenv("DOCKER_CONTEXT", "default")
	want("the context that is not stored", client.DefaultDockerHost)
	t.Setenv("DOCKER_HOST", "tcp://given:1")
	want("an address", "tcp://given:1")
}

func TestWhereNoEngineAnswersIsReported(t *testing.T) {
	withoutDocker(t)
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	o, err := Options{}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.dialEngine(t.Context()); err == nil {
		t.Error("an engine answers at a socket that does not exist")
	} else {
		for _, part := range []string{"no engine answers", "unix:///nowhere/docker.sock", "set DOCKER_HOST"} {
			if !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is not one line with %q", err, part)
			}
		}
	}
}

func TestCredentialsOfARegistry(t *testing.T) {
	config, _ := withoutDocker(t)
	credentials := func(image string) (auth struct{ Username, Password, IdentityToken string }) {
		t.Helper()
		text, err := base64.URLEncoding.DecodeString(registryAuth(image))
		if err == nil && len(text) > 0 {
			err = json.Unmarshal(text, &auth)
		}
		if err != nil {
			t.Fatalf("%s: %v", image, err)
		}
		return auth
	}
	if got := credentials("postgres:17"); got.Username != "" || got.Password != "" {
		t.Errorf("without a configuration: %+v", got)
	}
	write(t, filepath.Join(config, "config.json"), fmt.Sprintf(`{"auths": {"https://index.docker.io/v1/": {"auth": %q}, "own.example:5000": {"identitytoken": "token"}}}`,
		base64.StdEncoding.EncodeToString([]byte("me:secret"))))
	if got := credentials("postgres:17"); got.Username != "me" || got.Password != "secret" {
		t.Errorf("of the default registry: %+v", got)
	}
	if got := credentials("own.example:5000/team/postgres:17"); got.IdentityToken != "token" {
		t.Errorf("of one of one's own: %+v", got)
	}
	if got := registryAuth("other.example/postgres"); got != "" {
		t.Errorf("of an unknown one: %q", got)
	}
}
