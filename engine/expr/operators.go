package expr

import (
	"errors"
	"fmt"
	"math"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Names of checked operators that are not the operator's token. None can be the name of a variable.
const (
	minusName   = "unary -"
	indexName   = "[]"
	sliceName   = "[:]"
	keyName     = "{key}"
	displayName = "{}"
)

type builtinFunc = func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)

type operator func(m *meter, op syntax.Token, x, y starlark.Value) (starlark.Value, error)

var operators = map[syntax.Token]operator{
	syntax.PLUS:       plus,
	syntax.MINUS:      minus,
	syntax.STAR:       times,
	syntax.SLASH:      minus,
	syntax.SLASHSLASH: divide,
	syntax.PERCENT:    percent,
	syntax.EQL:        equals,
	syntax.NEQ:        equals,
	syntax.LT:         ordered,
	syntax.LE:         ordered,
	syntax.GT:         ordered,
	syntax.GE:         ordered,
	syntax.IN:         contains,
	syntax.NOT_IN:     contains,
}

// checked has everything that rewritten expressions call: operators, functions as name() and methods as .name().
var checked = func() starlark.StringDict {
	env := starlark.StringDict{}
	define := func(name, shown string, fn builtinFunc) {
		env[name] = starlark.NewBuiltin(shown, fn)
	}
	for op, do := range operators {
		define(op.String(), op.String(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return do(meterOf(thread), op, args[0], args[1])
		})
	}
	define(minusName, minusName, negate)
	define(indexName, indexName, index)
	define(sliceName, sliceName, slice)
	define(keyName, keyName, dictKey)
	define(displayName, displayName, display)
	for name, fn := range functions {
		define(name+"()", name, fn)
	}
	for _, name := range methodNames {
		define("."+name+"()", name, callMethod)
	}
	return env
}()

func finite(v starlark.Value, err error) (starlark.Value, error) {
	if f, ok := v.(starlark.Float); ok && err == nil && (math.IsInf(float64(f), 0) || math.IsNaN(float64(f))) {
		return nil, fmt.Errorf("the result is not a finite float (%v)", f)
	}
	return v, err
}

func minus(m *meter, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	if err := chargeNumbers(m, x, y); err != nil {
		return nil, err
	}
	return finite(starlark.Binary(op, x, y))
}

func plus(m *meter, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case starlark.String:
		if y, ok := y.(starlark.String); ok {
			if err := m.text(add(len(x), len(y))); err != nil {
				return nil, err
			}
		}
	case *starlark.List:
		if y, ok := y.(*starlark.List); ok {
			if err := m.list(x.Len() + y.Len()); err != nil {
				return nil, err
			}
		}
	}
	return minus(m, op, x, y)
}

func times(m *meter, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	xInt, xIsInt := x.(starlark.Int)
	yInt, yIsInt := y.(starlark.Int)
	var err error
	switch {
	case xIsInt && yIsInt:
		err = m.products(xInt, yInt)
	case xIsInt:
		err = chargeRepeat(m, y, xInt)
	case yIsInt:
		err = chargeRepeat(m, x, yInt)
	}
	if err != nil {
		return nil, err
	}
	return finite(starlark.Binary(op, x, y))
}

// chargeRepeat charges v * count, where v may also be a number.
func chargeRepeat(m *meter, v starlark.Value, count starlark.Int) error {
	if _, isFloat := v.(starlark.Float); isFloat {
		return m.ints(count, starlark.MakeInt(0))
	}
	length := starlark.Len(v)
	if length <= 0 || count.Sign() <= 0 {
		return nil
	}
	total := math.MaxInt
	if n, ok := count.Int64(); ok {
		total = mul(length, int(n))
	}
	if _, isString := v.(starlark.String); isString {
		return m.text(total)
	}
	return m.list(total)
}

func divide(m *meter, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	xInt, xIsInt := x.(starlark.Int)
	yInt, yIsInt := y.(starlark.Int)
	if xIsInt && yIsInt {
		if err := m.products(xInt, yInt); err != nil {
			return nil, err
		}
	}
	return minus(m, op, x, y)
}

func percent(m *meter, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	format, ok := x.(starlark.String)
	if !ok {
		return divide(m, op, x, y)
	}
	return interpolate(m, string(format), y)
}

func negate(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if err := chargeNumbers(meterOf(thread), args[0], args[0]); err != nil {
		return nil, err
	}
	return starlark.Unary(syntax.MINUS, args[0])
}

func equals(m *meter, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	same, err := equal(m, x, y)
	if err != nil {
		return nil, err
	}
	return starlark.Bool(same == (op == syntax.EQL)), nil
}

