package python

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pulley/internal/cause"
)

// Variable is the environment variable that names the interpreter, if it is not PATH's python3.
const Variable = "PULLEY_PYTHON"

const (
	outputMax = 64 << 20        // bytes of an answer
	endMax    = 5 * time.Second // after cancellation, until the pipes are closed
)

// bootstrap runs package pulley from the directory in its first argument. -m would look in the working directory first.
const bootstrap = "import sys; sys.path[0] = sys.argv.pop(1); from pulley.__main__ import main; sys.exit(main())"

// Interpreter is a Python with package pulley. It is safe for concurrent use.
type Interpreter struct {
	path string // of the executable
	dir  string // of the package
	temp bool
}

// Open finds a Python, and unpacks the package into the user's cache, where it stays, or else into a temporary directory, which
// Close removes.
func Open() (*Interpreter, error) {
	name := os.Getenv(Variable)
	if name == "" {
		name = "python3"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv(Variable) != "" {
			return nil, fmt.Errorf("%s names %s, which cannot be run: %w", Variable, name, causeOfLookup(err))
		}
		return nil, fmt.Errorf("a workflow in Python needs python3, which is not in PATH; install Python 3.9 or later, or name it in %s", Variable)
	}
	i := &Interpreter{path: path}
	if i.dir, i.temp, err = install(); err != nil {
		return nil, err
	}
	return i, nil
}

func causeOfLookup(err error) error {
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		err = lookup.Err
	}
	return cause.Of(err)
}

// Close removes temporary files, which running workers may still need.
func (i *Interpreter) Close() error {
	if !i.temp {
		return nil
	}
	if err := os.RemoveAll(i.dir); err != nil {
		return fmt.Errorf("removing %s: %w", i.dir, cause.Of(err))
	}
	return nil
}

// Argv is the command line of a command of package pulley.
func (i *Interpreter) Argv(args ...string) []string {
	return append([]string{i.path, "-c", bootstrap, i.dir}, args...)
}

// Environ returns additional variables, with which also processes that the user's code starts find the package.
func (i *Interpreter) Environ() map[string]string {
	path := i.dir
	if more := os.Getenv("PYTHONPATH"); more != "" {
		path += string(os.PathListSeparator) + more
	}
	return map[string]string{"PYTHONPATH": path}
}

type answer struct {
	code        int
	out, errors string
}

func (i *Interpreter) ask(ctx context.Context, input []byte, args ...string) (answer, error) {
	argv := i.Argv(args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = os.Environ()
	for name, value := range i.Environ() {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, stderr := &bounded{most: outputMax}, &bounded{most: outputMax}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = bytes.NewReader(input), out, stderr, endMax
	err := cmd.Run()
	got := answer{code: cmd.ProcessState.ExitCode(), out: out.String(), errors: strings.TrimSpace(stderr.String())}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return got, context.Cause(ctx)
	case out.over || stderr.over:
		return got, fmt.Errorf("%s: its answer is longer than %d bytes", i.path, outputMax)
	case errors.As(err, &exit) && got.code < 0:
		return got, fmt.Errorf("%s ended by %v: %s", i.path, exit, lastLine(got.errors))
	case err != nil && exit == nil:
		return got, fmt.Errorf("%s cannot be run: %w", i.path, causeOfLookup(err))
	}
	return got, nil
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

type bounded struct {
	bytes.Buffer
	most int
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		b.over = true
		return 0, io.ErrShortBuffer
	}
	return b.Buffer.Write(p)
}

func install() (dir string, temp bool, err error) {
	if cache, err := os.UserCacheDir(); err == nil {
		dir := filepath.Join(cache, "pulley", "python-"+fingerprint())
		if holds(dir) || place(dir) == nil && holds(dir) {
			return dir, false, nil
		}
	}
	if dir, err = os.MkdirTemp("", "pulley-python-"); err == nil {
		err = os.CopyFS(dir, files)
	}
	if err != nil {
		return "", false, fmt.Errorf("the Python package pulley cannot be unpacked: %w; set TMPDIR to a directory that can be written", err)
	}
	return dir, true, nil
}

func fingerprint() string {
	sum := sha256.New()
	_ = eachFile(func(name string, content []byte) error {
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", name, len(content), content)
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func eachFile(f func(name string, content []byte) error) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		return f(name, content)
	})
}

var errDiffers = errors.New("it is not what was unpacked")

func holds(dir string) bool {
	return eachFile(func(name string, content []byte) error {
		found, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil && !bytes.Equal(found, content) {
			err = errDiffers
		}
		return err
	}) == nil
}

// place unpacks the package and renames it to dir, whole or not at all, even concurrently.
func place(dir string) error {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(parent, ".python-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // if it was not renamed
	if err := os.CopyFS(scratch, files); err != nil {
		return err
	}
	err = os.Rename(scratch, dir)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was first; the caller checks its copy
	}
	return err
}
