package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"pulley/reports"
	"pulley/reports/record"
)

// bounds are of a scan. What is beyond them is left out, and the list says so.
type bounds struct {
	depth, folders, runs int
	entries              int   // of a folder
	record               int64 // bytes of the files of a record that is laid out
}

var usualBounds = bounds{depth: 6, folders: 10_000, runs: 1_000, entries: 5_000, record: 256 << 20}

const (
	scanMost = 5 * time.Second
	// scanKeep is how long a scan answers other requests.
	scanKeep = 2 * time.Second
	// progressMost is more than a progress file may have.
	progressMost = 1 << 20
)

// run is a folder with a record, or with the progress of a run.
type run struct {
	path     string // below the directory; "." is itself
	kind     string // the command that wrote the record; empty: there is none
	written  time.Time
	version  string // of the record's files; empty: there is no record
	size     int64
	wrong    string // why the record cannot be read
	compares bool   // it is of a comparison, and can be compared itself
	progress *record.Progress
	files    []file // all that is in the folder
}

type file struct {
	name   string
	size   int64
	at     time.Time
	folder bool
	plain  bool // no folder, link or device
}

// latest is when something was last written.
func (r *run) latest() time.Time {
	if r.progress != nil && r.progress.At.After(r.written) {
		return r.progress.At
	}
	return r.written
}

// tree is a directory that is served.
type tree struct {
	root *os.Root
	now  func() time.Time
	most bounds
}

func (t tree) close() error {
	if t.root == nil {
		return nil
	}
	return t.root.Close()
}

// findings are the runs below a directory, the newest first.
type findings struct {
	runs    []*run
	leftOut []string
}

// scan looks for runs, level by level, so that the nearest are found if there are too many folders.
func (t *tree) scan(ctx context.Context) (*findings, error) {
	ctx, cancel := context.WithTimeout(ctx, scanMost)
	defer cancel()
	out := &findings{}
	folders, large, deep, stopped := 0, 0, 0, false
	level := []string{"."}
	for depth := 0; len(level) > 0 && !stopped; depth++ {
		if depth > t.most.depth {
			deep = len(level)
			break
		}
		var next []string
		for _, dir := range level {
			if stopped = folders >= t.most.folders || ctx.Err() != nil; stopped {
				break
			}
			folders++
			files, whole, err := t.list(dir)
			if err != nil {
				if dir == "." {
					return nil, err
				}
				continue // it is removed, or may not be read
			}
			if !whole {
				large++
			}
			for _, f := range files {
				if f.folder && !strings.HasPrefix(f.name, ".") {
					next = append(next, path.Join(dir, f.name))
				}
			}
			if r := t.inspect(dir, files); r != nil {
				out.runs = append(out.runs, r)
			}
		}
		level = next
	}
	if stopped {
		out.leftOut = append(out.leftOut, fmt.Sprintf("Only the first %d folders were searched.", folders))
	}
	if deep > 0 {
		out.leftOut = append(out.leftOut, fmt.Sprintf("Folders more than %d levels down were not searched.", t.most.depth))
	}
	if large > 0 {
		out.leftOut = append(out.leftOut, fmt.Sprintf("Of folders with more than %d entries, the rest was not searched.", t.most.entries))
	}
	slices.SortStableFunc(out.runs, func(a, b *run) int { return b.latest().Compare(a.latest()) })
	if len(out.runs) > t.most.runs {
		out.leftOut = append(out.leftOut, fmt.Sprintf("There are %d runs; the newest %d are here.", len(out.runs), t.most.runs))
		out.runs = out.runs[:t.most.runs]
	}
	return out, nil
}

// list returns what is in a folder, by name, and whether that is all.
func (t *tree) list(dir string) (files []file, whole bool, err error) {
	f, err := t.root.Open(dir)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	for len(files) < t.most.entries {
		entries, err := f.ReadDir(256)
		for _, e := range entries {
			files = append(files, file{name: e.Name(), folder: e.IsDir(), plain: e.Type().IsRegular()})
		}
		if err != nil {
			whole = errors.Is(err, io.EOF)
			break
		}
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, whole, nil
}

// inspect returns the run in a folder, or nil.
func (t *tree) inspect(dir string, files []file) *run {
	find := func(name string) (*file, bool) {
		i, found := slices.BinarySearchFunc(files, name, func(f file, name string) int { return strings.Compare(f.name, name) })
		if !found {
			return nil, false
		}
		return &files[i], true
	}
	r := &run{path: dir, files: files}
	kind, names := reports.KindOf(func(name string) bool { _, has := find(name); return has })
	r.kind = kind
	version := &strings.Builder{}
	for _, name := range names {
		f, _ := find(name)
		info, err := t.root.Lstat(path.Join(dir, name))
		switch {
		case err != nil:
			return nil // it is being replaced
		case !f.plain || !info.Mode().IsRegular():
			r.wrong = fmt.Sprintf("%s is no plain file; links are not followed", name)
		}
		f.size, f.at = info.Size(), info.ModTime()
		r.size += f.size
		fmt.Fprintf(version, "%s %d %d\n", name, f.size, f.at.UnixNano())
		if f.at.After(r.written) {
			r.written = f.at
		}
	}
	if r.size > t.most.record {
		r.wrong = fmt.Sprintf("the record has %d bytes; those of up to %d are shown", r.size, t.most.record)
	}
	r.version, r.compares = version.String(), r.wrong == "" && slices.Contains(names, record.ManifestFile)
	if f, has := find(record.ProgressFile); has && f.plain {
		r.progress = t.progress(path.Join(dir, record.ProgressFile))
	}
	if r.progress != nil && r.kind != "" && r.progress.State != record.StateRunning && !r.written.Before(r.progress.StartedAt) {
		r.progress = nil // the record says more
	}
	if r.kind == "" && r.progress == nil {
		return nil
	}
	return r
}

// staleAfter is how old the progress of a run may be that lasts. A run renews it every two seconds.
const staleAfter = 20 * time.Second

// lost reports that a run gives no sign of life.
func (t *tree) lost(p *record.Progress) bool {
	return p.State == record.StateRunning && t.now().Sub(p.At) > staleAfter
}

// running reports that a run lasts.
func (t *tree) running(r *run) bool {
	return r.progress != nil && r.progress.State == record.StateRunning && !t.lost(r.progress)
}

// progress reads a progress file; one that cannot be read counts as none.
func (t *tree) progress(name string) *record.Progress {
	data, err := t.read(name, progressMost)
	if err != nil {
		return nil
	}
	p, err := record.DecodeProgress(data)
	if err != nil {
		return nil
	}
	return p
}

// read reads a plain file. It does not wait for a writer where a pipe has taken the file's place.
func (t *tree) read(name string, most int64) ([]byte, error) {
	before, err := t.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !os.SameFile(before, info) {
		return nil, fs.ErrInvalid
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// lookup returns the run at a path that a request names, or nil. Each of its folders must be a folder, not a link to one.
func (t *tree) lookup(name string) *run {
	if name == "" {
		name = "."
	}
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") || strings.Count(name, "/") >= t.most.depth {
		return nil
	}
	if name != "." {
		parts := strings.Split(name, "/")
		for i, part := range parts {
			if strings.HasPrefix(part, ".") {
				return nil
			}
			info, err := t.root.Lstat(path.Join(parts[:i+1]...))
			if err != nil || !info.IsDir() {
				return nil
			}
		}
	}
	files, _, err := t.list(name)
	if err != nil {
		return nil
	}
	return t.inspect(name, files)
}
