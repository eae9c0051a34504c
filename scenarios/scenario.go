package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pulley/engine/expr"
	"pulley/engine/ir"
	"pulley/internal/yamlfile"
	"pulley/scenarios/arrivals"
	"pulley/scenarios/behaviour"
	"pulley/scenarios/dist"
	"pulley/scenarios/template"
	"pulley/scenarios/wfformat"
)

// Scenario is a family of workloads of one kind, from small to large.
type Scenario struct {
	Name         string
	Doc          string // what it shows, one line
	SizeMeans    string // what the size counts: "nodes", "iterations"
	DefaultSizes []int  // ascending
	SizeMin      int
	SizeMax      int // largest sensible size

	// for measuring commands; zero if the file has none
	Run        RunDefaults
	Arrivals   string            // as text; empty: none
	Arriving   arrivals.Arrivals // Arrivals, parsed; not usable if Arrivals is empty
	Objectives []Objective
	Pressure   Pressure

	spec *spec
}

func newScenario(s *spec) Scenario {
	return Scenario{
		Name: s.name, Doc: s.about, SizeMeans: s.sizes.means, DefaultSizes: s.sizes.list, SizeMin: s.sizes.least, SizeMax: s.sizes.most,
		Run: s.run, Arrivals: s.arrivals, Arriving: s.arriving, Objectives: s.objective, Pressure: s.pressure, spec: s,
	}
}

// Options fits workloads to a purpose. Zero fields have their defaults.
type Options struct {
	Limits ir.Limits // of programs, graphs and values

	// overrides parameters, written as in a scenario's file
	Set map[string]string

	// Seed determines all draws: failures, durations, inputs, generated workflows, the order of mixes.
	Seed uint64

	Trace     *wfformat.Trace // for the scenario trace; nil: a generated one
	Shape     wfformat.Shape  // of a generated trace; empty: the scenario's
	TimeScale float64         // multiplies run times of traces, unless the scenario does; zero: no waiting

	// ignores Pressure.Payload
	Undisturbed bool

	// leaves out what is right: Expected, Ends and the numbers of nodes
	Unjudged bool

	set map[string]expr.Value // Set, parsed; for the parts of a mix
}

// Mix makes the workloads of a size. The error is one line, or several if a graph is rejected for several reasons.
func (s Scenario) Mix(size int, opts Options) (*Mix, error) {
	switch {
	case size < s.SizeMin:
		return nil, s.refuse(size, "the smallest size is %d (%s)", s.SizeMin, s.SizeMeans)
	case size > s.SizeMax && !(opts.Trace != nil && s.takesTrace()):
		return nil, s.refuse(size, "the largest size is %d (%s)", s.SizeMax, s.SizeMeans)
	}
	b, err := s.spec.building(size, opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	m, err := b.mix()
	if err != nil {
		return nil, s.refuse(size, "%w", err)
	}
	return m, nil
}

// Build makes the workload of a size, if all instances run the same one.
func (s Scenario) Build(size int, opts Options) (Workload, error) {
	m, err := s.Mix(size, opts)
	if err != nil {
		return Workload{}, err
	}
	w, single := m.Single()
	if !single {
		return Workload{}, s.refuse(size, "its instances run %d different workloads in turn, and one is wanted here", len(m.Workloads))
	}
	return w, nil
}

func (s Scenario) refuse(size int, format string, args ...any) error {
	return fmt.Errorf("%s: size %d: "+format, append([]any{s.Name, size}, args...)...)
}

func (s Scenario) takesTrace() bool {
	t, is := s.spec.body.(*traceBody)
	return is && t.trace == nil
}

// Sizes returns the default sizes.
func (s Scenario) Sizes(opts Options) []int {
	if opts.Trace != nil && s.takesTrace() {
		return []int{len(opts.Trace.Tasks)}
	}
	return slices.Clone(s.DefaultSizes)
}

// Parameters are the names that Options.Set accepts, in file order, with their values as JSON.
func (s Scenario) Parameters() (names, values []string) {
	for _, p := range s.spec.parameters {
		text, err := expr.Encode(p.value)
		if err != nil {
			text = nil // a Value can always be encoded
		}
		names, values = append(names, p.name), append(values, string(text))
	}
	return names, values
}

// HasParameter reports whether Options.Set accepts a name.
func (s Scenario) HasParameter(name string) bool { return s.spec.hasParameter(name) == nil }

// Actions returns the actions of the scenario's programs for a seed, under its pressure. For a mix it returns those without a
// description: each part has its own.
func (s Scenario) Actions(seed uint64) (*behaviour.Actions, error) {
	return s.spec.describe(seed, s.Pressure.Payload)
}

// Actions without a described size use payload, if not nil.
func (s *spec) describe(seed uint64, payload *dist.Law) (*behaviour.Actions, error) {
	if len(s.actions) == 0 {
		return behaviour.Plain(), nil
	}
	described := slices.Clone(s.actions)
	for i, a := range described {
		if takesPayload(a) {
			described[i].Payload = payload
		}
	}
	return behaviour.New(seed, described...)
}

func takesPayload(a behaviour.Description) bool {
	return a.Payload == nil && !behaviour.Builtin(a.Name)
}

// File is the scenario's file, or its program's, as named; empty if it ships.
func (s Scenario) File() string {
	if s.spec.files.ships {
		return ""
	}
	return s.spec.files.display(cmp.Or(s.spec.program, s.spec.file))
}

// Bundle is the scenario as text; nil if it ships.
func (s Scenario) Bundle() *Bundle {
	if s.spec.files.ships {
		return nil
	}
	return &Bundle{Root: s.spec.file, Files: s.spec.files.seen}
}

func (s *spec) hasParameter(name string) error {
	var names []string
	for _, p := range s.parameters {
		if p.name == name {
			return nil
		}
		names = append(names, p.name)
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has no parameters, and so no %s", s.name, name)
	}
	return fmt.Errorf("%s has no parameter %s; %s", s.name, name, didYouMean(name, names))
}

// ParseSet parses NAME=VALUE texts for Options.Set.
func ParseSet(texts []string) (map[string]string, error) {
	set := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		switch {
		case !ok || name == "":
			return nil, fmt.Errorf("%q sets no parameter; write NAME=VALUE, as in iterations=8", text)
		case set[name] != "":
			return nil, fmt.Errorf("%s is set twice; set it once", name)
		}
		if _, err := settingOf(name, value); err != nil {
			return nil, err
		}
		set[name] = value
	}
	return set, nil
}

func settingOf(name, text string) (expr.Value, error) {
	var r yamlfile.Report
	v := yamlfile.Parse(name, []byte(text), &r)
	if v == nil || r.Count() > 0 {
		return nil, fmt.Errorf("%s=%s: that is no value; write a number or a text, as in %s=8", name, text, name)
	}
	value, err := template.Literal(v)
	if err != nil {
		return nil, fmt.Errorf("%s=%s: that is no value: %w", name, text, err)
	}
	return value, nil
}
