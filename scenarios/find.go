package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pulley/engine/ir"
	"pulley/internal/nearest"
	"pulley/internal/yamlfile"
	"pulley/scenarios/template"
)

var usual = []string{"fanout", "loop", "spread", "chain", "diamond", "pipeline", "trace"}

// shippedNames have the usual ones first.
var shippedNames = sync.OnceValue(func() []string {
	files, err := fs.Glob(shippedFiles, "library/*.yaml")
	if err != nil {
		panic(err)
	}
	names := slices.Clone(usual)
	for _, file := range files {
		if name := nameOf(file); !slices.Contains(usual, name) {
			names = append(names, name)
		}
	}
	return names
})

func ship(name string) Scenario {
	var r yamlfile.Report
	s := decode(libraryFiles(), name+".yaml", nil, &r)
	if err := r.Err(); err != nil {
		panic(err) // the files are embedded and tested
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

// All lists the default scenarios, in display order.
func All() []Scenario { return Library()[:len(usual)] }

func isFile(name string) bool {
	return isScenario(name) || IsProgram(name) || strings.ContainsAny(name, `/\`)
}

// Find returns a scenario: one that ships by its name, any other by its file, DIR/NAME.yaml, which it reads and checks, or by
// its program, FILE.ir, which then has no input. The error suggests what was meant and lists the choices; for a file it is
// yamlfile.Mistakes, one per line.
func Find(name string) (Scenario, error) {
	switch {
	case IsProgram(name):
		return OfProgram(name, nil)
	case isFile(name):
		return Load(name)
	}
	return shipped(name)
}

func shipped(name string) (Scenario, error) {
	names := shippedNames()
	if slices.Contains(names, name) {
		return ship(name), nil
	}
	if file, _, _ := strings.Cut(name, ":"); strings.HasSuffix(file, ".py") {
		return Scenario{}, fmt.Errorf("%s is no scenario: a workflow in Python becomes one as a program, which pulley compile %s --out FILE.ir makes", name, name)
	}
	return Scenario{}, &nearest.Unknown{Kind: "scenario", Name: name, Known: names}
}

// Load reads and checks a scenario's file. It reports all mistakes at once.
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

// ParseName splits NAME, NAME=SIZE, FILE or FILE=SIZE. sized: there is a size.
func ParseName(text string) (name string, size int, sized bool, err error) {
	name, sizes, err := ParseSizes(text)
	switch {
	case err != nil || sizes == nil:
		return name, 0, sizes != nil, err
	case len(sizes) > 1:
		return name, 0, true, fmt.Errorf("scenario %q: here is one size; write %s=%d", text, name, sizes[0])
	}
	return name, sizes[0], true, nil
}

// ParseSizes splits NAME, NAME=SIZE, NAME=SIZE,SIZE and so on, where NAME may be a file's.
func ParseSizes(text string) (name string, sizes []int, err error) {
	at := strings.LastIndexByte(text, '=')
	if at < 0 || isFile(text) && !isFile(text[:at]) || isFile(text[at+1:]) {
		return text, nil, nil
	}
	for word := range strings.SplitSeq(text[at+1:], ",") {
		size, err := strconv.Atoi(word)
		switch {
		case err != nil || size < 0:
			return text[:at], []int{}, fmt.Errorf("scenario %q: %q is no size; write a whole number, as in fanout=10", text, word)
		case slices.Contains(sizes, size):
			return text[:at], []int{}, fmt.Errorf("scenario %q: the size %d is there twice; write it once", text, size)
		}
		sizes = append(sizes, size)
	}
	return text[:at], sizes, nil
}

// IsProgram reports whether a name is that of a program's file, FILE.ir.
func IsProgram(name string) bool { return strings.HasSuffix(name, ".ir") }

// OfProgram makes a scenario of one size of a program's file, FILE.ir, and its input, a JSON object; nil: {}. Its actions are
// the built-in ones, and the reference interpreter gives the right result. The error lists all mistakes, one per line.
func OfProgram(file string, input json.RawMessage) (Scenario, error) {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	inputs, err := literals(input)
	if err != nil {
		return Scenario{}, fmt.Errorf("the input of %s: %w", file, err)
	}
	files := osFiles(filepath.Dir(file))
	program := filepath.Base(file)
	if _, err := files.read(program, ir.Limits{}.WithDefaults().SourceBytes); err != nil {
		return Scenario{}, fmt.Errorf("%w; name a file that can be read", err)
	}
	root := strings.TrimSuffix(program, ".ir") + ".yaml"
	files.seen[root] = fmt.Sprintf("about: %s\nprogram: %s\ninput: %s\n", strconv.Quote("the program "+program), strconv.Quote(program), inputs)
	s, err := load(files, root)
	if mistakes, are := err.(yamlfile.Mistakes); are {
		for _, m := range mistakes { // the user has not seen the scenario's file
			if m.Pos.File == files.display(root) {
				m.Pos = ir.Pos{File: files.display(program), Line: 1, Col: 1}
			}
		}
		return Scenario{}, mistakes
	}
	if err == nil {
		s.spec.program = program
	}
	return s, err
}

// literals escapes texts like expressions in a JSON object for a scenario's file.
func literals(input json.RawMessage) (string, error) {
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	var value map[string]any
	if err := d.Decode(&value); err != nil {
		return "", err
	}
	var quote func(v any) any
	quote = func(v any) any {
		switch v := v.(type) {
		case string:
			if _, is := template.IsExpression(v); is {
				text, _ := json.Marshal(v) // a string can be encoded
				return "= " + string(text)
			}
		case []any:
			for i := range v {
				v[i] = quote(v[i])
			}
		case map[string]any:
			for name := range v {
				v[name] = quote(v[name])
			}
		}
		return v
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(quote(value))
	return strings.TrimSpace(b.String()), err
}
