package procgroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pulley/internal/pause"
)

const (
	busyTries = 5                     // attempts to start a program whose file is being written
	busyPause = 10 * time.Millisecond // after the first; doubles
)

// Program is a program for Supervisor.Start.
type Program struct {
	Path string
	Argv []string
	Dir  string   // empty: this process's
	Env  []string // NAME=value, each name once; see Environ. Nil: this process's

	Stdin, Stdout, Stderr *os.File // nil: the null device
}

// Find returns a program's file for Path. A name without a slash is searched in PATH, and a relative one with a slash is
// relative to dir.
func Find(program, dir string) (string, error) {
	if strings.Contains(program, "/") { // keep a slash, or it would be searched in PATH
		if !filepath.IsAbs(program) {
			program = filepath.Join(dir, program)
		}
		var err error
		if program, err = filepath.Abs(program); err != nil {
			return "", err
		}
	}
	file, err := exec.LookPath(program)
	var missing *exec.Error
	switch {
	case err == nil:
		return filepath.Abs(file)
	case errors.Is(err, os.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("there is no program %s; check the name, and PATH", program)
	case errors.Is(err, os.ErrPermission):
		return "", fmt.Errorf("%s is no program that may be run; chmod +x makes it one", program)
	case errors.As(err, &missing):
		err = missing.Err
	}
	return "", fmt.Errorf("program %s: %w", program, err)
}

// Environ returns our environment with more variables, which override, and without our own supervisor's mark.
func Environ(more map[string]string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		_, replaced := more[name]
		return replaced || name == Variable
	})
	for _, name := range slices.Sorted(maps.Keys(more)) {
		env = append(env, name+"="+more[name])
	}
	return env
}

// start retries while the file is being written: by a replacement, or by a forked child of ours that had not yet executed its
// program when we closed the file.
func (p *Program) start(mark string) (*os.Process, error) {
	env := p.Env
	if env == nil {
		env = Environ(nil)
	}
	attr := &os.ProcAttr{
		Dir: p.Dir, Env: append(env[:len(env):len(env)], mark), Files: []*os.File{p.Stdin, p.Stdout, p.Stderr},
		Sys: &syscall.SysProcAttr{Setpgid: true},
	}
	for i, f := range attr.Files {
		if f != nil {
			continue
		}
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		defer func() { _ = null.Close() }()
		attr.Files[i] = null
	}
	wait := busyPause
	for try := 1; ; try++ {
		process, err := os.StartProcess(p.Path, p.Argv, attr)
		if try == busyTries || !errors.Is(err, syscall.ETXTBSY) {
			return process, err
		}
		_ = pause.For(context.Background(), wait) // cannot fail: that context does not end
		wait *= 2
	}
}
