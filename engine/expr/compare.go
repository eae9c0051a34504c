package expr

import (
	"cmp"
	"fmt"
	"math/big"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Equal reports whether two values are equal. 1 equals 1.0; a bool is not a number. The order of a dict's keys does not matter.
func Equal(a, b Value) bool {
	equal, _ := equal(nil, a, b) // without a meter nothing is refused
	return equal
}

// A nil m charges nothing.
func equal(m *meter, a, b starlark.Value) (bool, error) {
	if m != nil {
		if err := m.work(compareUnits); err != nil {
			return false, err
		}
	}
	switch a := a.(type) {
	case starlark.String:
		b, ok := b.(starlark.String)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		if m != nil {
			if err := m.work(len(a)); err != nil {
				return false, err
			}
		}
		return a == b, nil
	case starlark.Int, starlark.Float:
		c, ok, err := compareNumbers(m, a, b)
		return ok && c == 0, err
	case *starlark.Dict:
		b, ok := b.(*starlark.Dict)
		if !ok || a.Len() != b.Len() {
			return false, nil
		}
		return equalDicts(m, a, b)
	case *starlark.List:
		b, ok := b.(*starlark.List)
		if !ok || a.Len() != b.Len() {
			return false, nil
		}
		return equalLists(m, a, b)
	}
	return starlark.Equal(a, b)
}

// compareNumbers returns -1, 0 or +1, if both are numbers.
func compareNumbers(m *meter, a, b starlark.Value) (_ int, ok bool, err error) {
	if err := chargeNumbers(m, a, b); err != nil {
		return 0, false, err
	}
	x, xIsFloat := a.(starlark.Float)
	y, yIsFloat := b.(starlark.Float)
	xInt, xIsInt := a.(starlark.Int)
	yInt, yIsInt := b.(starlark.Int)
	switch {
	case xIsInt && yIsInt:
		c, err := xInt.Cmp(yInt, 0)
		return c, true, err
	case xIsFloat && yIsFloat:
		return cmp.Compare(x, y), true, nil
	case xIsFloat && yIsInt:
		return -compareIntFloat(yInt, x), true, nil
	case xIsInt && yIsFloat:
		return compareIntFloat(xInt, y), true, nil
	}
	return 0, false, nil
}

// The int is not rounded.
func compareIntFloat(x starlark.Int, y starlark.Float) int {
	const exact = 1 << 53 // an int up to that size is a float
	if small, ok := x.Int64(); ok && -exact <= small && small <= exact {
		return cmp.Compare(starlark.Float(small), y)
	}
	return new(big.Float).SetInt(x.BigInt()).Cmp(big.NewFloat(float64(y)))
}

func chargeNumbers(m *meter, a, b starlark.Value) error {
	if m == nil {
		return nil
	}
	one := starlark.MakeInt(1)
	x, isInt := a.(starlark.Int)
	if !isInt {
		x = one
	}
	y, isInt := b.(starlark.Int)
	if !isInt {
		y = one
	}
	return m.ints(x, y)
}

func equalLists(m *meter, a, b *starlark.List) (bool, error) {
	for i := range a.Len() {
		if same, err := equal(m, a.Index(i), b.Index(i)); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func equalDicts(m *meter, a, b *starlark.Dict) (bool, error) {
	if m != nil {
		if err := m.list(2 * a.Len()); err != nil {
			return false, err
		}
	}
	for _, item := range a.Items() {
		if key, ok := item[0].(starlark.String); ok && m != nil {
			if err := m.work(len(key)); err != nil {
				return false, err
			}
		}
		other, found, err := b.Get(item[0])
		if err != nil || !found {
			return false, err
		}
		if same, err := equal(m, item[1], other); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// order returns -1, 0 or +1 for two numbers, strings, bools, or lists of such, compared element by element.
func order(m *meter, op syntax.Token, a, b starlark.Value) (int, error) {
	x, isList := a.(*starlark.List)
	y, isAlsoList := b.(*starlark.List)
	if isList && isAlsoList {
		return orderLists(m, op, x, y)
	}
	if err := m.work(compareUnits); err != nil {
		return 0, err
	}
	s, isText := a.(starlark.String)
	t, isAlsoText := b.(starlark.String)
	if isText && isAlsoText {
		return cmp.Compare(s, t), m.work(min(len(s), len(t)))
	}
	if c, ok, err := compareNumbers(m, a, b); ok || err != nil {
		return c, err
	}
	p, isBool := a.(starlark.Bool)
	q, isAlsoBool := b.(starlark.Bool)
	switch {
	case !isBool || !isAlsoBool:
		return 0, fmt.Errorf("%s %s %s not implemented", a.Type(), op, b.Type())
	case p == q:
		return 0, nil
	case bool(q):
		return -1, nil
	}
	return +1, nil
}

func orderLists(m *meter, op syntax.Token, a, b *starlark.List) (int, error) {
	for i := range min(a.Len(), b.Len()) {
		same, err := equal(m, a.Index(i), b.Index(i))
		if err != nil {
			return 0, err
		}
		if !same {
			return order(m, op, a.Index(i), b.Index(i))
		}
	}
	return a.Len() - b.Len(), m.work(compareUnits)
}
