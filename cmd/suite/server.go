package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"pulley/engine/backend/designs"
	"pulley/engine/pgserver"
	"pulley/internal/pgimage"
	"pulley/internal/pgtest"
)

const templateName = "pulley_template"

// serveWithin bounds the server's start and the template's creation, on a busy machine.
const serveWithin = 4 * time.Minute

// withServer starts the Postgres that all packages share, calls work with the environment that names it, and ends it. A server
// in PULLEY_DSN gets no template.
func (p *workdir) withServer(ctx context.Context, work func(env map[string]string) error) (err error) {
	starting, cancel := context.WithTimeout(ctx, serveWithin)
	defer cancel()
	s, err := pgserver.Open(starting, pgserver.Options{Settings: pgtest.Settings(), TempDir: p.fast, StartTimeout: serveWithin})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	if !s.Started() {
		return work(p.quickPython(ctx))
	}
	env, err := pgtest.MakeTemplate(starting, s, templateName, setUpDesigns)
	if err != nil {
		return fmt.Errorf("making the database that tests clone: %w", err)
	}
	maps.Copy(env, p.quickPython(ctx))
	return work(env)
}

// quickPython returns an environment in which python3 is the interpreter itself, and runs nothing of what is installed for it
// before it has to. A script that finds one, such as pyenv's, takes eight times the processor time to start; what asks to be run
// at each start, such as a list of certificates, may take four times as long; and tests start hundreds. quickPython returns nothing
// without Python, or if the script changes something.
func (p *workdir) quickPython(ctx context.Context) (env map[string]string) {
	ask := func(arguments ...string) string {
		var out bytes.Buffer
		if p.run(ctx, command{args: arguments, out: &out, err: io.Discard}) != nil {
			return ""
		}
		return strings.TrimSpace(out.String())
	}
	const (
		same  = "import sys; print(sys.version, sys.base_prefix, sys.path[1:])"
		paths = "import sys; print('\\n'.join(sys.path[1:]))"
	)
	interpreter := ask("python3", "-S", "-c", "import sys; print(sys._base_executable)") // -S: without what is installed
	if interpreter == "" {
		return nil
	}
	dir := filepath.Join(p.dir, "python")
	link := filepath.Join(dir, "bin", "python3")
	_ = os.Remove(link) // of an earlier run in the same workdir
	// A file pyvenv.cfg makes a virtual environment of the directory.
	virtual := "home = " + filepath.Dir(interpreter) + "\ninclude-system-site-packages = false\n"
	if errors.Join(
		os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(interpreter, link), os.WriteFile(filepath.Join(dir, "pyvenv.cfg"), []byte(virtual), 0o644),
	) != nil || ask(link, "-S", "-c", same) != ask("python3", "-S", "-c", same) {
		return nil
	}
	// The files next to packages that say what to run are read only where Python finds packages by itself.
	standard := strings.Split(ask("python3", "-S", "-c", paths), "\n")
	installed := slices.DeleteFunc(strings.Split(ask("python3", "-c", paths), "\n"), func(path string) bool { return slices.Contains(standard, path) })
	own := ask(link, "-c", "import site; print(site.getsitepackages()[0])")
	if own == "" || errors.Join(os.MkdirAll(own, 0o755), os.WriteFile(filepath.Join(own, "installed.pth"), []byte(strings.Join(installed, "\n")+"\n"), 0o644)) != nil {
		return nil
	}
	return map[string]string{"PATH": filepath.Dir(link) + string(os.PathListSeparator) + os.Getenv("PATH")}
}

func setUpDesigns(ctx context.Context, dsn string) error {
	for _, design := range designs.Durable() {
		b, err := design.Open(ctx, designs.OpenOptions{DSN: dsn, Schema: pgtest.TemplateSchema(design.String())})
		if err != nil {
			return fmt.Errorf("%s: %w", design, err)
		}
		b.Close()
	}
	return nil
}

type imageCmd struct{}

func (*imageCmd) Run(ctx context.Context) (err error) {
	limited, cancel := context.WithTimeout(ctx, pgimage.Within)
	defer cancel()
	docker, err := client.New(client.FromEnv)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, docker.Close()) }()
	return pgimage.Ensure(limited, docker)
}

// beginImage starts making the image while the tests are compiled, so that the first test of Docker waits less. Only CI
// requires those tests. After an error they make the image themselves, or report why they cannot. end ends the process.
func (p *workdir) beginImage(ctx context.Context) (end func(), err error) {
	if os.Getenv("CI") != "true" {
		return func() {}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	making, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.run(making, command{args: []string{self, "image"}, out: io.Discard})
	}()
	return func() { cancel(); <-done }, nil
}
