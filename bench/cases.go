package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pulley/scenarios"
	"pulley/scenarios/wfformat"
)

// CaseOptions select the workloads to run.
type CaseOptions struct {
	Scenarios   []string // names or files of scenarios, each optionally with =SIZE or =SIZE,SIZE; none: all usual ones
	Sizes       []string // "10,50,100" for every scenario, or "fanout=10,50" for one; none: the defaults
	Few         bool
	Traces      []string        // WfFormat files, each a case of the scenario trace; none: generated ones
	Undisturbed bool            // a case under pressure also runs without it
	Set         []string        // NAME=VALUE, for each scenario with that parameter
	Input       json.RawMessage // of the programs (FILE.ir) among Scenarios; none: {}
	Options     scenarios.Options
}

func find(name string, input json.RawMessage) (scenarios.Scenario, error) {
	if scenarios.IsProgram(name) {
		return scenarios.OfProgram(name, input)
	}
	return scenarios.Find(name)
}

// Cases builds the workloads. Errors are the user's, one line each.
func Cases(o CaseOptions) ([]Case, error) {
	sizes, err := parseSizes(o.Sizes)
	if err != nil {
		return nil, err
	}
	wanted, err := sizes.wanted(o.Scenarios, o.Input)
	if err != nil {
		return nil, err
	}
	if len(o.Traces) > 0 && !slices.ContainsFunc(wanted, func(w expectedScenario) bool { return w.Name == traceScenario }) {
		return nil, fmt.Errorf("a trace is given, but the scenario %s is not among those that are run", traceScenario)
	}
	set, err := scenarios.ParseSet(o.Set)
	if err != nil {
		return nil, err
	}
	if err := anyHas(wanted, set); err != nil {
		return nil, err
	}
	var out []Case
	for _, w := range wanted {
		opts := o.Options
		opts.Set = maps.Clone(set)
		maps.DeleteFunc(opts.Set, func(name, _ string) bool { return !w.HasParameter(name) })
		if w.Name == traceScenario && w.File() == "" && len(o.Traces) > 0 {
			traces, err := traceCases(w.Scenario, o.Traces, opts)
			if err != nil {
				return nil, err
			}
			out = append(out, traces...)
			continue
		}
		for _, size := range sizes.forScenario(w, o, opts) {
			m, err := w.Mix(size, opts)
			if err != nil {
				return nil, err
			}
			k := CaseOf(m, w.File())
			k.Pressure, k.Run, k.Arriving, k.Objectives = w.Pressure, w.Run, w.Arriving, w.Objectives
			if o.Undisturbed && !k.Pressure.None() {
				duplicate := opts
				duplicate.Undisturbed = true
				if m, err = w.Mix(size, duplicate); err != nil {
					return nil, err
				}
				out = append(out, k.undisturbed(m))
			}
			out = append(out, k)
		}
	}
	return out, nil
}

// CaseOf makes a case of a mix. source is its file; empty: the mix ships.
func CaseOf(m *scenarios.Mix, source string) Case {
	k := Case{Workload: *m.Of(0), Source: source}
	k.Workload.Name, k.Workload.Size, k.Workload.Warnings = m.Name, m.Size, m.Warnings()
	if len(m.Workloads) > 1 {
		k.Mix, k.Workload.Nodes, k.Workload.Optional = m, m.Mean(), 0
	}
	return k
}

// undisturbed returns the case without its pressure and under its own name. A relay for distance stays.
func (c Case) undisturbed(m *scenarios.Mix) Case {
	m.Name += undisturbedSuffix
	duplicate := CaseOf(m, c.Source)
	duplicate.Run, duplicate.Arriving, duplicate.Objectives = c.Run, c.Arriving, c.Objectives
	duplicate.Pressure = scenarios.Pressure{Relayed: c.Pressure.RoundTrip > 0}
	return duplicate
}

const undisturbedSuffix = "-undisturbed"

type expectedScenario struct {
	scenarios.Scenario
	word  string // as the user wrote it
	sizes []int
}

func (s sizes) wanted(words []string, input json.RawMessage) ([]expectedScenario, error) {
	if len(words) == 0 {
		for _, all := range scenarios.All() {
			words = append(words, all.Name)
		}
	}
	var out []expectedScenario
	at := map[string]int{}
	for _, word := range words {
		name, named, err := scenarios.ParseSizes(word)
		if err != nil {
			return nil, err
		}
		found, err := find(name, input)
		if err != nil {
			return nil, err
		}
		i, known := at[found.Name]
		switch {
		case known && (out[i].File() != found.File() || named == nil || out[i].sizes == nil):
			return nil, fmt.Errorf("two scenarios are called %s: %s and %s; leave one out, or give its file another name", found.Name, out[i].word, word)
		case !known:
			i = len(out)
			at[found.Name], out = i, append(out, expectedScenario{Scenario: found, word: name})
		}
		out[i].sizes = append(out[i].sizes, named...)
	}
	for name := range s.of {
		if !slices.ContainsFunc(out, func(w expectedScenario) bool { return w.Name == name || w.word == name }) {
			return nil, fmt.Errorf("sizes for %s: the scenario is not among those that are run (%s)", name, strings.Join(words, ", "))
		}
	}
	return out, nil
}

func anyHas(wanted []expectedScenario, set map[string]string) error {
	for name := range set {
		if slices.ContainsFunc(wanted, func(w expectedScenario) bool { return w.HasParameter(name) }) {
			continue
		}
		var all []string
		for _, w := range wanted {
			names, _ := w.Parameters()
			all = append(all, names...)
		}
		if len(all) == 0 {
			return fmt.Errorf("--set %s: none of the scenarios has parameters", name)
		}
		return fmt.Errorf("--set %s: none of the scenarios has such a parameter; there are %s", name, strings.Join(all, ", "))
	}
	return nil
}

const traceScenario = "trace"

func traceCases(s scenarios.Scenario, files []string, opts scenarios.Options) ([]Case, error) {
	var out []Case
	for _, file := range files {
		trace, err := wfformat.ReadFile(file, wfformat.Limits{})
		if err != nil {
			return nil, err
		}
		opts.Trace = trace
		m, err := s.Mix(len(trace.Tasks), opts)
		if err != nil {
			return nil, err
		}
		out = append(out, CaseOf(m, file))
	}
	return out, nil
}

type sizes struct {
	all []int
	of  map[string][]int
}

func (s sizes) forScenario(w expectedScenario, o CaseOptions, opts scenarios.Options) []int {
	switch {
	case w.sizes != nil:
		return w.sizes
	case s.of[w.word] != nil:
		return s.of[w.word]
	case s.of[w.Name] != nil:
		return s.of[w.Name]
	case s.all != nil:
		return s.all
	}
	list := w.Sizes(opts)
	if o.Few {
		list = list[:min(len(list), fewSizes)]
	}
	return list
}

// Two sizes show growth.
const fewSizes = 2

func parseSizes(texts []string) (sizes, error) {
	out := sizes{of: map[string][]int{}}
	for _, text := range texts {
		name, list, named := "", text, false
		if at := strings.LastIndexByte(text, '='); at >= 0 {
			name, list, named = text[:at], text[at+1:], true
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
