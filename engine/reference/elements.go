package reference

import (
	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/ir"
	"pulley/internal/clip"
)

type sequence struct {
	len int
	at  func(int) expr.Value
}

func over(pos ir.Pos, who string, v expr.Value) (sequence, *fault) {
	switch v := v.(type) {
	case *starlark.List:
		return sequence{v.Len(), func(i int) expr.Value { return v.Index(i) }}, nil
	case *starlark.Dict:
		keys := v.Keys()
		return sequence{len(keys), func(i int) expr.Value { return keys[i] }}, nil
	}
	return sequence{}, fatal(pos, TypeExpression, "a %s goes over a list or the keys of a dict, not over a %s", who, v.Type())
}

func (m *machine) loopOver(f *frame, e *ir.Expr) (sequence, *fault) {
	if args := m.ranges[e]; args != nil {
		v, failed := m.evaluate(f, e.Pos, args)
		if failed != nil {
			return sequence{}, failed
		}
		return numbers(e.Pos, v.(*starlark.List))
	}
	v, failed := m.eval(f, e)
	if failed != nil {
		return sequence{}, failed
	}
	return over(e.Pos, "for", v)
}

// numberMax bounds the numbers of a range, so that they and their count are exact.
const numberMax = 1 << 53

func numbers(pos ir.Pos, args *starlark.List) (sequence, *fault) {
	if args.Len() > 3 {
		return sequence{}, fatal(pos, TypeExpression, "range takes one to three ints, not %d", args.Len())
	}
	given := make([]int64, args.Len())
	for i := range given {
		n, ok := args.Index(i).(starlark.Int)
		if !ok {
			return sequence{}, fatal(pos, TypeExpression, "range takes ints, not a %s", args.Index(i).Type())
		}
		if given[i], ok = n.Int64(); !ok || given[i] > numberMax || given[i] < -numberMax {
			return sequence{}, fatal(pos, TypeExpression, "range: %s is too large", clip.Runes(n.String(), 40))
		}
	}
	start, stop, step := int64(0), given[0], int64(1)
	if len(given) > 1 {
		start, stop = given[0], given[1]
	}
	if len(given) > 2 {
		step = given[2]
	}
	span := stop - start
	switch {
	case step == 0:
		return sequence{}, fatal(pos, TypeExpression, "range: a step of 0 leads nowhere")
	case step < 0:
		span = -span
	}
	count := int64(0)
	if span > 0 {
		width := max(step, -step)
		count = (span + width - 1) / width
	}
	return sequence{int(count), func(i int) expr.Value { return starlark.MakeInt64(start + int64(i)*step) }}, nil
}
