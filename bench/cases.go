package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pulley/scenarios"
	"pulley/scenarios/wfformat"
)

// CaseOptions say which workloads are wanted.
type CaseOptions struct {
	Scenarios []string // names; none means all
	Sizes     []string // "10,50,100" for every scenario, or "fanout=10,50" for one; none means its defaults
	Few       bool     // of the default sizes only the two smallest
	Traces    []string // files in WfFormat, each a case of the scenario trace; none means generated ones
	Options   scenarios.Options
}

// Cases builds the workloads. Errors are the user's, a line each.
func Cases(o CaseOptions) ([]Case, error) {
	sizes, err := parseSizes(o.Sizes)
	if err != nil {
		return nil, err
	}
	names := o.Scenarios
	if len(names) == 0 {
		for _, s := range scenarios.All() {
			names = append(names, s.Name)
		}
	}
	for name := range sizes.of {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("sizes for %s: the scenario is not among those that are run (%s)", name, strings.Join(names, ", "))
		}
	}
	if len(o.Traces) > 0 && !slices.Contains(names, traceScenario) {
		return nil, fmt.Errorf("a trace is given, but the scenario %s is not among those that are run", traceScenario)
	}
	var out []Case
	for _, name := range names {
		s, err := scenarios.Find(name)
		if err != nil {
			return nil, err
		}
		if name == traceScenario && len(o.Traces) > 0 {
			traces, err := traceCases(s, o)
			if err != nil {
				return nil, err
			}
			out = append(out, traces...)
			continue
		}
		for _, size := range sizes.forScenario(s, o) {
			w, err := s.Build(size, o.Options)
			if err != nil {
				return nil, err
			}
			out = append(out, Case{Workload: w})
		}
	}
	return out, nil
}

// traceScenario runs traces.
const traceScenario = "trace"

func traceCases(s scenarios.Scenario, o CaseOptions) ([]Case, error) {
	var out []Case
	for _, file := range o.Traces {
		trace, err := wfformat.ReadFile(file, wfformat.Limits{})
		if err != nil {
			return nil, err
		}
		opts := o.Options
		opts.Trace = trace
		w, err := s.Build(len(trace.Tasks), opts)
		if err != nil {
			return nil, err
		}
		out = append(out, Case{Workload: w, Source: file})
	}
	return out, nil
}

// sizes are those that were asked for: of one scenario, or of all others.
type sizes struct {
	all []int
	of  map[string][]int
}

func (s sizes) forScenario(sc scenarios.Scenario, o CaseOptions) []int {
	switch {
	case s.of[sc.Name] != nil:
		return s.of[sc.Name]
	case s.all != nil:
		return s.all
	}
	list := sc.Sizes(o.Options)
	if o.Few {
		list = list[:min(len(list), fewSizes)]
	}
	return list
}

// fewSizes is how many sizes a scenario has at most where few are wanted: with two, growth can be seen.
const fewSizes = 2

func parseSizes(texts []string) (sizes, error) {
	out := sizes{of: map[string][]int{}}
	for _, text := range texts {
		name, list, named := strings.Cut(text, "=")
		if !named {
			name, list = "", text
		}
		var numbers []int
		for _, part := range strings.Split(list, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(part))
			if err != nil || n < 0 {
				return out, fmt.Errorf("sizes %q: %q is not a size; write whole numbers, as in 10,100 or fanout=10,100", text, part)
			}
			if slices.Contains(numbers, n) {
				return out, fmt.Errorf("sizes %q: %d is there twice", text, n)
			}
			numbers = append(numbers, n)
		}
		have := &out.all
		if named {
			if out.of[name] != nil {
				return out, fmt.Errorf("sizes %q: sizes for %s are there twice", text, name)
			}
			out.of[name] = numbers
			continue
		}
		if *have != nil {
			return out, fmt.Errorf("sizes %q: sizes for all scenarios are there twice; join them with commas", text)
		}
		*have = numbers
	}
	return out, nil
}
