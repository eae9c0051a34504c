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

// MayReplace refuses a directory in which files of these names are not of an earlier run of ours.
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

// Writable makes the directory and sees that a file can be written there, before hours are spent.
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

// Begin is how a command begins that measures for minutes: it sees first that the directory can be written, and lets mayReplace say whether
// what is in it may be replaced. The context ends at a signal; the function lets go of those.
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

// IsTerminal says whether somebody watches.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// ParseShare reads 10% or 0.1.
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

// Indent moves lines to the right, as the lists at the end of a command's help are.
func Indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + line)
	}
	return b.String()
}
