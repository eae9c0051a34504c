package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"pulley/engine/backend"
	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/ir/programs"
	"pulley/engine/plan"
	"pulley/engine/reference"
	"pulley/scenarios"
	"pulley/scenarios/behaviour"
)

// Workload is a program with the ends and calls that the reference interpreter allows. Many worlds share it, one after another.
type Workload struct {
	programs.Program
	definition      json.RawMessage // of the graph; nil: the source runs
	graph           *graph.Graph
	Compiled        *plan.Program
	outcomes        []reference.Outcome
	actions         *behaviour.Actions
	scenario        *scenarios.Bundle  // describes the actions; nil: not needed
	recordedAnswers []scenarios.Answer // of the actions; nil: they are executed

	answers map[string]answer // of actions, by call
	table   scenarios.Table   // of recorded answers; nil: none
	calls   map[string]int    // allowed calls in canonical form, with the most attempts
	mayFail map[string]bool   // by call: whether it is allowed
	ends    map[string]string // by end: how it differs from all outcomes
	begin   *plan.Plan        // plan of a start; nil: not made yet
}

type answer struct {
	result  json.RawMessage
	failure *plan.Failure
}

var errUndecided = errors.New("cases: the reference interpreter does not decide how the program ends")

const outcomesMax = 100

// Prepare compiles a case's program and lets the reference interpreter run it.
func Prepare(c Case) (*Workload, error) {
	w, err := interpreted(c)
	if err != nil {
		return nil, err
	}
	if c.Graph != nil {
		if w.graph, err = graph.Decode(c.Graph); err != nil {
			return nil, fmt.Errorf("cases: the graph: %w", err)
		}
		w.definition = c.Graph
	}
	return w, w.compile()
}

func (w *Workload) compile() error {
	compiled, err := plan.Compile(w.graph)
	if err != nil {
		return fmt.Errorf("cases: the program: %w", err)
	}
	w.Compiled = compiled.Remembering()
	return nil
}

// interpreted makes a case's workload, not yet compiled.
func interpreted(c Case) (*Workload, error) {
	p, scenario := c.Program, c.Scenario
	tree, err := ir.Parse("case.ir", []byte(p.Source), ir.Limits{})
	if err != nil {
		return nil, fmt.Errorf("cases: the program: %w", err)
	}
	g, err := graph.Compile(tree, ir.Limits{})
	if err != nil {
		return nil, fmt.Errorf("cases: the program: %w", err)
	}
	w := &Workload{
		Program: p, graph: g, actions: behaviour.Plain(), scenario: scenario, recordedAnswers: c.Answers, answers: map[string]answer{}, calls: map[string]int{}, mayFail: map[string]bool{}, ends: map[string]string{},
	}
	if scenario != nil {
		s, err := scenarios.FromBundle(*scenario)
		if err != nil {
			return nil, fmt.Errorf("cases: the scenario: %w", err)
		}
		if w.actions, err = s.Actions(0); err != nil {
			return nil, fmt.Errorf("cases: the scenario: %w", err)
		}
	}
	if c.Answers != nil {
		if w.table, err = scenarios.NewTable(c.Answers); err != nil {
			return nil, fmt.Errorf("cases: the answers: %w", err)
		}
	} else if err := w.actions.Instant().Check(g); err != nil {
		return nil, fmt.Errorf("cases: the program: %w", err)
	}
	interpreter, err := reference.NewInterpreter(tree, ir.Limits{})
	if err != nil {
		return nil, fmt.Errorf("cases: the program: %w", err)
	}
	outcomes, all := interpreter.Possible(p.Input, w.reference(), reference.Options{StepsMax: 100_000}, outcomesMax)
	if !all || outcomes[0].Status != reference.Completed && outcomes[0].Status != reference.Failed {
		return nil, errUndecided
	}
	w.outcomes = outcomes
	for _, o := range outcomes {
		for _, c := range o.Calls {
			args := starlark.NewDict(len(c.Args))
			for _, a := range c.Args {
				_ = args.SetKey(starlark.String(a.Name), a.Value) // a new dict accepts every string
			}
			key := callKey(c.Action, c.Path, args)
			w.calls[key] = max(w.calls[key], c.Attempt)
		}
	}
	return w, nil
}

func callKey(action, path string, args expr.Value) string {
	return action + "\n" + path + "\n" + reference.Canonical(args)
}

// Start returns the plan of an instance's start.
func (w *Workload) Start() (*plan.Plan, error) {
	if w.begin == nil {
		p, err := w.Compiled.Start(w.Input)
		if err != nil {
			return nil, err
		}
		w.begin = &p
	}
	return w.begin, nil
}

// workOut executes an attempt. With recorded answers, only a defect or a shrunk program makes a call that has none.
func (w *Workload) workOut(action string, args json.RawMessage, attempt int) (got answer) {
	if w.table != nil {
		got.result, got.failure = w.table.Answer(action, args, attempt)
		return got
	}
	got.result, got.failure = w.actions.Instant().Execute(context.Background(), backend.Task{Action: action, Args: args, Attempt: attempt})
	return got
}

// Act returns the result of an attempt; each is worked out once.
func (w *Workload) Act(action string, args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure) {
	key := action + string(rune('0'+attempt)) + string(args)
	got, ok := w.answers[key]
	if !ok {
		got = w.workOut(action, args, attempt)
		w.answers[key] = got
	}
	return got.result, got.failure
}

func (w *Workload) reference() reference.Action {
	return reference.OnJSON(ir.Limits{}, func(name string, args json.RawMessage, attempt int) (json.RawMessage, *reference.Error) {
		result, failure := w.Act(name, args, attempt)
		if failure != nil {
			return nil, &reference.Error{Type: failure.Type, Message: failure.Message}
		}
		return result, nil
	})
}

// Expects reports whether the reference interpreter makes this call with so many attempts in some outcome (I4).
func (w *Workload) Expects(action string, path graph.Path, args json.RawMessage, attempt int) bool {
	key := action + "\n" + string(path) + string(rune('0'+attempt)) + string(args)
	ok, known := w.mayFail[key]
	if !known {
		if value, err := expr.Decode(args, ir.Limits{}); err == nil {
			ok = w.calls[callKey(action, string(path), value)] >= attempt
		}
		w.mayFail[key] = ok
	}
	return ok
}

// Differs says how an end differs from every outcome of the reference interpreter; "": it equals one (I7).
func (w *Workload) Differs(status backend.Status, result json.RawMessage, failure *plan.Failure) string {
	var key strings.Builder
	key.WriteString(string(status))
	key.Write(result)
	end := reference.End{Status: reference.Status(status), Result: result}
	if failure != nil {
		key.WriteString(failure.String())
		end.Error = &reference.Error{Type: failure.Type, Message: failure.Message, Action: failure.Action, Pos: failure.Pos}
	}
	text, known := w.ends[key.String()]
	if !known {
		for i, o := range w.outcomes {
			d := o.Differs(end)
			if d == "" {
				text = ""
				break
			}
			if i == 0 {
				text = d
			}
		}
		w.ends[key.String()] = text
	}
	return text
}
