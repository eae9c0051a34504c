package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/expr"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/reference"
)

// Answer is what an attempt at an action came to, for whoever does not run the action again.
type Answer struct {
	Action  string          `json:"action"`
	Args    json.RawMessage `json:"args"`              // an object
	Attempt int             `json:"attempt"`           // from 1
	Result  json.RawMessage `json:"result,omitempty"`  // where Failure is nil
	Failure *plan.Failure   `json:"failure,omitempty"` // nil: the attempt ended well
}

// Ask runs each call of the workload's program once, as the reference interpreter makes them, and gives what came of it, in the
// order of the calls. The program has to have a Source. The error is ctx's, or that the interpreter does not say how the program ends.
func (w *Workload) Ask(ctx context.Context) ([]Answer, error) {
	var given []Answer
	known := map[string]int{}
	act := reference.OnJSON(ir.Limits{}, func(name string, args json.RawMessage, attempt int) (json.RawMessage, *reference.Error) {
		key := fmt.Sprintf("%s %d %s", name, attempt, args)
		i, asked := known[key]
		if !asked {
			a := Answer{Action: name, Args: args, Attempt: attempt}
			a.Result, a.Failure = w.Calls().Instant().Execute(ctx, backend.Task{Action: name, Args: args, Attempt: attempt})
			i, known[key] = len(given), len(given)
			given = append(given, a)
		}
		return inReference(given[i].Result, given[i].Failure)
	})
	_, err := w.possible(act)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return given, err
}

// Act has the reference interpreter call the workload's actions: those that are run, without the time that they take, or those
// whose Answers are given.
func (w *Workload) Act(limits ir.Limits) (reference.Action, error) {
	if w.Answers == nil {
		return Act(w.Calls(), limits), nil
	}
	table, err := NewTable(w.Answers)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.Name, err)
	}
	return reference.OnJSON(limits, func(name string, args json.RawMessage, attempt int) (json.RawMessage, *reference.Error) {
		return inReference(table.Answer(name, args, attempt))
	}), nil
}

func inReference(result json.RawMessage, failed *plan.Failure) (json.RawMessage, *reference.Error) {
	if failed != nil {
		return nil, &reference.Error{Type: failed.Type, Message: failed.Message}
	}
	return result, nil
}

// Possible asks the reference interpreter for all ways in which an instance may rightly end. The program has to have a Source.
func (w *Workload) Possible() ([]reference.Outcome, error) {
	act, err := w.Act(ir.Limits{})
	if err != nil {
		return nil, err
	}
	return w.possible(act)
}

func (w *Workload) possible(act reference.Action) ([]reference.Outcome, error) {
	tree, err := ir.Parse(w.Graph.Name, []byte(w.Source), ir.Limits{})
	if err != nil {
		return nil, err
	}
	interpreter, err := reference.NewInterpreter(tree, ir.Limits{})
	if err != nil {
		return nil, err
	}
	outcomes, all := interpreter.Possible(w.Input, act, reference.Options{}, outcomesMax)
	switch {
	case !all:
		return nil, fmt.Errorf("scenario %s has more than %d outcomes that are right; choose another", w.Name, outcomesMax)
	case outcomes[0].Status == reference.Undecided:
		return nil, fmt.Errorf("scenario %s: %w", w.Name, errUndecided)
	}
	return outcomes, nil
}

// Table finds answers by their calls. It is immutable, and safe for concurrent use.
type Table map[string]Answer

// NewTable makes one of answers, of which the first to a call counts.
func NewTable(given []Answer) (Table, error) {
	t := make(Table, len(given))
	for _, a := range given {
		key, err := a.key()
		if err != nil {
			return nil, fmt.Errorf("an answer of @%s: %w", a.Action, err)
		}
		if _, known := t[key]; known {
			continue
		}
		if a.Failure == nil {
			var compact bytes.Buffer // as the action gave it: a file of answers may be indented
			if err := json.Compact(&compact, a.Result); err != nil {
				return nil, fmt.Errorf("an answer of @%s: %w", a.Action, err)
			}
			a.Result = compact.Bytes()
		}
		t[key] = a
	}
	return t, nil
}

// TypeUnknownCall is how a call fails to which no answer is given. The reference interpreter, for which answers are made, makes none.
const TypeUnknownCall = "UnknownCall"

// Answer gives what a call came to. Calls with equal arguments are the same.
func (t Table) Answer(action string, args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure) {
	key, err := Answer{Action: action, Args: args, Attempt: attempt}.key()
	a, known := t[key]
	if err != nil || !known {
		return nil, &plan.Failure{Type: TypeUnknownCall, Message: fmt.Sprintf("attempt %d at @%s with these arguments was not made before", attempt, action)}
	}
	return a.Result, a.Failure
}

// Changed lists the actions of which an answer is not among others, or differs there, sorted. Nil: there is none.
func Changed(before, after []Answer) ([]string, error) {
	old, err := NewTable(before)
	if err != nil {
		return nil, err
	}
	now, err := NewTable(after)
	if err != nil {
		return nil, err
	}
	changed := map[string]bool{}
	for key, a := range old {
		if b, known := now[key]; !known || !a.sameAs(b) {
			changed[a.Action] = true
		}
	}
	for key, a := range now {
		if _, known := old[key]; !known {
			changed[a.Action] = true
		}
	}
	return slices.Sorted(maps.Keys(changed)), nil
}

// sameAs says whether two answers say the same.
func (a Answer) sameAs(b Answer) bool {
	if a.Failure != nil || b.Failure != nil {
		return a.Failure != nil && b.Failure != nil && a.Failure.Type == b.Failure.Type && a.Failure.Message == b.Failure.Message
	}
	x, err := expr.Decode(a.Result, expr.Unlimited)
	y, wrong := expr.Decode(b.Result, expr.Unlimited)
	return err == nil && wrong == nil && reference.Same(x, y)
}

// key is the same for two calls that ask for the same.
func (a Answer) key() (string, error) {
	value, err := expr.Decode(a.Args, expr.Unlimited)
	if err != nil {
		return "", fmt.Errorf("its arguments are no JSON: %w", err)
	}
	return fmt.Sprintf("%s %d %s", a.Action, a.Attempt, reference.Canonical(value)), nil
}