func ordered(m *meter, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	c, err := order(m, op, x, y)
	if err != nil {
		return nil, err
	}
	holds := false
	switch op {
	case syntax.LT:
		holds = c < 0
	case syntax.LE:
		holds = c <= 0
	case syntax.GT:
		holds = c > 0
	case syntax.GE:
		holds = c >= 0
	}
	return starlark.Bool(holds), nil
}

func contains(m *meter, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	found := false
	switch y := y.(type) {
	case *starlark.Dict:
		if key, ok := x.(starlark.String); ok {
			_, has, err := lookUp(m, y, key)
			if err != nil {
				return nil, err
			}
			found = has
		}
	case *starlark.List:
		for i := 0; i < y.Len() && !found; i++ {
			same, err := equal(m, y.Index(i), x)
			if err != nil {
				return nil, err
			}
			found = same
		}
	default:
		if text, ok := y.(starlark.String); ok {
			if err := m.work(len(text)); err != nil {
				return nil, err
			}
		}
		has, err := starlark.Binary(syntax.IN, x, y)
		if err != nil {
			return nil, err
		}
		found = Truth(has)
	}
	return starlark.Bool(found == (op == syntax.IN)), nil
}

func lookUp(m *meter, d *starlark.Dict, key starlark.String) (starlark.Value, bool, error) {
	if err := m.work(len(key)); err != nil {
		return nil, false, err
	}
	return d.Get(key)
}

func dictKey(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	key, ok := args[0].(starlark.String)
	if !ok {
		return nil, keyError(args[0])
	}
	return key, meterOf(thread).work(len(key))
}

// display charges a new dict: even a small one takes half a kilobyte.
func display(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return args[0], meterOf(thread).work(dictUnits)
}

func index(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	switch x := args[0].(type) {
	case *starlark.Dict:
		key, ok := args[1].(starlark.String)
		if !ok {
			return nil, keyError(args[1])
		}
		v, found, err := lookUp(meterOf(thread), x, key)
		if err == nil && !found {
			return nil, fmt.Errorf("key %q not in dict", clip(string(key)))
		}
		return v, err
	case starlark.Indexable:
		at, err := starlark.AsInt32(args[1])
		if err != nil {
			return nil, fmt.Errorf("%s index: %w", x.Type(), err)
		}
		n := x.Len()
		i := at
		if i < 0 {
			i += n
		}
		if i >= 0 && i < n {
			return x.Index(i), nil
		}
		if n == 0 {
			return nil, fmt.Errorf("index %d out of range: empty %s", at, x.Type())
		}
		return nil, fmt.Errorf("%s index %d out of range [%d:%d]", x.Type(), at, -n, n-1)
	}
	return nil, fmt.Errorf("unhandled index operation %s[%s]", args[0].Type(), args[1].Type())
}

func slice(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, ok := args[0].(starlark.Sliceable)
	if !ok {
		return nil, fmt.Errorf("invalid slice operand %s", args[0].Type())
	}
	step := 1
	if args[3] != starlark.None {
		var err error
		if step, err = starlark.AsInt32(args[3]); err != nil {
			return nil, fmt.Errorf("invalid slice step: %w", err)
		}
		if step == 0 {
			return nil, errors.New("zero is not a valid slice step")
		}
	}
	start, end, err := bounds(args[1], args[2], step, x.Len())
	if err != nil {
		return nil, err
	}
	count := (end - start) / step // exact up to one
	m := meterOf(thread)
	if step != 1 {
		// What is not copied in one piece grows during the copy.
		if err := m.work(count * elementUnits); err != nil {
			return nil, err
		}
	}
	if _, isText := x.(starlark.String); isText {
		err = m.text(count + 1)
	} else {
		err = m.list(count + 1)
	}
	if err != nil {
		return nil, err
	}
	return x.Slice(start, end, step), nil
}

// bounds go in the direction of step.
func bounds(lo, hi starlark.Value, step, n int) (start, end int, err error) {
	low, high := 0, n // to which indices are clamped
	if step < 0 {
		low, high = -1, n-1
	}
	start, end = low, high
	if step < 0 {
		start, end = high, low
	}
	for _, bound := range []struct {
		v    starlark.Value
		at   *int
		name string
	}{{lo, &start, "start"}, {hi, &end, "end"}} {
		if bound.v == starlark.None {
			continue
		}
		i, err := starlark.AsInt32(bound.v)
		if err != nil {
			return 0, 0, fmt.Errorf("invalid %s index: %w", bound.name, err)
		}
		if i < 0 {
			i += n
		}
		*bound.at = min(max(i, low), high)
	}
	if (end-start)*step < 0 {
		end = start
	}
	return start, end, nil
}
