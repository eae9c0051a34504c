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

// Workload is a program with what the reference interpreter says of it. Many worlds share it, one after the other.
type Workload struct {
	programs.Program
	definition      json.RawMessage // of the graph; nil: the source is
	graph           *graph.Graph
	Compiled        *plan.Program
	outcomes        []reference.Outcome
	actions         *behaviour.Actions
	scenario        *scenarios.Bundle  // that describes the actions; nil: they need no description
	recordedAnswers []scenarios.Answer // that the actions have given before; nil: they are run

	answers map[string]answer // of actions, by what they were asked
	table   scenarios.Table   // of answers that are given; nil: none is
	calls   map[string]int    // what actions may be asked, canonically, and the most attempts
	mayFail map[string]bool   // whether they may, by what they were asked
	ends    map[string]string // how an end differs from all outcomes, by the end
	begin   *plan.Plan        // of an instance; nil: it was not asked for yet
}

// answer is what an action gives.
type answer struct {
	result  json.RawMessage
	failure *plan.Failure
}

// errUndecided says that the reference interpreter does not decide how a program ends.
var errUndecided = errors.New("cases: the reference interpreter does not decide how the program ends")

// outcomesMax is how many runs of the reference are tried.
const outcomesMax = 100

// Prepare compiles a case's program, whose actions a scenario describes if there is one, and asks the reference interpreter.
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

// compile makes the program ready to run.
func (w *Workload) compile() error {
	compiled, err := plan.Compile(w.graph)
	if err != nil {
		return fmt.Errorf("cases: the program: %w", err)
	}
	w.Compiled = compiled.Remembering()
	return nil
}

// interpreted is the program of a case with what the reference interpreter says of it, not yet compiled.
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
				_ = args.SetKey(starlark.String(a.Name), a.Value) // a new dict takes every string
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

// Start plans the beginning of an instance, once for all.
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

// workOut gives what an attempt comes to that was not asked for before. Where answers are given, only what is wrong with a design,
// or a program that was made smaller, makes a call that has none.
func (w *Workload) workOut(action string, args json.RawMessage, attempt int) (got answer) {
	if w.table != nil {
		got.result, got.failure = w.table.Answer(action, args, attempt)
		return got
	}
	got.result, got.failure = w.actions.Instant().Execute(context.Background(), backend.Task{Action: action, Args: args, Attempt: attempt})
	return got
}

// Act gives what an attempt at an action comes to; each is worked out once.
func (w *Workload) Act(action string, args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure) {
	key := action + string(rune('0'+attempt)) + string(args)
	got, ok := w.answers[key]
	if !ok {
		got = w.workOut(action, args, attempt)
		w.answers[key] = got
	}
	return got.result, got.failure
}

// reference has the interpreter call the same actions.
func (w *Workload) reference() reference.Action {
	return reference.OnJSON(ir.Limits{}, func(name string, args json.RawMessage, attempt int) (json.RawMessage, *reference.Error) {
		result, failure := w.Act(name, args, attempt)
		if failure != nil {
			return nil, &reference.Error{Type: failure.Type, Message: failure.Message}
		}
		return result, nil
	})
}

// Expects says whether the reference interpreter makes a call, in some outcome and with so many attempts (I4).
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

// Differs says how an end differs from every one that the reference interpreter gives; "" where it agrees with one (I7).
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
