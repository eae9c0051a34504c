package scenarios

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pulley/internal/nearest"
	"pulley/internal/yamlfile"
)

// usual are the scenarios that are run where none is named, in the order in which they are shown.
var usual = []string{"fanout", "loop", "spread", "chain", "diamond", "pipeline", "trace"}

// shippedNames are the names of the scenarios that ship, the usual ones first.
var shippedNames = sync.OnceValue(func() []string {
	files, err := fs.Glob(shippedFiles, "library/*.yaml")
	if err != nil {
		panic(err) // the pattern is right
	}
	names := slices.Clone(usual)
	for _, file := range files {
		if name := nameOf(file); !slices.Contains(usual, name) {
			names = append(names, name)
		}
	}
	return names
})

// ship reads a scenario that ships.
func ship(name string) Scenario {
	var r yamlfile.Report
	s := decode(libraryFiles(), name+".yaml", nil, &r)
	if err := r.Err(); err != nil {
		panic(err) // the files are part of the program, and a test reads them
	}
	return newScenario(s)
}

// Library lists the scenarios that ship, the usual ones first.
func Library() []Scenario {
	var list []Scenario
	for _, name := range shippedNames() {
		list = append(list, ship(name))
	}
	return list
}

// All lists the scenarios that are run where none is named, in the order in which they are shown.
func All() []Scenario { return Library()[:len(usual)] }

// isFile says whether a scenario is named by its file.
func isFile(name string) bool {
	return isScenario(name) || strings.ContainsAny(name, `/\`)
}

// Find gives a scenario: one that ships by its name, and any other by its file, DIR/NAME.yaml, which is read and checked. The
// error says what was probably meant, and what there is; of a file it is Mistakes of package yamlfile, a line each.
func Find(name string) (Scenario, error) {
	if isFile(name) {
		return Load(name)
	}
	return shipped(name)
}

// shipped gives one that ships.
func shipped(name string) (Scenario, error) {
	names := shippedNames()
	if slices.Contains(names, name) {
		return ship(name), nil
	}
	meant := ""
	if best := nearest.Word(strings.ToLower(name), names); best != "" {
		meant = fmt.Sprintf("; did you mean %s?", best)
	}
	switch file, _, _ := strings.Cut(name, ":"); {
	case strings.HasSuffix(name, ".ir"):
		meant = "; a program is run by a scenario's file that names it, NAME.yaml"
	case strings.HasSuffix(file, ".py"):
		meant = "; pulley compile -o FILE.ir makes a program of a workflow in Python, which a scenario's file names, NAME.yaml"
	}
	return Scenario{}, fmt.Errorf("there is no scenario %q%s (scenarios: %s, or the path of a file NAME.yaml)", name, meant, strings.Join(names, ", "))
}

// Load reads a scenario's file and checks it. All mistakes are told at once.
func Load(file string) (Scenario, error) {
	return load(osFiles(filepath.Dir(file)), filepath.Base(file))
}

func load(f *files, name string) (Scenario, error) {
	if f.dir == "." {
		f.dir = ""
	}
	var r yamlfile.Report
	s := decode(f, name, nil, &r)
	if r.Count() == 0 {
		s.check(&r)
	}
	if err := r.Err(); err != nil {
		return Scenario{}, err
	}
	return newScenario(s), nil
}

// FromBundle makes a scenario of its text, which was checked when it was read from a file.
func FromBundle(b Bundle) (Scenario, error) {
	var r yamlfile.Report
	s := decode(bundled(b), b.Root, nil, &r)
	if err := r.Err(); err != nil {
		return Scenario{}, err
	}
	return newScenario(s), nil
}

// ParseName splits NAME, NAME=SIZE, FILE or FILE=SIZE. Sized is whether there is a size.
func ParseName(text string) (name string, size int, sized bool, err error) {
	at := strings.LastIndexByte(text, '=')
	if at < 0 || isFile(text) && !isFile(text[:at]) || isFile(text[at+1:]) {
		return text, 0, false, nil
	}
	size, err = strconv.Atoi(text[at+1:])
	if err != nil || size < 0 {
		return text[:at], 0, true, fmt.Errorf("scenario %q: %q is no size; write a whole number, as in fanout=10", text, text[at+1:])
	}
	return text[:at], size, true, nil
}
