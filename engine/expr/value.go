package expr

import (
	"math"
	"strconv"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"pulley/engine/ir"
)

// Value is a JSON value, normalized and frozen: starlark.None, Bool, Int, Float (finite), String (valid UTF-8), *List of Values,
// or *Dict from String to Value.
type Value = starlark.Value

// depthMax bounds every recursion over a value.
const depthMax = 512

// Truth reports whether v counts as true: not None, False, 0, 0.0, or an empty string, list or dict.
func Truth(v Value) bool { return bool(v.Truth()) }

// Normalize makes a Value of the result of an expression or a Go program: tuples and ranges become lists, and the result is
// frozen. It returns a normal v itself. It refuses, with an *EvalError, what JSON lacks (functions, sets, bytes, keys that are
// not strings, floats that are not finite, strings that are not UTF-8), nesting deeper than 512, and a value whose JSON is
// longer than lim.ValueBytes.
func Normalize(v starlark.Value, lim ir.Limits) (Value, error) {
	return normalize(v, lim.MaxValueBytes())
}

func normalize(v starlark.Value, bytesMax int) (Value, error) {
	return normalizeAt(v, bytesMax, 0)
}

func normalizeAt(v starlark.Value, bytesMax, depth int) (Value, error) {
	n := normalizer{bytesMax: bytesMax}
	normal, _, err := n.value(v, depth)
	if err != nil {
		return nil, err
	}
	normal.Freeze()
	return normal, nil
}

type normalizer struct {
	bytes, bytesMax int
}

func (n *normalizer) grow(bytes int) error {
	n.bytes = add(n.bytes, bytes)
	if n.bytes > n.bytesMax {
		return limitError("bytes of a value", n.bytes, n.bytesMax)
	}
	return nil
}

// value also returns whether the normal form differs from v.
func (n *normalizer) value(v starlark.Value, depth int) (_ Value, changed bool, err error) {
	if depth > depthMax {
		return nil, false, limitError("nesting of a value", depth, depthMax)
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return v, false, n.grow(4)
	case starlark.Bool:
		if v {
			return v, false, n.grow(4)
		}
		return v, false, n.grow(5)
	case starlark.Int:
		return v, false, n.grow(intBytes(v))
	case starlark.Float:
		if math.IsInf(float64(v), 0) || math.IsNaN(float64(v)) {
			return nil, false, valueErrorf("a float must be finite, not %v", v)
		}
		return v, false, n.grow(floatBytes(float64(v)))
	case starlark.String:
		return v, false, n.text(string(v))
	case *starlark.List:
		return n.sequence(v, depth)
	case starlark.Tuple:
		return n.sequence(v, depth)
	case *starlark.Dict:
		return n.dict(v, depth)
	case starlark.Indexable:
		if v.Type() == "range" {
			return n.sequence(v, depth)
		}
	case nil:
		return nil, false, valueErrorf("there is no value")
	}
	return nil, false, valueErrorf("a %s is not a value; a value is None, a bool, a number, a string, a list or a dict", v.Type())
}

func (n *normalizer) text(s string) error {
	if err := n.grow(len(s) + 2); err != nil {
		return err
	}
	if !utf8.ValidString(s) {
		return valueErrorf("the string %q is not valid UTF-8", clip(s))
	}
	return n.grow(escapedBytes(s))
}

func (n *normalizer) sequence(v starlark.Indexable, depth int) (Value, bool, error) {
	length := v.Len()
	if err := n.grow(2 + max(0, length-1)); err != nil {
		return nil, false, err
	}
	list, isList := v.(*starlark.List)
	var elems []starlark.Value // the normal list, once it is known to differ
	if !isList {
		elems = make([]starlark.Value, 0, length)
	}
	for i := range length {
		elem, changed, err := n.value(v.Index(i), depth+1)
		if err != nil {
			return nil, false, err
		}
		if changed && elems == nil {
			elems = make([]starlark.Value, i, length)
			for j := range i {
				elems[j] = v.Index(j)
			}
		}
		if elems != nil {
			elems = append(elems, elem)
		}
	}
	if elems == nil && isList {
		return list, false, nil
	}
	return starlark.NewList(elems), true, nil
}

func (n *normalizer) dict(d *starlark.Dict, depth int) (_ Value, changed bool, err error) {
	if err := n.grow(2 + max(0, 2*d.Len()-1)); err != nil {
		return nil, false, err
	}
	items := d.Items()
	for _, item := range items {
		key, ok := item[0].(starlark.String)
		if !ok {
			return nil, false, keyError(item[0])
		}
		if err := n.text(string(key)); err != nil {
			return nil, false, err
		}
		value, differs, err := n.value(item[1], depth+1)
		if err != nil {
			return nil, false, err
		}
		changed = changed || differs
		item[1] = value
	}
	if !changed {
		return d, false, nil
	}
	normal := starlark.NewDict(len(items))
	for _, item := range items {
		if err := normal.SetKey(item[0], item[1]); err != nil {
			return nil, false, err
		}
	}
	return normal, true, nil
}

func keyError(key starlark.Value) *EvalError {
	return valueErrorf("a dict's key must be a string, not %s", key.Type())
}

func clip(s string) string {
	const most = 40
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// intBytes of a large v may be one too many.
func intBytes(v starlark.Int) int {
	small, ok := v.Int64()
	if !ok {
		const log2of10 = 3.3219280948873
		return int(float64(v.BigInt().BitLen())/log2of10) + 2
	}
	return digits(small)
}

func digits(n int64) int {
	count := 1
	if n < 0 {
		count++
	}
	for n /= 10; n != 0; n /= 10 {
		count++
	}
	return count
}

func floatBytes(f float64) int {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 && f != 0 {
		return digits(int64(f)) + len(".0")
	}
	var buf [32]byte
	return len(appendFloat(buf[:0], f))
}

// appendFloat writes f so that it reads back as the same float, and never as an int: in full from 1e-6 up to 1e21, like
// JavaScript and encoding/json.
func appendFloat(dst []byte, f float64) []byte {
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	for _, c := range dst[start:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, '.', '0')
}
