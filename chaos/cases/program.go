package cases

import (
	"encoding/json"
	"fmt"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/scenarios"
)

// Program is a workflow of a person's own whose actions each engine runs in processes that it starts.
type Program struct {
	File  string          `json:"file"`  // that the actions are in; an absolute path, since a case is read anywhere
	Text  string          `json:"text"`  // in the workflow language
	Input json.RawMessage `json:"input"` // of every instance

	// Answers are what the actions gave when the reference interpreter asked for them, before anything went wrong. Whoever only
	// runs the program needs none.
	Answers []scenarios.Answer `json:"answers,omitempty"`

	// Unsteady are actions that gave something else when they were asked again. Where there is one, nobody knows what actions
	// receive and how an instance ends, and these two are not judged.
	Unsteady []string `json:"unsteady,omitempty"`
}

// workload builds that of the program.
func (p *Program) workload(name string) (*scenarios.Mix, error) {
	g, err := graph.CompileText(name, []byte(p.Text), ir.Limits{})
	if err != nil {
		return nil, err
	}
	return scenarios.Alone(scenarios.Workload{
		Name: name, Size: 1, Graph: g, Source: p.Text, Input: p.Input, Actions: g.Actions(), Answers: p.Answers,
	}), nil
}

// doubt says what is not judged of a program, in one line; "" where all is.
func (p *Program) doubt(name string) string {
	if len(p.Unsteady) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: asked twice, @%s gave different values; how its instances end, and what its actions receive, was compared with nothing", name, strings.Join(p.Unsteady, ", @"))
}

// Doubts are what is not judged of the case's programs, a line each.
func (c Case) Doubts() []string {
	var all []string
	for _, w := range c.Workloads {
		if w.Program == nil {
			continue
		}
		if text := w.Program.doubt(w.Scenario); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// HasPrograms says whether engines run actions in processes of their own.
func (c Case) HasPrograms() bool {
	for _, w := range c.Workloads {
		if w.Program != nil {
			return true
		}
	}
	return false
}

// ForEngines is what engines are told of the case: neither its faults, nor what its programs' actions give.
func (c Case) ForEngines() Case {
	c.Faults = nil
	workloads := make([]Workload, len(c.Workloads))
	for i, w := range c.Workloads {
		if w.Program != nil {
			without := *w.Program
			without.Answers = nil
			w.Program = &without
		}
		workloads[i] = w
	}
	c.Workloads = workloads
	return c
}
