package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
)

func (w *walk) set(slot Slot, v value) {
	known := w.values.get(slot)
	if known == nil {
		known = w.values.add(slot)
	}
	if !known.dirty {
		w.dirty = append(w.dirty, slot)
	}
	v.dirty, v.force = true, known.force
	*known = v
	w.measure(slot, known)
}

func (w *walk) decoded(v *value) (expr.Value, error) {
	if !v.there() {
		return nil, nil
	}
	if v.val == nil {
		val, err := expr.Decode(v.raw, w.p.limits)
		if err != nil {
			return nil, err
		}
		v.val = val
	}
	return v.val, nil
}

func (w *walk) encode(v *value, pos ir.Pos) (json.RawMessage, *Failure) { return w.p.encode(v, pos) }

func (p *Program) encode(v *value, pos ir.Pos) (json.RawMessage, *Failure) {
	if !v.there() {
		return nil, &Failure{Type: expr.TypeExpression, Message: "a value is missing here", Pos: pos}
	}
	if v.raw == nil {
		raw, err := expr.Encode(v.val)
		if err != nil {
			return nil, failureOf(pos, err)
		}
		v.raw = raw
	}
	if len(v.raw) > p.limits.ValueBytes {
		return nil, &Failure{Type: expr.TypeLimit, Message: ir.LimitError(ir.Pos{}, "bytes of a value", len(v.raw), p.limits.ValueBytes).Msg, Pos: pos}
	}
	return v.raw, nil
}

func (w *walk) eval(x *expression, path graph.Path) (expr.Value, *Failure) {
	w.args = slices.Grow(w.args[:0], len(x.vars))[:len(x.vars)]
	for i, v := range x.vars {
		val, err := w.decoded(w.values.get(w.p.slot(v, path)))
		if err != nil {
			return nil, failureOf(x.compiled.Expr().Pos, err)
		}
		w.args[i] = val
	}
	v, err := x.compiled.Eval(w.args)
	if err != nil {
		return nil, failureOf(x.compiled.Expr().Pos, err)
	}
	return v, nil
}

func (w *walk) sets(n *node, path graph.Path) {
	for _, v := range n.Clear {
		w.set(w.p.slot(v, path), value{})
	}
	for i, s := range n.Sets {
		if w.plan.End != nil {
			return
		}
		if s.Append != nil {
			w.append(n.sets[i], n.added[i], s.Targets[0], path)
			continue
		}
		if n.sets[i] == nil {
			from := w.values.get(w.p.slot(s.From, path))
			if from == nil {
				from = &value{}
			}
			w.assign(s.Targets, path, n.Pos, value{raw: from.raw, val: from.val})
			continue
		}
		v, failure := w.eval(n.sets[i], path)
		if failure != nil {
			w.fail(failure)
			return
		}
		w.assign(s.Targets, path, n.Pos, value{val: v})
	}
}

// assign sets targets: one takes the value whole, several unpack a list of as many.
func (w *walk) assign(targets []graph.VarID, path graph.Path, pos ir.Pos, v value) {
	switch len(targets) {
	case 0:
		return
	case 1:
		w.set(w.p.slot(targets[0], path), v)
		return
	}
	val, err := w.decoded(&v)
	if err != nil {
		w.fail(failureOf(pos, err))
		return
	}
	list, ok := val.(*starlark.List)
	if !ok {
		w.fail(&Failure{Type: expr.TypeExpression, Message: fmt.Sprintf("a %s cannot be unpacked into %d names; only a list can", typeName(val), len(targets)), Pos: pos})
		return
	}
	if list.Len() != len(targets) {
		w.fail(&Failure{Type: expr.TypeExpression, Message: fmt.Sprintf("a list of %d cannot be unpacked into %d names", list.Len(), len(targets)), Pos: pos})
		return
	}
	for i, t := range targets {
		w.set(w.p.slot(t, path), value{val: list.Index(i)})
	}
}

func (n *node) place() ir.Pos {
	if n.Unpacks.Line > 0 {
		return n.Unpacks
	}
	return n.Pos
}

func typeName(v expr.Value) string {
	if v == nil {
		return "missing value"
	}
	return v.Type()
}

// elements returns what a loop or spread goes over: a list's elements or a dict's keys.
func (w *walk) elements(n *node, v expr.Value) ([]expr.Value, *Failure) {
	switch v := v.(type) {
	case *starlark.List:
		out := make([]expr.Value, v.Len())
		for i := range out {
			out[i] = v.Index(i)
		}
		return out, nil
	case *starlark.Dict:
		return v.Keys(), nil
	}
	who := "for"
	if n.Kind == graph.Spread {
		who = "spread"
	}
	return nil, &Failure{Type: expr.TypeExpression, Message: fmt.Sprintf("a %s goes over a list or the keys of a dict, not over a %s", who, v.Type()), Pos: n.Expr.Pos}
}

// JoinAppended returns the whole value of a slot: the base followed by the appended values, given in any order. A base that is
// no list, and a missing or repeated index, is an error.
func JoinAppended(base json.RawMessage, appended []Append) (json.RawMessage, error) {
	if len(appended) == 0 {
		return base, nil
	}
	body := bytes.TrimSpace(base)
	if len(body) < 2 || body[0] != '[' {
		return nil, fmt.Errorf("values were appended to something that is no list")
	}
	body = bytes.TrimSpace(body[1 : len(body)-1])
	size := len(body) + 2
	for _, a := range appended {
		size += len(a.Value) + 1
	}
	sorted := slices.Clone(appended)
	slices.SortFunc(sorted, func(a, b Append) int { return a.Index - b.Index })
	out := append(append(make([]byte, 0, size), '['), body...)
	for i, a := range sorted {
		if a.Index != i {
			return nil, fmt.Errorf("value %d of those appended to a list is missing or there twice", i)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, a.Value...)
	}
	return append(out, ']'), nil
}

// Value returns the whole value of a slot once the plan is applied over the inbox, and whether there is one.
func (p *Plan) Value(slot Slot, in *Inbox) (json.RawMessage, bool) {
	base, appended := in.Values[slot], in.Appended[slot]
	for _, w := range p.Writes {
		if w.Slot == slot {
			base, appended = w.Value, nil
		}
	}
	if base == nil {
		return nil, false
	}
	appended = slices.Clip(appended)
	for _, a := range p.Appends {
		if a.Slot == slot {
			appended = append(appended, a)
		}
	}
	whole, err := JoinAppended(base, appended)
	return whole, err == nil
}

// Put adds a value that was read of a slot: its base, as element -1, or an appended one, by its index. It keeps the value.
func (in *Inbox) Put(slot Slot, element int, value json.RawMessage) {
	if element >= 0 {
		if in.Appended == nil {
			in.Appended = map[Slot][]Append{}
		}
		in.Appended[slot] = append(in.Appended[slot], Append{Slot: slot, Index: element, Value: value})
		return
	}
	if in.Values == nil {
		in.Values = map[Slot]json.RawMessage{}
	}
	in.Values[slot] = value
}
