package plan

import (
	"encoding/json"
	"fmt"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
)

// bounds is what a loop over a range keeps instead of its numbers.
type bounds struct {
	Start, Stop, Step int64
}

// len is the number of elements, as Python counts them.
func (b bounds) len() int64 {
	switch {
	case b.Step > 0 && b.Start < b.Stop:
		return (b.Stop-b.Start-1)/b.Step + 1
	case b.Step < 0 && b.Start > b.Stop:
		return (b.Start-b.Stop-1)/-b.Step + 1
	}
	return 0
}

// loopInit keeps what the loop goes over; later changes of the variables in its expression do not
// touch the loop.
func (w *walk) loopInit(n *node, path graph.Path) {
	if n.expr == nil { // a while has nothing to keep
		w.leave(n, path)
		return
	}
	v, failure := w.eval(n.expr, path)
	if failure != nil {
		w.fail(failure)
		return
	}
	if n.ranged {
		raw, err := rangeBounds(v)
		if err != nil {
			w.fail(failureOf(n.Expr.Pos, err))
			return
		}
		w.set(w.p.slot(n.Var, path), value{raw: raw})
		w.leave(n, path)
		return
	}
	elements, failure := w.elements(n, v)
	if failure != nil {
		w.fail(failure)
		return
	}
	if _, isList := v.(*starlark.List); !isList {
		list := starlark.NewList(elements)
		list.Freeze()
		v = list
	}
	w.set(w.p.slot(n.Var, path), value{val: v})
	w.leave(n, path)
}

// rangeBounds reads the arguments of a range as Python does, and gives them as a JSON object: a list
// can never be mistaken for it.
func rangeBounds(args expr.Value) (json.RawMessage, error) {
	list := args.(*starlark.List)
	if list.Len() > 3 {
		return nil, fmt.Errorf("range takes one to three numbers, not %d", list.Len())
	}
	var numbers [3]int64
	for i := range list.Len() {
		number, ok := list.Index(i).(starlark.Int)
		if !ok {
			return nil, fmt.Errorf("range takes ints, not a %s", list.Index(i).Type())
		}
		small, ok := number.Int64()
		if !ok || small > 1<<53 || small < -1<<53 {
			return nil, fmt.Errorf("range: %s is too large", number)
		}
		numbers[i] = small
	}
	b := bounds{Start: numbers[0], Stop: numbers[1], Step: 1}
	switch list.Len() {
	case 1:
		b.Start, b.Stop = 0, numbers[0]
	case 3:
		b.Step = numbers[2]
	}
	if b.Step == 0 {
		return nil, fmt.Errorf("range: a step of 0 leads nowhere")
	}
	return json.Marshal(b)
}

// loopHead starts the next round or leaves the loop. The iteration is the last part of its path.
func (w *walk) loopHead(n *node, path graph.Path) {
	i := path.Last()
	more, failure := w.round(n, path, i)
	if failure == nil && more && i >= w.p.limits.LoopIterations {
		failure = &Failure{Type: expr.TypeLimit, Message: ir.LimitError(ir.Pos{}, "loop iterations", i+1, w.p.limits.LoopIterations).Msg, Pos: n.Pos}
	}
	if failure != nil {
		w.fail(failure)
		return
	}
	if w.plan.End != nil {
		return
	}
	kind := graph.Break
	if more {
		kind = graph.Continue
	}
	for _, e := range w.p.graph.Out(n.ID) {
		if e.Kind == kind {
			w.arrive(n, e, path)
		}
	}
}

// round says whether there is an iteration i, and binds its element.
func (w *walk) round(n *node, path graph.Path, i int) (bool, *Failure) {
	if n.expr != nil {
		v, failure := w.eval(n.expr, path)
		return failure == nil && expr.Truth(v), failure
	}
	kept := w.values[w.p.slot(n.Var, path)]
	if kept != nil && len(kept.raw) > 0 && kept.raw[0] == '{' {
		var b bounds
		if err := json.Unmarshal(kept.raw, &b); err != nil {
			return false, failureOf(n.Pos, err)
		}
		if int64(i) >= b.len() {
			return false, nil
		}
		w.assign(n.Targets, path, n.Pos, value{val: starlark.MakeInt64(b.Start + int64(i)*b.Step)})
		return true, nil
	}
	v, err := w.decoded(kept)
	if err != nil {
		return false, failureOf(n.Pos, err)
	}
	list, ok := v.(*starlark.List)
	if !ok {
		return false, &Failure{Type: expr.TypeExpression, Message: "the loop has lost what it goes over", Pos: n.Pos}
	}
	if i >= list.Len() {
		return false, nil
	}
	w.assign(n.Targets, path, n.Pos, value{val: list.Index(i)})
	return true, nil
}
