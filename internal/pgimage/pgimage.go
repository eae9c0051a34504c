// Package pgimage makes an image of Postgres for tests without a reachable image registry. It needs a Docker engine. On a Debian
// machine with postgresql installed it copies that, in seconds; elsewhere it needs root, debootstrap, and about a minute. It
// works in PULLEY_IMAGE_DIR, or TMPDIR, which must allow device files for debootstrap.
package pgimage

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"pulley/internal/pause"
)

// Name is the image's name.
const Name = "pulley-test-postgres:debian"

// Within bounds the making of an image, including the wait for another process that makes it. With debootstrap it takes about a
// minute on an idle machine, and many if several test runs share two processors.
const Within = 30 * time.Minute

//go:embed build.sh docker-entrypoint.sh
var scripts embed.FS

// Engine is what is needed of a Docker engine's client.
type Engine interface {
	ImageInspect(ctx context.Context, image string, options ...client.ImageInspectOption) (client.ImageInspectResult, error)
	ImageImport(ctx context.Context, source client.ImageImportSource, ref string, options client.ImageImportOptions) (client.ImageImportResult, error)
}

// Ensure makes the image unless the engine has it. Of several processes one makes it, and the others wait.
func Ensure(ctx context.Context, e Engine) error {
	if has, err := present(ctx, e); has || err != nil {
		return err
	}
	unlock, err := lock(ctx)
	if err != nil {
		return fmt.Errorf("waiting for another process that makes the image %s: %w", Name, err)
	}
	defer unlock()
	if has, err := present(ctx, e); has || err != nil {
		return err
	}
	return build(ctx, e)
}

func present(ctx context.Context, e Engine) (bool, error) {
	_, err := e.ImageInspect(ctx, Name)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// lock acquires a machine-wide lock, which the kernel releases with the process.
func lock(ctx context.Context) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(os.TempDir(), "pulley-image.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for range pause.Tries(ctx, 200*time.Millisecond) {
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			return func() { _ = file.Close() }, nil
		}
	}
	return nil, errors.Join(context.Cause(ctx), file.Close())
}

func build(ctx context.Context, e Engine) error {
	work, err := os.MkdirTemp(os.Getenv("PULLEY_IMAGE_DIR"), "pulley-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.CopyFS(filepath.Join(work, "scripts"), scripts); err != nil {
		return err
	}
	var said bytes.Buffer
	script := exec.CommandContext(ctx, "/bin/sh", filepath.Join(work, "scripts", "build.sh"), work)
	script.Stderr = &said
	major, err := script.Output()
	if err != nil {
		return fmt.Errorf("making the image %s: %w: %s", Name, err, strings.Join(strings.Fields(said.String()), " "))
	}
	return load(ctx, e, work, strings.TrimSpace(string(major)))
}

func load(ctx context.Context, e Engine, work, version string) error {
	files := exec.CommandContext(ctx, "tar", "-C", filepath.Join(work, "root"), "--exclude=./proc/*", "--exclude=./sys/*", "-c", ".")
	root, err := files.StdoutPipe()
	if err != nil {
		return err
	}
	if err := files.Start(); err != nil {
		return err
	}
	imported, err := e.ImageImport(ctx, client.ImageImportSource{Source: root, SourceName: "-"}, Name, client.ImageImportOptions{
		Changes: []string{
			"ENV PATH=/usr/lib/postgresql/" + version + "/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"ENV PG_MAJOR=" + version,
			"ENV PGDATA=/var/lib/postgresql/data",
			"ENV LANG=C.UTF-8",
			"VOLUME /var/lib/postgresql/data",
			`ENTRYPOINT ["docker-entrypoint.sh"]`,
			`CMD ["postgres"]`,
			"EXPOSE 5432",
		},
	})
	if err == nil {
		_, err = io.Copy(io.Discard, imported) // ends when the engine is done
		_ = imported.Close()
	}
	return errors.Join(err, files.Wait())
}
