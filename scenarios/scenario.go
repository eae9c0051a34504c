package scenarios

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/internal/nearest"
	"pulley/scenarios/wfformat"
)

// Scenario is a family of workloads of one kind, from small to large.
type Scenario struct {
	Name         string
	Doc          string // what it shows, one line
	SizeMeans    string // what the size counts: "nodes", "iterations"
	DefaultSizes []int  // ascending
	SizeMin      int    // the smallest size that makes sense; the largest follows from the limits

	build func(size int, opts Options) (Workload, error)
}

// Workload is one workflow with its input and its result.
type Workload struct {
	Name     string          // of the scenario; for a trace that was read, "trace:" and the trace's label
	Size     int             // as asked for; for a trace that was read, its number of tasks
	Graph    *graph.Graph    // compiled; shared and immutable
	Source   string          // the program's text; empty where the graph was built in Go
	Input    json.RawMessage // of every instance, an object
	Expected json.RawMessage // result of every instance
	Nodes    int             // node runs of actions that one instance makes, retries not counted
	Actions  []string        // names that must be registered, sorted
	Warnings []string        // of the trace, one line each
}

// Options fits workloads to a purpose. The zero value of a field means its default.
type Options struct {
	Limits ir.Limits // of programs, graphs and values

	LoopIters int // of pipeline: chunks that the items are cut into; at least 1, default 4
	Rounds    int // of spread: rounds of hashing of a light element; at least 1, default 200

	Trace     *wfformat.Trace // of trace: what to run; nil: a generated one
	Shape     wfformat.Shape  // of trace, where it is generated: default Montage
	Seed      uint64          // of trace, where it is generated
	TimeScale float64         // of trace: multiplies run times; zero: no waiting
}

func (o Options) withDefaults() Options {
	o.LoopIters = cmp.Or(o.LoopIters, 4)
	o.Rounds = cmp.Or(o.Rounds, 200)
	o.Shape = cmp.Or(o.Shape, wfformat.Montage)
	return o
}

// Build makes the workload of a size. The error is one line, except where a graph is refused for
// several reasons: then it is one line for each.
func (s Scenario) Build(size int, opts Options) (Workload, error) {
	if size < s.SizeMin {
		return Workload{}, s.refuse(size, "the smallest size is %d (%s)", s.SizeMin, s.SizeMeans)
	}
	if opts.LoopIters < 0 || opts.Rounds < 0 {
		return Workload{}, s.refuse(size, "loop iterations and rounds must be at least 1")
	}
	w, err := s.build(size, opts.withDefaults())
	if err != nil {
		return Workload{}, s.refuse(size, "%w", err)
	}
	if w.Name == "" {
		w.Name, w.Size = s.Name, size
	}
	w.Actions = actions(w.Graph)
	return w, nil
}

func (s Scenario) refuse(size int, format string, args ...any) error {
	return fmt.Errorf("%s: size %d: "+format, append([]any{s.Name, size}, args...)...)
}

// Sizes gives the sizes to run where none are asked for.
func (s Scenario) Sizes(opts Options) []int {
	if s.Name == traceName && opts.Trace != nil {
		return []int{len(opts.Trace.Tasks)}
	}
	return slices.Clone(s.DefaultSizes)
}

// All lists the scenarios in the order in which they are shown.
func All() []Scenario {
	return []Scenario{fanout(), loop(), spread(), chain(), diamond(), pipeline(), trace()}
}

// Find gives the scenario of a name. The error says what was probably meant, and what there is.
func Find(name string) (Scenario, error) {
	var names []string
	for _, s := range All() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	meant := ""
	if best := nearest.Word(strings.ToLower(name), names); best != "" {
		meant = fmt.Sprintf("; did you mean %s?", best)
	}
	return Scenario{}, fmt.Errorf("there is no scenario %q%s (scenarios: %s)", name, meant, strings.Join(names, ", "))
}

// actions lists the names of a graph's actions.
func actions(g *graph.Graph) []string {
	var names []string
	for _, n := range g.Nodes {
		if n.Kind == graph.Action {
			names = append(names, n.Action)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// within refuses what a workflow's limits would stop only while it runs.
func within(what string, value, bound int) error {
	if value <= bound {
		return nil
	}
	return fmt.Errorf("%s: %d is over the limit of %d; take a smaller size or raise the limit", what, value, bound)
}
