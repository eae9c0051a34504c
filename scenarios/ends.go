package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"pulley/engine/backend"
	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/reference"
	"pulley/engine/worker"
	"pulley/scenarios/behaviour"
	"pulley/scenarios/template"
	"pulley/scenarios/wfformat"
)

// outcomesMax bounds the reference's runs for one workload.
const outcomesMax = 100

// interpreter is a program's reference. Nil: the graph was built in Go.
type interpreter struct {
	*reference.Interpreter
	act    reference.Action
	limits ir.Limits
}

func (b *building) interpreter(f flow) (*interpreter, error) {
	if f.tree == nil || b.opts.Unjudged {
		return nil, nil
	}
	compiled, err := reference.NewInterpreter(f.tree, b.opts.Limits)
	if err != nil {
		return nil, err
	}
	return &interpreter{compiled, Act(b.actions, b.opts.Limits), b.opts.Limits}, nil
}

// Act lets the reference interpreter call actions instantly.
func Act(actions *behaviour.Actions, limits ir.Limits) reference.Action {
	return reference.OnJSON(limits, func(name string, args json.RawMessage, attempt int) (json.RawMessage, *reference.Error) {
		return inReference(actions.Instant().Execute(context.Background(), backend.Task{Action: name, Args: args, Attempt: attempt}))
	})
}

func (b *building) judge(w *Workload, f flow, reference *interpreter, env template.Env, variant int) error {
	if b.expect.result != nil && b.expect.nodes != nil && f.tree != nil && !b.verify {
		return b.believe(w, env)
	}
	var err error
	switch {
	case reference != nil:
		err = b.interpret(w, reference, variant)
	case f.trace != nil:
		err = b.judgeTrace(w, f.trace)
	default:
		err = b.judgeGraph(w, f)
	}
	if err != nil {
		return err
	}
	if len(w.Ends) == 1 && w.Ends[0].Status == completed {
		w.Expected = w.Ends[0].Result
	}
	return b.compare(w, env, variant)
}

const (
	completed = reference.Completed
	failed    = reference.Failed
)

func (b *building) believe(w *Workload, env template.Env) error {
	result, err := b.expect.result.Eval(env)
	if err != nil {
		return err
	}
	if w.Expected, err = expr.Encode(result); err != nil {
		return err
	}
	w.Ends = []reference.End{{Status: completed, Result: w.Expected}}
	w.Nodes, err = b.expect.nodes.Int(env, "nodes", 0, sizeMax)
	return err
}

func (b *building) interpret(w *Workload, in *interpreter, variant int) error {
	outcomes, all := in.Possible(w.Input, in.act, reference.Options{Limits: in.limits, StepsMax: b.steps}, outcomesMax)
	if !all && !b.unchecked.Results {
		return ir.Errorf(b.body.position(), "there are more than %d ways in which an instance may rightly end; catch errors where they arise, or leave results out of checks", outcomesMax)
	}
	fewest := -1
	for _, o := range outcomes {
		if err := b.sensible(o, variant); err != nil {
			return err
		}
		least, most := nodeRuns(o)
		w.Nodes = max(w.Nodes, most)
		if fewest < 0 || least < fewest {
			fewest = least
		}
		end := reference.End{Status: o.Status, Error: o.Error}
		if o.Status == completed {
			var err error
			if end.Result, err = expr.Encode(o.Result); err != nil {
				return err
			}
		}
		w.Ends = append(w.Ends, end)
	}
	w.Optional = w.Nodes - fewest
	return nil
}

// nodeRuns counts first attempts; those that an engine may omit count only in most.
func nodeRuns(o reference.Outcome) (least, most int) {
	for _, c := range o.Calls {
		if c.Attempt != 1 {
			continue
		}
		most++
		if !c.Optional {
			least++
		}
	}
	return least, most
}

var errUndecided = errors.New("the reference interpreter takes more steps than it may; expect a result and a number of nodes, or take a smaller size")

// mistaken errors are mistakes of a scenario unless it expects them.
var mistaken = []string{
	reference.TypeExpression, reference.TypeLimit, reference.TypeResult, reference.TypeProgram, reference.TypeInput,
	worker.TypeArgument, worker.TypeUnknownAction, worker.TypePanic,
}

func (b *building) sensible(o reference.Outcome, variant int) error {
	switch {
	case o.Status == completed:
		return nil
	case o.Status == reference.Undecided:
		return errUndecided
	case o.Status == failed && b.expect.failure != nil:
		return nil
	case o.Status == failed && !slices.Contains(mistaken, o.Error.Type):
		return nil
	}
	told := *o.Error
	told.Pos = ir.Pos{}
	pos := o.Error.Pos
	if pos.Line == 0 {
		pos = b.body.position()
	}
	return ir.Errorf(pos, "%sthe instance %s with %s; if that is meant, write expect: {failure: {type: %s}}", b.variantText(variant), o.Status, told.Error(), o.Error.Type)
}

func (b *building) variantText(variant int) string {
	if b.variants == 1 {
		return ""
	}
	return fmt.Sprintf("instance %d: ", variant)
}

func (b *building) judgeGraph(w *Workload, f flow) error {
	for _, d := range b.spec.actions {
		if len(d.Fails) > 0 && slices.Contains(w.Actions, d.Name) {
			return ir.Errorf(b.body.position(), "the workflow is a graph and no program, so that nobody knows how it ends when @%s fails; leave fails out", d.Name)
		}
	}
	var input struct {
		Start *int64 `json:"start"`
	}
	if err := json.Unmarshal(w.Input, &input); err != nil || input.Start == nil {
		return ir.Errorf(b.inputPos, "start is a whole number here")
	}
	result, err := f.result(*input.Start)
	if err != nil {
		return err
	}
	w.completes(result, f.nodes)
	return nil
}

