package generate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/internal/nearest"
	"pulley/scenarios/dist"
)

// Kind is a parameter's kind.
type Kind int

// The kinds.
const (
	Number Kind = iota // a whole number
	Law                // a distribution of numbers; each use draws
	Share              // from 0 to 1
	Name               // of an action
)

// Parameter is a shape's parameter.
type Parameter struct {
	Name        string
	Doc         string
	Kind        Kind
	Least, Most int    // of a Number, and of a Law's draws, which are clamped
	Default     string // as text; empty: required
}

// Values are the parameters' values by name, each in the field of its kind.
type Values struct {
	Numbers map[string]int
	Laws    map[string]*dist.Law
	Shares  map[string]float64
	Names   map[string]string
}

// Workflow is what a shape wrote: Source, or Graph with its result.
type Workflow struct {
	Source string // a program

	Graph  *graph.Graph
	Nodes  int
	Result func(start int64) (json.RawMessage, error)
}

// Shape is a family of workflows.
type Shape struct {
	Name       string
	Doc        string // one line
	Parameters []Parameter
	write      func(w *writer) (Workflow, error)
}

// Shapes lists all shapes.
func Shapes() []Shape {
	return []Shape{chain(), fanout(), loop(), spread(), branches(), layered(), diamond()}
}

// Find returns a shape. The error suggests what was meant.
func Find(name string) (Shape, error) {
	var names []string
	for _, s := range Shapes() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if word := nearest.Word(strings.ToLower(name), names); word != "" {
		return Shape{}, fmt.Errorf("there is no shape %q; did you mean %s?", name, word)
	}
	return Shape{}, fmt.Errorf("there is no shape %q; there are %s", name, strings.Join(names, ", "))
}

// Parameter returns a parameter by name.
func (s Shape) Parameter(name string) (Parameter, bool) {
	for _, p := range s.Parameters {
		if p.Name == name {
			return p, true
		}
	}
	return Parameter{}, false
}

// Write writes a workflow. Every parameter without a default needs a value. The error is one line: the workflow exceeds limits.
func (s Shape) Write(values Values, seed uint64, limits ir.Limits) (Workflow, error) {
	w := &writer{shape: s, values: values, limits: limits.WithDefaults(), rand: dist.NewKey().Text("generate").Text(s.Name).Rand(seed)}
	if err := w.defaults(); err != nil {
		return Workflow{}, err
	}
	out, err := s.write(w)
	if err != nil {
		return Workflow{}, err
	}
	if out.Graph == nil {
		if out.Source = w.text.String(); w.over {
			return Workflow{}, fmt.Errorf("the program is over the limit of %d bytes; make it smaller", w.limits.SourceBytes)
		}
	}
	return out, nil
}

type writer struct {
	shape  Shape
	values Values
	limits ir.Limits
	rand   *rand.Rand
	text   strings.Builder
	over   bool
}

func (w *writer) defaults() error {
	v := &w.values
	for _, p := range w.shape.Parameters {
		given := false
		switch p.Kind {
		case Number:
			_, given = v.Numbers[p.Name]
		case Law:
			given = v.Laws[p.Name] != nil
		case Share:
			_, given = v.Shares[p.Name]
		case Name:
			given = v.Names[p.Name] != ""
		}
		if given {
			continue
		}
		if p.Default == "" {
			return fmt.Errorf("the shape %s needs %s: %s", w.shape.Name, p.Name, p.Doc)
		}
		if err := v.set(p); err != nil {
			return err
		}
	}
	return nil
}

func (v *Values) set(p Parameter) error {
	switch p.Kind {
	case Number:
		var n int
		if _, err := fmt.Sscan(p.Default, &n); err != nil {
			return err
		}
		v.Numbers = with(v.Numbers, p.Name, n)
	case Law:
		law, err := dist.Parse(p.Default, dist.Counts, nil)
		if err != nil {
			return err
		}
		v.Laws = with(v.Laws, p.Name, law)
	case Share:
		var share float64
		if _, err := fmt.Sscan(p.Default, &share); err != nil {
			return err
		}
		v.Shares = with(v.Shares, p.Name, share)
	case Name:
		v.Names = with(v.Names, p.Name, p.Default)
	}
	return nil
}

func with[V any](m map[string]V, name string, value V) map[string]V {
	out := map[string]V{name: value}
	for k, v := range m {
		out[k] = v
	}
	return out
}

func (w *writer) number(name string) int    { return w.values.Numbers[name] }
func (w *writer) share(name string) float64 { return w.values.Shares[name] }
func (w *writer) name(name string) string   { return w.values.Names[name] }

func (w *writer) draw(name string) int {
	p, _ := w.shape.Parameter(name)
	return int(min(max(w.values.Laws[name].Draw(w.rand), int64(p.Least)), int64(p.Most)))
}

func (w *writer) line(indent int, format string, args ...any) {
	if w.over {
		return
	}
	for range indent {
		w.text.WriteString("    ")
	}
	fmt.Fprintf(&w.text, format, args...)
	w.text.WriteByte('\n')
	w.over = w.text.Len() > w.limits.SourceBytes
}

// within rejects what limits would reject later, less clearly.
func within(what string, value, bound int) error {
	if value <= bound {
		return nil
	}
	return fmt.Errorf("%s: %d is over the limit of %d; take a smaller size or raise the limit", what, value, bound)
}

var actionParameter = Parameter{Name: "action", Doc: "the action of each step", Kind: Name, Default: "step"}
