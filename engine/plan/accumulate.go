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

type pending struct {
	slot  Slot
	index int
	val   expr.Value
	pos   ir.Pos
}

// length is all that an append must know of an accumulator: of a list, its size and how many values were appended since it was
// written whole; of anything else the type, for the error. The accumulator's Length variable holds it.
type length struct {
	Appended int
	Bytes    int
	Type     string // unless it is a list
}

var lengthNames = []string{"n", "b"}

// encode writes a JSON object, or a string if it is no list. It is written by hand: each round of a loop that appends reads and
// writes one.
func (l length) encode() json.RawMessage {
	if l.Type != "" {
		return json.RawMessage(strconv.Quote(l.Type))
	}
	out := strconv.AppendInt([]byte(`{"n":`), int64(l.Appended), 10)
	return append(strconv.AppendInt(append(out, `,"b":`...), int64(l.Bytes), 10), '}')
}

func readLength(raw json.RawMessage) (l length, err error) {
	if len(raw) > 0 && raw[0] == '"' {
		l.Type, err = strconv.Unquote(string(raw))
		return l, err
	}
	numbers, err := readInts(raw, lengthNames)
	return length{Appended: int(numbers[0]), Bytes: int(numbers[1])}, err
}

func (w *walk) measure(slot Slot, v *value) {
	of := w.p.graph.Vars[slot.Var].Length
	if of == 0 {
		return
	}
	w.added = slices.DeleteFunc(w.added, func(a pending) bool { return a.slot == slot })
	val, err := w.decoded(v)
	if err != nil || val == nil {
		w.set(Slot{of, slot.Scope}, value{})
		return
	}
	l := length{Bytes: expr.Size(val)}
	if _, ok := val.(*starlark.List); !ok {
		l = length{Type: val.Type()}
	}
	w.setLength(slot, l)
}

func (w *walk) setLength(slot Slot, l length) {
	w.set(Slot{w.p.graph.Vars[slot.Var].Length, slot.Scope}, value{raw: l.encode()})
}

// append executes xs = xs + [...]: sum is the whole expression, added the list on its right.
func (w *walk) append(sum, added *expression, target graph.VarID, path graph.Path) {
	pos := sum.compiled.Expr().Pos
	slot := w.p.slot(target, path)
	known := w.values.get(slot)
	if known.there() && known.dirty { // it will be written whole in any case
		v, failure := w.eval(sum, path)
		if failure != nil {
			w.fail(failure)
			return
		}
		w.set(slot, value{val: v})
		return
	}
	l, failure := w.length(sum, slot, path)
	if failure != nil {
		w.fail(failure)
		return
	}
	v, failure := w.eval(added, path)
	if failure != nil {
		w.fail(failure)
		return
	}
	list := v.(*starlark.List)
	for i := range list.Len() {
		if l.Bytes > len("[]") {
			l.Bytes++ // a comma
		}
		l.Bytes += expr.Size(list.Index(i))
		w.added = append(w.added, pending{slot, l.Appended, list.Index(i), pos})
		l.Appended++
	}
	if l.Bytes > w.p.limits.ValueBytes {
		w.fail(&Failure{Type: expr.TypeLimit, Message: ir.LimitError(ir.Pos{}, "bytes of a value", l.Bytes, w.p.limits.ValueBytes).Msg, Pos: pos})
		return
	}
	if known.there() { // already read: the list in memory grows, too
		w.appendToList(known, list)
	}
	w.setLength(slot, l)
}

// length reads an accumulator's length. If it has no value, or is no list, the failure is that of its expression.
func (w *walk) length(sum *expression, slot Slot, path graph.Path) (length, *Failure) {
	stored := w.values.get(Slot{w.p.graph.Vars[slot.Var].Length, slot.Scope})
	if !stored.there() {
		_, failure := w.eval(sum, path)
		if failure == nil {
			failure = &Failure{Type: expr.TypeExpression, Message: "the length of " + w.p.slotName(slot) + " is lost", Pos: sum.compiled.Expr().Pos}
		}
		return length{}, failure
	}
	l, err := readLength(stored.raw)
	if err != nil {
		return l, failureOf(sum.compiled.Expr().Pos, err)
	}
	if l.Type == "" {
		return l, nil
	}
	w.values.put(slot, value{val: zeroOf(l.Type)})
	defer w.values.remove(slot)
	_, failure := w.eval(sum, path)
	if failure == nil {
		failure = &Failure{Type: expr.TypeExpression, Message: fmt.Sprintf("a %s cannot be appended to", l.Type), Pos: sum.compiled.Expr().Pos}
	}
	return l, failure
}

// zeroOf returns a value of a type that is no list: the error of an operator names only types.
func zeroOf(typ string) expr.Value {
	for _, v := range []expr.Value{starlark.False, starlark.MakeInt(0), starlark.Float(0), starlark.String(""), starlark.NewDict(0)} {
		if v.Type() == typ {
			v.Freeze()
			return v
		}
	}
	return starlark.None
}

func (w *walk) appendToList(known *value, list *starlark.List) {
	old, err := w.decoded(known)
	if err != nil {
		return // what cannot be decoded was never appended to
	}
	before := old.(*starlark.List)
	all := make([]starlark.Value, 0, before.Len()+list.Len())
	for i := range before.Len() {
		all = append(all, before.Index(i))
	}
	for i := range list.Len() {
		all = append(all, list.Index(i))
	}
	grown := starlark.NewList(all)
	grown.Freeze()
	known.val, known.raw = grown, nil
}
