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
	busyTries = 5                     // of starting a program whose file somebody is writing
	busyPause = 10 * time.Millisecond // after the first of them; it doubles
)

// Program is what a Keeper starts.
type Program struct {
	Path string   // the executable's file; it is not searched for
	Argv []string // the program's name, as it is told, and its arguments
	Dir  string   // empty: ours
	Env  []string // NAME=value, each name once; see Environ. Nil: ours

	Stdin, Stdout, Stderr *os.File // nil: the null device
}

// Find gives the file of a program, for Path. One without a slash in its name is looked for in PATH, and one with a slash that is
// not absolute is below dir.
func Find(program, dir string) (string, error) {
	if strings.Contains(program, "/") { // absolute, it keeps a slash: without one it would be looked for in PATH
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

// Environ gives our environment with more variables, which replace those of the same name, and without the mark of whoever
// started us.
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

// start starts the program. It tries again where the file is being written: by somebody who replaces it, or by a child of ours
// that was not yet another program when we closed the file.
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
		defer func() { _ = null.Close() }() // the process has its own
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
