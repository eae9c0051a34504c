package named

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pulley/adapter/host"
	"pulley/engine/backend/designs"
	"pulley/internal/nearest"
)

// System is a system as a user names it.
type System struct {
	Name    string   // as the user wrote it, or a design's canonical form
	Command []string // of its adapter
}

// Program begins the names of adapters' programs.
const Program = "pulley-adapter-"

// Missing is the error of a name that no program has.
type Missing struct{ Name string }

func (m *Missing) Error() string {
	return fmt.Sprintf("there is no system %s: no program %s%s is beside pulley or in PATH; build it with make adapters, or with go build -o %s%s . in adapters/%s",
		m.Name, Program, m.Name, Program, m.Name, m.Name)
}

// Parse reads systems, joined by commas: names of designs, names of adapters' programs, and at the end a command that begins with
// exec:, which may have commas of its own.
func Parse(text string) ([]System, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, errSelf(err)
	}
	return parse(text, self, exec.LookPath, nil)
}

// ParsePresent is ParseAll for those that do without systems whose programs are missing.
func ParsePresent(texts []string) (all []System, missing []*Missing, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, errSelf(err)
	}
	for _, text := range texts {
		some, err := parse(text, self, exec.LookPath, func(m *Missing) { missing = append(missing, m) })
		if err != nil {
			return nil, nil, err
		}
		all = append(all, some...)
	}
	return all, missing, nil
}

func errSelf(err error) error {
	return fmt.Errorf("finding this program's own file, which adapters of our own designs run: %w", err)
}

// ParseAll reads several texts, as a flag has them that is given several times.
func ParseAll(texts []string) (all []System, err error) {
	for _, text := range texts {
		some, err := Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// parse has this program's file, and a search in PATH. A system whose program is missing is an error, unless without receives it.
func parse(text, self string, search func(string) (string, error), without func(*Missing)) (all []System, err error) {
	for rest, more := text, true; more; {
		var s System
		if name := strings.TrimSpace(rest); strings.HasPrefix(name, host.CommandPrefix) {
			s.Name, more = name, false
			s.Command, err = host.Command(name)
		} else {
			name, rest, more = strings.Cut(rest, ",")
			s, err = find(strings.TrimSpace(name), self, search)
		}
		var missing *Missing
		if without != nil && errors.As(err, &missing) {
			without(missing)
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// program matches what can be a part of a program's name.
var program = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func find(name, self string, search func(string) (string, error)) (System, error) {
	kind, _, _ := strings.Cut(name, ":")
	switch {
	case name == "":
		return System{}, fmt.Errorf("a system has no name; name designs (%s), adapters, or a command, as in exec:./my-adapter", strings.Join(durable(), ", "))
	case slices.Contains(designs.Names(), kind):
		spec, err := designs.Parse(name)
		if err == nil && !spec.NeedsPostgres() {
			err = fmt.Errorf("the design %s keeps nothing that several processes could share; choose one of %s", spec, strings.Join(durable(), ", "))
		}
		return System{Name: spec.String(), Command: []string{self, "adapter", "serve", spec.String()}}, err
	case strings.ContainsRune(name, filepath.Separator):
		return System{}, fmt.Errorf("%s is no name of a system; write a command as %s%s", name, host.CommandPrefix, name)
	case !program.MatchString(name):
		return System{}, errUnknown(name)
	}
	file := filepath.Join(filepath.Dir(self), Program+name)
	if isProgram(file) {
		return System{Name: name, Command: []string{file}}, nil
	}
	file, err := search(Program + name)
	switch {
	case err == nil:
		return System{Name: name, Command: []string{file}}, nil
	case !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, os.ErrNotExist):
		return System{}, fmt.Errorf("system %s: %w", name, err)
	}
	return System{}, errUnknown(name)
}

func isProgram(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// durable lists the designs that may be named.
func durable() (names []string) {
	for _, d := range designs.Describe() {
		if d.Postgres {
			names = append(names, d.Name)
		}
	}
	return names
}

func errUnknown(name string) error {
	kind, _, _ := strings.Cut(name, ":")
	if word := nearest.Word(kind, durable()); word != "" {
		return fmt.Errorf("there is no system %q, did you mean %q?", name, word)
	}
	if !program.MatchString(name) {
		return fmt.Errorf("there is no system %q; name designs (%s), adapters, or a command, as in exec:./my-adapter", name, strings.Join(durable(), ", "))
	}
	return &Missing{name}
}
