package expr

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Equal tells whether two values are equal. Numbers are compared by what they are, so 1 equals 1.0;
// a bool is not a number. The order of a dict's keys does not matter.
func Equal(a, b Value) bool {
	equal, _ := equal(nil, a, b) // without a meter nothing is refused
	return equal
}

// equal compares two values; a tuple counts as a list. The work is charged to m unless that is nil.
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
		return equalNumbers(m, a, b)
	case *starlark.Dict:
		b, ok := b.(*starlark.Dict)
		if !ok || a.Len() != b.Len() {
			return false, nil
		}
		return equalDicts(m, a, b)
	case *starlark.List, starlark.Tuple:
		x := a.(starlark.Indexable)
		y, ok := sequence(b)
		if !ok || x.Len() != y.Len() {
			return false, nil
		}
		return equalSequences(m, x, y)
	}
	return starlark.Equal(a, b)
}

func equalNumbers(m *meter, a, b starlark.Value) (bool, error) {
	if err := chargeNumbers(m, a, b); err != nil {
		return false, err
	}
	return starlark.Equal(a, b)
}

// chargeNumbers charges a comparison in which one operand or both are large ints.
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

// sequence tells whether v is a list or counts as one.
func sequence(v starlark.Value) (starlark.Indexable, bool) {
	switch v := v.(type) {
	case *starlark.List:
		return v, true
	case starlark.Tuple:
		return v, true
	}
	return nil, false
}

func equalSequences(m *meter, a, b starlark.Indexable) (bool, error) {
	for i := range a.Len() {
		if same, err := equal(m, a.Index(i), b.Index(i)); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func equalDicts(m *meter, a, b *starlark.Dict) (bool, error) {
	for k, v := range a.Entries() {
		if key, ok := k.(starlark.String); ok && m != nil {
			if err := m.work(len(key)); err != nil {
				return false, err
			}
		}
		other, found, err := b.Get(k)
		if err != nil || !found {
			return false, err
		}
		if same, err := equal(m, v, other); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// order gives -1, 0 or +1 for two numbers, strings, bools, or lists of such, the latter element by
// element.
func order(m *meter, op syntax.Token, a, b starlark.Value) (int, error) {
	x, isX := sequence(a)
	y, isY := sequence(b)
	if isX && isY {
		return orderSequences(m, op, x, y)
	}
	if err := m.work(compareUnits); err != nil {
		return 0, err
	}
	if s, ok := a.(starlark.String); ok {
		t, ok := b.(starlark.String)
		if ok {
			if err := m.work(min(len(s), len(t))); err != nil {
				return 0, err
			}
		}
	} else if err := chargeNumbers(m, a, b); err != nil {
		return 0, err
	}
	switch less, err := starlark.Compare(syntax.LT, a, b); {
	case err != nil:
		return 0, fmt.Errorf("%s %s %s not implemented", a.Type(), op, b.Type())
	case less:
		return -1, nil
	}
	more, err := starlark.Compare(syntax.GT, a, b)
	if more {
		return +1, err
	}
	return 0, err
}

func orderSequences(m *meter, op syntax.Token, a, b starlark.Indexable) (int, error) {
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