func (w *Workload) completes(result json.RawMessage, nodes int) {
	w.Ends = []reference.End{{Status: completed, Result: result}}
	w.Nodes, w.Optional = nodes, 0
}

// judgeTrace determines the ends of a trace: its values, or, if tasks fail randomly, the failure of any of those whose parents
// all complete. There are no retries.
func (b *building) judgeTrace(w *Workload, t *wfformat.Trace) error {
	if d, described := b.actions.Described(wfformat.ActionTask); !described || len(d.Fails) == 0 {
		w.completes(t.Expected(), len(t.Tasks))
		return nil
	}
	seen := map[string]bool{}
	done := make([]bool, len(t.Tasks))
	values := t.Values()
	for _, i := range t.Order() {
		ready := true
		inputs := make([]int64, len(t.Tasks[i].Parents))
		for k, p := range t.Tasks[i].Parents {
			ready = ready && done[p]
			inputs[k] = values[p]
		}
		if !ready {
			continue
		}
		w.Nodes++
		args, err := taskArgs(w.Graph, i)
		if err != nil {
			return err
		}
		_, failed := b.actions.Instant().Execute(context.Background(), backend.Task{Action: wfformat.ActionTask, Args: args(inputs), Attempt: 1})
		if done[i] = failed == nil; done[i] || seen[failed.Type+failed.Message] {
			continue
		}
		seen[failed.Type+failed.Message] = true
		w.Ends = append(w.Ends, reference.End{Status: reference.Failed, Error: &reference.Error{
			Type: failed.Type, Message: failed.Message, Action: wfformat.ActionTask,
		}})
	}
	if w.Optional = w.Nodes - 1; len(w.Ends) == 0 { // one failing task suffices
		w.completes(t.Expected(), len(t.Tasks))
	}
	return nil
}

// taskArgs makes the arguments of a trace's task: those of its node, and its parents' values.
func taskArgs(g *graph.Graph, task int) (func(inputs []int64) json.RawMessage, error) {
	var nodes []*graph.Node
	for _, n := range g.Nodes {
		if n.Kind == graph.Action {
			nodes = append(nodes, n)
		}
	}
	args := map[string]json.RawMessage{}
	for _, a := range nodes[task].Args {
		if a.Name == "inputs" {
			continue
		}
		compiled, err := expr.Compile(a.Value, ir.Limits{})
		if err != nil {
			return nil, err
		}
		value, err := compiled.Eval(nil)
		if err != nil {
			return nil, err
		}
		if args[a.Name], err = expr.Encode(value); err != nil {
			return nil, err
		}
	}
	return func(inputs []int64) json.RawMessage {
		list := make([]starlark.Value, len(inputs))
		for i, v := range inputs {
			list[i] = starlark.MakeInt64(v)
		}
		text, err := expr.Encode(starlark.NewList(list))
		if err != nil {
			return nil // numbers can be encoded
		}
		return fmt.Appendf(nil, `{"id":%s,"seconds":%s,"inputs":%s}`, args["id"], args["seconds"], text)
	}, nil
}

func (b *building) compare(w *Workload, env template.Env, variant int) error {
	e := b.expect
	if e.nodes != nil {
		n, err := e.nodes.Int(env, "nodes", 0, sizeMax)
		switch {
		case err != nil:
			return err
		case n < w.Nodes-w.Optional || n > w.Nodes:
			return ir.Errorf(e.nodes.Pos(), "%sthe file expects %d nodes for size %d, and there are %s", b.variantText(variant), n, b.size, between(w.Nodes-w.Optional, w.Nodes))
		}
	}
	for _, end := range w.Ends {
		if problem := e.differs(end, env); problem != nil {
			return ir.Errorf(problem.Pos, "%s%s, for size %d; the reference interpreter says that it %s", b.variantText(variant), problem.Msg, b.size, end.Describe())
		}
	}
	return nil
}

func (e expectation) differs(end reference.End, env template.Env) *ir.Error {
	switch {
	case e.result != nil:
		want, err := e.result.Eval(env)
		var placed *ir.Error
		if errors.As(err, &placed) {
			return placed
		}
		got, err := expr.Decode(end.Result, expr.Unlimited)
		if end.Status != completed || err != nil || !reference.Same(want, got) {
			return ir.Errorf(e.result.Pos(), "the file expects the result %s", template.Describe(want))
		}
	case e.failure != nil:
		f := e.failure
		if end.Status != failed || f.typ != "" && f.typ != end.Error.Type || f.message != "" && f.message != end.Error.Message || f.action != "" && f.action != end.Error.Action {
			return ir.Errorf(f.pos, "the file expects a failure %s", f)
		}
	}
	return nil
}

func (f *failure) String() string {
	text := "of any type"
	if f.typ != "" {
		text = "of type " + f.typ
	}
	if f.message != "" {
		text += fmt.Sprintf(" with the message %q", f.message)
	}
	if f.action != "" {
		text += " of @" + f.action
	}
	return text
}

func between(least, most int) string {
	if least == most {
		return fmt.Sprint(most)
	}
	return fmt.Sprintf("%d to %d", least, most)
}
