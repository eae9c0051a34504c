package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"pulley/internal/cause"
)

//go:embed library/*.yaml library/*.ir programs/*.ir
var shippedFiles embed.FS

// Bundle is a scenario as text: its file, and every other file that it names except shipped scenarios. A scenario made of it
// reads no files.
type Bundle struct {
	Root  string            `json:"root"`  // the scenario's file, one of Files
	Files map[string]string `json:"files"` // by the names used in them
}

// Traces have separate limits.
const samplesBytesMax = 64 << 20

// files is the source of a scenario's files, with a cache.
type files struct {
	dir   string // folder of the scenario's file, as named; empty: the current one
	open  func(name string) (io.ReadCloser, error)
	seen  map[string]string
	ships bool
}

func osFiles(dir string) *files {
	f := &files{dir: dir, seen: map[string]string{}}
	f.open = func(name string) (io.ReadCloser, error) {
		file, err := os.Open(f.display(name))
		if err != nil {
			return nil, err
		}
		if info, err := file.Stat(); err == nil && info.IsDir() {
			_ = file.Close()
			return nil, errors.New("this is a directory")
		}
		return file, nil
	}
	return f
}

func libraryFiles() *files {
	return &files{seen: map[string]string{}, ships: true, open: func(name string) (io.ReadCloser, error) {
		return shippedFiles.Open(path.Join("library", name))
	}}
}

func bundled(b Bundle) *files {
	return &files{seen: map[string]string{}, open: func(name string) (io.ReadCloser, error) {
		text, ok := b.Files[name]
		if !ok {
			return nil, errors.New("the file is not among those that were kept with the scenario")
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

func (f *files) display(name string) string {
	switch {
	case f.ships:
		return path.Base(name)
	case f.dir == "" || filepath.IsAbs(name):
		return name
	}
	return filepath.Join(f.dir, name)
}

// read returns at most one byte more than most, so that the caller notices an excess. The error is one line.
func (f *files) read(name string, most int) ([]byte, error) {
	if text, ok := f.seen[name]; ok {
		return []byte(text), nil
	}
	file, err := f.open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.display(name), cause.Of(err))
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.display(name), cause.Of(err))
	}
	f.seen[name] = string(data)
	return data, nil
}

func alongside(file, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return path.Join(path.Dir(file), filepath.ToSlash(name))
}

func nameOf(file string) string {
	base := path.Base(filepath.ToSlash(file))
	if isScenario(base) {
		base = strings.TrimSuffix(base, path.Ext(base))
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.', r > 127:
			return r
		}
		return '_'
	}, base)
}
