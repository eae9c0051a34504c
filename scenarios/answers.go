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

// Answer is the result of an attempt at an action, used instead of running it.
type Answer struct {
	Action  string          `json:"action"`
	Args    json.RawMessage `json:"args"`              // an object
	Attempt int             `json:"attempt"`           // from 1
	Result  json.RawMessage `json:"result,omitempty"`  // if Failure is nil
	Failure *plan.Failure   `json:"failure,omitempty"` // nil: success
}

// Ask runs each call of the workload's program once, as the reference interpreter makes them, and returns the results in the
// order of the calls. The program needs a Source. The error is ctx's, or that the interpreter cannot determine the program's
// end.
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

// Act lets the reference interpreter call the workload's actions: real ones, instantly, or the given Answers.
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

// Possible asks the reference interpreter for all right ends of an instance. The program needs a Source.
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

// NewTable makes a table of answers; the first to a call counts.
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
			var compact bytes.Buffer // a file of answers may be indented
			if err := json.Compact(&compact, a.Result); err != nil {
				return nil, fmt.Errorf("an answer of @%s: %w", a.Action, err)
			}
			a.Result = compact.Bytes()
		}
		t[key] = a
	}
	return t, nil
}

// TypeUnknownCall is the failure of a call without an answer. Calls of the reference interpreter have one.
const TypeUnknownCall = "UnknownCall"

// Answer returns the result of a call. Calls with equal arguments are equal.
func (t Table) Answer(action string, args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure) {
	key, err := Answer{Action: action, Args: args, Attempt: attempt}.key()
	a, known := t[key]
	if err != nil || !known {
		return nil, &plan.Failure{Type: TypeUnknownCall, Message: fmt.Sprintf("attempt %d at @%s with these arguments was not made before", attempt, action)}
	}
	return a.Result, a.Failure
}

// Changed lists the actions with missing or different answers, sorted; nil for none.
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

func (a Answer) sameAs(b Answer) bool {
	if a.Failure != nil || b.Failure != nil {
		return a.Failure != nil && b.Failure != nil && a.Failure.Type == b.Failure.Type && a.Failure.Message == b.Failure.Message
	}
	x, err := expr.Decode(a.Result, expr.Unlimited)
	y, wrong := expr.Decode(b.Result, expr.Unlimited)
	return err == nil && wrong == nil && reference.Same(x, y)
}

func (a Answer) key() (string, error) {
	value, err := expr.Decode(a.Args, expr.Unlimited)
	if err != nil {
		return "", fmt.Errorf("its arguments are no JSON: %w", err)
	}
	return fmt.Sprintf("%s %d %s", a.Action, a.Attempt, reference.Canonical(value)), nil
}
