package cases

import (
	"encoding/json"
	"fmt"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/scenarios"
)

// Program is a user's own workflow whose actions run in processes that each engine starts.
type Program struct {
	File  string          `json:"file"`  // with the actions; an absolute path, since a case may be read anywhere
	Text  string          `json:"text"`  // in the workflow language
	Input json.RawMessage `json:"input"` // of every instance

	// Answers are what the actions returned to the reference interpreter before any fault. Only judging needs them.
	Answers []scenarios.Answer `json:"answers,omitempty"`

	// Unsteady are actions that returned something else when called again. If there are any, neither the actions' arguments nor
	// the instances' ends are judged.
	Unsteady []string `json:"unsteady,omitempty"`
}

func (p *Program) workload(name string) (*scenarios.Mix, error) {
	g, err := graph.CompileText(name, []byte(p.Text), ir.Limits{})
	if err != nil {
		return nil, err
	}
	return scenarios.Alone(scenarios.Workload{
		Name: name, Size: 1, Graph: g, Source: p.Text, Input: p.Input, Actions: g.Actions(), Answers: p.Answers,
	}), nil
}

// doubt says in a line what is not judged of the program; "": everything is.
func (p *Program) doubt(name string) string {
	if len(p.Unsteady) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: asked twice, @%s gave different values; how its instances end, and what its actions receive, was compared with nothing", name, strings.Join(p.Unsteady, ", @"))
}

// Doubts lists what is not judged of the case's programs, a line each.
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

// HasPrograms reports whether engines run actions in processes.
func (c Case) HasPrograms() bool {
	for _, w := range c.Workloads {
		if w.Program != nil {
			return true
		}
	}
	return false
}

// ForEngines returns the case without what engines must not know: faults and recorded answers.
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
