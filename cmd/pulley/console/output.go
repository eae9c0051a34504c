package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/term"

	"pulley/reports/record"
)

// MayReplace rejects a directory with files of these names that no earlier run wrote.
func MayReplace(dir string, names ...string) error {
	if _, err := record.ReadManifest(filepath.Join(dir, record.ManifestFile)); err == nil {
		return nil
	}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("--out %s: there is a %s that no run of pulley wrote, or not all of one; choose another directory, or move it away", dir, name)
		}
	}
	return nil
}

// Writable creates the directory and checks, before hours are spent, that it is writable.
func Writable(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("--out %s: %w; choose a directory that can be written", dir, err)
	}
	f, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return fmt.Errorf("--out %s: %w; choose a directory that can be written", dir, err)
	}
	_ = f.Close()
	return os.Remove(f.Name())
}

// Begin begins a command that measures for minutes: it checks that dir is writable, calls mayReplace to check its content, and
// tunes garbage collection. The context ends at a signal; the returned function stops the handling of signals.
func Begin(dir string, mayReplace func() error) (context.Context, func(), error) {
	if err := Writable(dir); err != nil {
		return nil, nil, err
	}
	if err := mayReplace(); err != nil {
		return nil, nil, err
	}
	TuneGC()
	ctx, stop := Interruptible()
	return ctx, stop, nil
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// ParseShare parses 10% or 0.1.
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v <= 1) {
		return 0, errors.New("choose a share above 0 and up to 100%")
	}
	return v, nil
}

// Indent indents lines, for lists at the end of a command's help.
func Indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + line)
	}
	return b.String()
}
