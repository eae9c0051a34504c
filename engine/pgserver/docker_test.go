package pgserver

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	dockercontainer "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"pulley/internal/depth"
	"pulley/internal/pgimage"
)

func needEngine(t *testing.T) *engine {
	t.Helper()
	o, err := Options{}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	e, err := o.dialEngine(t.Context())
	need(t, err, "a Docker engine")
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// needImage returns an image of Postgres: the one that the user named, the official one if it is present or can be pulled, or
// one built from Debian's packages.
func needImage(t *testing.T, e *engine) string {
	t.Helper()
	if given := givenEnv["PULLEY_POSTGRES_IMAGE"]; given != "" {
		return given
	}
	ctx, cancel := context.WithTimeout(t.Context(), pgimage.Within)
	defer cancel()
	buildErr := pgimage.Ensure(ctx, e)
	if buildErr == nil {
		return pgimage.Name
	}
	if has, _ := e.hasImage(ctx, defaultImage); has || e.canPull(ctx, defaultImage) == nil {
		return defaultImage
	}
	need(t, buildErr, "an image of Postgres, or Debian's postgresql or debootstrap to make one")
	return ""
}

func isContainerRemoved(t *testing.T, e *engine, id string) func() bool {
	return func() bool {
		_, err := e.ContainerInspect(context.WithoutCancel(t.Context()), id, client.ContainerInspectOptions{})
		return errdefs.IsNotFound(err)
	}
}

func TestDocker(t *testing.T) {
	e := needEngine(t)
	image := needImage(t, e)
	s := openTest(t, Options{Ways: []Way{WayDocker}, Image: image, Settings: map[string]string{"work_mem": "5MB"}})
	if weak := s.Durability().Weakness(); weak != "" || s.Way() != WayDocker || !s.Started() {
		t.Errorf("weakness %q, way %s, started %v", weak, s.Way(), s.Started())
	}
	for name, want := range map[string]string{"work_mem": "5MB", "max_connections": "200", "fsync": "on"} {
		if got := setting(t, s.DSN(), name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !s.HasStatementStats() {
		t.Error("there are no statement counters")
	}
	execSQL(t, s.DSN(), "CREATE SCHEMA works CREATE TABLE too (x int)")
	if text := s.String(); !strings.Contains(text, image) || !strings.Contains(text, "Docker") || strings.Contains(text, "postgres://") {
		t.Errorf("it describes itself as %q", text)
	}
	id := s.container.id
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !isContainerRemoved(t, e, id)() {
		t.Error("the container is still there")
	}
	if err := s.Stop(t.Context(), StopFast); !errors.Is(err, ErrNotManaged) {
		t.Errorf("Stop says %v", err)
	}
}

func TestContainerEndsWithProgram(t *testing.T) {
	t.Parallel()
	e := needEngine(t)
	image := needImage(t, e)
	for name, end := range map[string]func(*child) error{
		"SIGKILL":            func(c *child) error { return c.cmd.Process.Signal(syscall.SIGKILL) },
		"SIGTERM":            func(c *child) error { return c.cmd.Process.Signal(syscall.SIGTERM) },
		"exit without Close": func(c *child) error { return c.stdin.Close() },
	} {
		if name == "SIGTERM" && !depth.Night() {
			continue // for the container it equals SIGKILL
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startChild(t, selfAs(t, nil), childExit, nil, "CHILD_IMAGE="+image)
			if c.Err != "" || isContainerRemoved(t, e, c.Container)() {
				t.Fatalf("the child reports %+v", c.childReport)
			}
			if err := end(c); err != nil {
				t.Fatal(err)
			}
			c.wait(t)
			eventually(t, "the container is gone", isContainerRemoved(t, e, c.Container))
		})
	}
}

func TestRestartedContainerEndsWithProgram(t *testing.T) {
	t.Parallel()
	e := needEngine(t)
	image := needImage(t, e)
	c := startChild(t, selfAs(t, nil), childExit, nil, "CHILD_IMAGE="+image, "CHILD_RESTARTS=1")
	if c.Err != "" || isContainerRemoved(t, e, c.Container)() {
		t.Fatalf("the child reports %+v", c.childReport)
	}
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.wait(t)
	eventually(t, "the container is gone", isContainerRemoved(t, e, c.Container))
}

func TestUnfitImages(t *testing.T) {
	e := needEngine(t)
	image := needImage(t, e)
	for name, o := range map[string]Options{
		"none there":   {Image: "127.0.0.1:1/none/none:none"},
		"bad name":     {Image: "NOT A NAME"},
		"bad settings": {Image: image, Settings: map[string]string{"no_such_setting": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			o.Ways, o.StartTimeout = []Way{WayDocker}, waitsMax
			_, err := Open(t.Context(), o)
			if !errors.Is(err, ErrNoPostgres) {
				t.Fatalf("got %v", err)
			}
			checkLine(t, err.Error())
			want := o.Image
			for setting := range o.Settings {
				want = setting
			}
			if !strings.Contains(err.Error(), want) {
				t.Errorf("it does not name %q: %v", want, err)
			}
		})
	}
	// Other tests' containers may be starting or ending, but not for long.
	eventually(t, "no container is left that does not run", func() bool {
		return !slices.ContainsFunc(ours(t, e), func(c dockercontainer.Summary) bool { return c.State != dockercontainer.StateRunning })
	})
}

func ours(t *testing.T, e *engine) []dockercontainer.Summary {
	t.Helper()
	list, err := e.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", containerLabel)})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func TestNextRunRemovesContainers(t *testing.T) {
	e := needEngine(t)
	image := needImage(t, e)
	created, err := e.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config: &dockercontainer.Config{Image: image, Labels: map[string]string{containerLabel: "test"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	removed := isContainerRemoved(t, e, created.ID)
	o, err := Options{}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	e.sweep(t.Context(), o, time.Now())
	if removed() {
		t.Error("a container that was just created is removed")
	}
	e.sweep(t.Context(), o, time.Now().Add(createdGrace+time.Minute))
	if !removed() {
		t.Error("an old one is left")
	}
}

func TestEngineHosts(t *testing.T) {
	t.Setenv("TESTCONTAINERS_HOST_OVERRIDE", "")
	if got := (&engine{remote: true, host: "far"}).hosts(); len(got) != 1 || got[0] != "far" {
		t.Errorf("a remote engine: %q", got)
	}
	if got := (&engine{}).hosts(); got[0] != "127.0.0.1" {
		t.Errorf("a local engine: %q", got)
	}
	t.Setenv("TESTCONTAINERS_HOST_OVERRIDE", "given")
	if got := (&engine{}).hosts(); got[0] != "given" {
		t.Errorf("the user's word: %q", got)
	}
	if addr := (&engine{remote: true}).bindAddress(); !addr.IsUnspecified() {
		t.Errorf("a remote engine publishes on %s", addr)
	}
}

func TestLifelineScript(t *testing.T) {
	t.Parallel()
	run := func(seconds, hello string, args ...string) (*exec.Cmd, *os.File) {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = reader.Close(), writer.Close() })
		if _, err := writer.WriteString(hello); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/bin/sh", append([]string{"-c", lifelineScript, "lifeline"}, args...)...)
		cmd.Stdin = reader
		cmd.Env = append(os.Environ(), "PULLEY_LIFELINE_SECONDS="+seconds)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		return cmd, writer
	}
	if cmd, _ := run("60", "", "sh", "-c", "exit 3"); cmd.Wait() == nil {
		t.Error("the status of a server that fails is lost")
	}
	mark := filepath.Join(t.TempDir(), "started")
	waits, writer := run("60", "\n", "sh", "-c", "touch "+mark+"; exec sleep 600")
	eventually(t, "the server runs", func() bool { return exists(mark) })
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := waits.Wait(); err != nil {
		t.Errorf("the end of the input: %v", err)
	}
	if cmd, _ := run("0.2", "", "sleep", "600"); cmd.Wait() != nil {
		t.Error("nobody takes hold of it, and it does not end by itself")
	}
	// The shell has this long to read a line that is already there.
	if cmd, _ := run("5", "\n", "sh", "-c", "sleep 6; exit 3"); cmd.Wait() == nil {
		t.Error("somebody holds it, and it ends before its server")
	}
}
