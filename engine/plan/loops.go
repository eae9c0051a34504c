package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
)

type bounds struct {
	Start, Stop, Step int64
}

func (b bounds) len() int64 {
	switch {
	case b.Step > 0 && b.Start < b.Stop:
		return (b.Stop-b.Start-1)/b.Step + 1
	case b.Step < 0 && b.Start > b.Stop:
		return (b.Start-b.Stop-1)/-b.Step + 1
	}
	return 0
}

// chunkLength is how many elements of a list are stored together: each round of a loop reads and decodes one chunk, never the
// list.
const chunkLength = 16

// chunkSlot returns the slot of a loop's elements around the i-th, or of its bounds. The last part of its scope is no
// iteration, so that the end of a round does not clear it.
func chunkSlot(head *node, path graph.Path, i int) Slot {
	chunk := graph.Path("c" + strconv.Itoa(i/chunkLength))
	if outer := path.Cut(head.Depth - 1); outer != "" {
		chunk = outer + "." + chunk
	}
	return Slot{Var: head.Var, Scope: chunk}
}

// loopInit stores what the loop goes over; later changes of the variables in its expression do not affect the loop.
func (w *walk) loopInit(n *node, s step) {
	if n.expr == nil { // a while has nothing to store
		w.leave(n, s)
		return
	}
	path := s.run.Path
	head := &w.p.nodes[w.p.graph.Out(n.ID)[0].To]
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
		w.set(chunkSlot(head, path, 0), value{raw: raw})
		w.leave(n, s)
		return
	}
	elements, failure := w.elements(n, v)
	if failure != nil {
		w.fail(failure)
		return
	}
	for at := 0; at <= len(elements); at += chunkLength { // the last chunk is not full, and may be empty
		chunk := starlark.NewList(slices.Clone(elements[at:min(at+chunkLength, len(elements))]))
		chunk.Freeze()
		w.set(chunkSlot(head, path, at), value{val: chunk})
	}
	w.leave(n, s)
}

// rangeBounds reads the arguments of a range as Python does, and returns a JSON object, which cannot be mistaken for a list.
func rangeBounds(args expr.Value) (json.RawMessage, error) {
	list := args.(*starlark.List)
	if list.Len() > 3 {
		return nil, fmt.Errorf("range takes one to three ints, not %d", list.Len())
	}
	var numbers [3]int64
	for i := range list.Len() {
		number, ok := list.Index(i).(starlark.Int)
		if !ok {
			return nil, fmt.Errorf("range takes ints, not a %s", list.Index(i).Type())
		}
		small, ok := number.Int64()
		if !ok || small > 1<<53 || small < -1<<53 {
			return nil, fmt.Errorf("range: %s is too large", quoted(number))
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
	return b.encode(), nil
}

// encode writes the bounds by hand, since every round reads them.
func (b bounds) encode() json.RawMessage {
	out := strconv.AppendInt([]byte(`{"from":`), b.Start, 10)
	out = strconv.AppendInt(append(out, `,"to":`...), b.Stop, 10)
	out = strconv.AppendInt(append(out, `,"by":`...), b.Step, 10)
	return append(out, '}')
}

var boundNames = []string{"from", "to", "by"}

func readBounds(raw json.RawMessage) (bounds, error) {
	numbers, err := readInts(raw, boundNames)
	return bounds{Start: numbers[0], Stop: numbers[1], Step: numbers[2]}, err
}

// readInts reads up to three ints of an object. It ignores other keys; missing ones are 0.
func readInts(raw json.RawMessage, names []string) (numbers [3]int64, err error) {
	entries, err := expr.DecodeObject(raw, ir.Limits{}, names)
	if err != nil {
		return numbers, fmt.Errorf("what was kept of it cannot be read: %s", err)
	}
	for _, e := range entries {
		at := slices.Index(names, e.Key)
		if at < 0 {
			continue
		}
		if err := starlark.AsInt(e.Value, &numbers[at]); err != nil {
			return numbers, fmt.Errorf("%s: %w", e.Key, err)
		}
	}
	return numbers, nil
}

// The iteration is the last part of loopHead's path.
func (w *walk) loopHead(n *node, s step) {
	i := s.run.Path.Last()
	more, failure := w.round(n, s.run, i)
	if failure == nil && more && i >= w.p.limits.LoopIterations {
		failure = &Failure{Type: expr.TypeLimit, Message: ir.LimitError(ir.Pos{}, "loop iterations", i+1, w.p.limits.LoopIterations).Msg, Pos: n.Pos}
	}
	if failure != nil {
		w.fail(failure)
		return
	}
	if w.plan.End != nil || len(w.plan.Resumes) > 0 && w.plan.Resumes[len(w.plan.Resumes)-1] == s.run {
		return
	}
	kind := graph.Break
	if more {
		kind = graph.Continue
	}
	for _, e := range w.p.graph.Out(n.ID) {
		if e.Kind == kind {
			w.arrive(n, e, s)
		}
	}
}

// round reports whether there is an iteration i, and binds its element. If the element was not read, the run is resumed.
func (w *walk) round(n *node, run graph.Run, i int) (bool, *Failure) {
	if n.expr != nil {
		v, failure := w.eval(n.expr, run.Path)
		return failure == nil && expr.Truth(v), failure
	}
	if w.p.loopsOverList(n) {
		return w.roundOfList(n, run, i)
	}
	kept := w.values.get(chunkSlot(n, run.Path, 0))
	if !kept.there() {
		return false, lost(n)
	}
	b, err := readBounds(kept.raw)
	if err != nil {
		return false, failureOf(n.Pos, err)
	}
	if int64(i) >= b.len() {
		return false, nil
	}
	w.assign(n.Targets, run.Path, n.Pos, value{val: starlark.MakeInt64(b.Start + int64(i)*b.Step)})
	return true, nil
}

func (w *walk) roundOfList(n *node, run graph.Run, i int) (bool, *Failure) {
	kept := w.values.get(chunkSlot(n, run.Path, i))
	if !kept.there() {
		if w.event == nil || w.event.Fired && w.event.Run == run {
			return false, lost(n)
		}
		w.resume(run)
		return false, nil
	}
	v, err := w.decoded(kept)
	if err != nil {
		return false, failureOf(n.Pos, err)
	}
	list, ok := v.(*starlark.List)
	if !ok {
		return false, lost(n)
	}
	if i > 0 && i%chunkLength == 0 {
		w.set(chunkSlot(n, run.Path, i-1), value{}) // all of the chunk before is done
	}
	if i%chunkLength >= list.Len() {
		return false, nil
	}
	w.assign(n.Targets, run.Path, n.Pos, value{val: list.Index(i % chunkLength)})
	return true, nil
}

func lost(n *node) *Failure {
	return &Failure{Type: expr.TypeExpression, Message: "the loop has lost what it goes over", Pos: n.Pos}
}
