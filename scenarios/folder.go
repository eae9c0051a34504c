package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Text is a file of a scenario.
type Text struct {
	Name string // as the scenario's file names it
	Text string
}

// Texts are the scenario's file, followed by every file that it names, by name.
func (s Scenario) Texts() []Text {
	var list []Text
	for _, name := range s.spec.names() {
		called := name
		if s.spec.files.ships {
			called = path.Base(name)
		}
		list = append(list, Text{called, s.spec.files.seen[name]})
	}
	return list
}

func (s *spec) names() []string {
	list := []string{s.file}
	for _, name := range slices.Sorted(maps.Keys(s.files.seen)) {
		if name != s.file {
			list = append(list, name)
		}
	}
	return list
}

// Export returns the scenario's files for one folder: those from elsewhere get new names, and references are changed.
func (s Scenario) Export() ([]Text, error) {
	f := s.spec.files
	flat := map[string]string{}
	taken := map[string]bool{}
	for _, name := range s.spec.names() {
		flat[name] = newName(path.Base(filepath.ToSlash(name)), taken)
	}
	out := Bundle{Root: flat[s.spec.file], Files: map[string]string{}}
	for name, text := range f.seen {
		if isScenario(name) {
			text = renamed(name, text, flat)
		}
		out.Files[flat[name]] = text
	}
	again, err := FromBundle(out) // fails on an unchanged reference
	if err != nil {
		return nil, fmt.Errorf("%s names files in a way that cannot be changed; copy its folder instead: %w", s.Name, err)
	}
	return again.Texts(), nil
}

func isScenario(file string) bool {
	ending := strings.ToLower(path.Ext(file))
	return ending == ".yaml" || ending == ".yml"
}

func newName(base string, taken map[string]bool) string {
	name, ending := strings.TrimSuffix(base, path.Ext(base)), path.Ext(base)
	for n := 2; taken[base]; n++ {
		base = fmt.Sprintf("%s-%d%s", name, n, ending)
	}
	taken[base] = true
	return base
}

// renamed changes the file names in a scenario's file. Longer names come first, and unchanged ones are included, so that no
// name is changed within another.
func renamed(file, text string, flat map[string]string) string {
	called := map[string]string{}
	for name, to := range flat {
		if filepath.IsAbs(name) {
			called[name] = to
		}
		if rel, err := filepath.Rel(path.Dir(file), name); err == nil {
			called[filepath.ToSlash(rel)] = to
		}
	}
	var pairs []string
	for _, name := range slices.SortedFunc(maps.Keys(called), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) {
		pairs = append(pairs, name, called[name])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
