package reports

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pulley/internal/cause"
	"pulley/reports/page"
	"pulley/reports/record"
)

// opener lays out the report on the record in a folder.
type opener struct {
	// kind is the command that writes such records.
	kind string
	// file is what such a folder has, and no other.
	file string
	// more are files of the record beside it, if they are there.
	more []string
	open func(dir string, files []page.File) (*page.Page, error)
}

// openers are in the order in which a folder is looked at.
var openers = []opener{
	{"compare", record.SummaryFile, []string{record.ManifestFile, record.SamplesFile}, openCompare},
	{"bench", record.LoadFile, nil, openLoad},
}

// Kinds are the records that Open reads: a command, and the file by which its folder is known.
func Kinds() []string {
	var out []string
	for _, o := range openers {
		out = append(out, o.kind+" ("+o.file+")")
	}
	return out
}

// Open lays out the report on the record in dir, whatever wrote it. The page carries the record's files.
func Open(dir string) (*page.Page, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, cause.Of(err))
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder: name the folder that a command wrote with --out", dir)
	}
	for _, o := range openers {
		if _, err := os.Lstat(filepath.Join(dir, o.file)); err != nil {
			continue
		}
		files, err := readFiles(dir, append([]string{o.file}, o.more...))
		if err != nil {
			return nil, err
		}
		return o.open(dir, files)
	}
	return nil, fmt.Errorf("%s holds no record; there are those of %s", dir, strings.Join(Kinds(), ", "))
}

// recordMost bounds what a page carries, so that it can be sent and opened; a record beyond that stays in its folder.
const recordMost = 24 << 20

// readFiles returns those that exist, in order, the largest left out first if they are too many bytes.
func readFiles(dir string, names []string) ([]page.File, error) {
	var out []page.File
	total := 0
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, name), cause.Of(err))
		}
		if total += len(data); total > recordMost {
			break
		}
		out = append(out, page.File{Name: name, Data: data})
	}
	return out, nil
}

func openCompare(dir string, files []page.File) (*page.Page, error) {
	s, err := record.ReadSummary(filepath.Join(dir, record.SummaryFile))
	if err != nil {
		return nil, err
	}
	m, err := record.ReadManifest(filepath.Join(dir, record.ManifestFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return Compare(s, m, files...), nil
}

func openLoad(dir string, files []page.File) (*page.Page, error) {
	l, err := record.ReadLoad(filepath.Join(dir, record.LoadFile))
	if err != nil {
		return nil, err
	}
	return Load(l, files...), nil
}

// KindOf returns which command wrote a record into a folder, and the files that Open would read, of those that the folder has.
// The kind is empty if Open would find no record.
func KindOf(has func(file string) bool) (kind string, files []string) {
	for _, o := range openers {
		if !has(o.file) {
			continue
		}
		for _, name := range append([]string{o.file}, o.more...) {
			if has(name) {
				files = append(files, name)
			}
		}
		return o.kind, files
	}
	return "", nil
}
