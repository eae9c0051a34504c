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
		return work(p.barePython(ctx))
	}
	env, err := pgtest.MakeTemplate(starting, s, templateName, setUpDesigns)
	if err != nil {
		return fmt.Errorf("making the database that tests clone: %w", err)
	}
	maps.Copy(env, p.barePython(ctx))
	return work(env)
}

const samePython = "import sys; print(sys.version, sys.base_prefix, sys.path[1:])"

// barePython returns an environment in which python3 is the interpreter itself, with the standard library only. A script that finds
// one, such as pyenv's, takes eight times the processor time to start; what a machine has installed may take four times as long to
// load; and tests start hundreds. barePython returns nothing without Python, or if the script changes something.
func (p *workdir) barePython(ctx context.Context) (env map[string]string) {
	ask := func(program, question string) string {
		var out bytes.Buffer
		if p.run(ctx, command{args: []string{program, "-S", "-c", question}, out: &out, err: io.Discard}) != nil { // -S: without what is installed
			return ""
		}
		return strings.TrimSpace(out.String())
	}
	interpreter := ask("python3", "import sys; print(sys._base_executable)")
	if interpreter == "" {
		return nil
	}
	dir := filepath.Join(p.dir, "python")
	link := filepath.Join(dir, "bin", "python3")
	_ = os.Remove(link) // of an earlier run in the same workdir
	// A file pyvenv.cfg makes a virtual environment of the directory, which has no packages.
	virtual := "home = " + filepath.Dir(interpreter) + "\ninclude-system-site-packages = false\n"
	if errors.Join(
		os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(interpreter, link), os.WriteFile(filepath.Join(dir, "pyvenv.cfg"), []byte(virtual), 0o644),
	) != nil || ask(link, samePython) != ask("python3", samePython) {
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
