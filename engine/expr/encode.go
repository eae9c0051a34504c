package expr

import (
	"bytes"
	"math"
	"strconv"
	"sync"
	"unicode/utf8"

	"go.starlark.net/starlark"
)

// Encode returns v as compact JSON. Keys are in the order of the dict, a float reads back as the same float (1.0 stays 1.0),
// and HTML is not escaped. It refuses what is not a Value.
func Encode(v Value) ([]byte, error) {
	// Most values are short, and the length is known only afterwards: a reused buffer takes them first.
	draft := drafts.Get().(*[]byte)
	out, err := AppendJSON((*draft)[:0], v)
	if cap(out) > draftMax {
		return out, err
	}
	*draft = out
	out = bytes.Clone(out)
	drafts.Put(draft)
	return out, err
}

// Each buffer is at most draftMax large.
var drafts = sync.Pool{New: func() any { return new([]byte) }}

const draftMax = 4 << 10

// AppendJSON appends v to dst as Encode does. After an error dst is undefined beyond its old length.
func AppendJSON(dst []byte, v Value) ([]byte, error) {
	return appendValue(dst, v, 0)
}

func appendValue(dst []byte, v Value, depth int) ([]byte, error) {
	if depth > depthMax {
		return dst, limitError("nesting of a value", depth, depthMax)
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return append(dst, "null"...), nil
	case starlark.Bool:
		return strconv.AppendBool(dst, bool(v)), nil
	case starlark.Int:
		if small, ok := v.Int64(); ok {
			return strconv.AppendInt(dst, small, 10), nil
		}
		return append(dst, v.String()...), nil
	case starlark.Float:
		if math.IsInf(float64(v), 0) || math.IsNaN(float64(v)) {
			return dst, valueErrorf("a float must be finite, not %v", v)
		}
		return appendFloat(dst, float64(v)), nil
	case starlark.String:
		return appendString(dst, string(v))
	case *starlark.List:
		return appendList(dst, v, depth)
	case *starlark.Dict:
		return appendDict(dst, v, depth)
	case nil:
		return dst, valueErrorf("there is no value")
	}
	return dst, valueErrorf("a %s is not a value; normalize it first", v.Type())
}

func appendList(dst []byte, list *starlark.List, depth int) (_ []byte, err error) {
	dst = append(dst, '[')
	for i := range list.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(dst, list.Index(i), depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendDict(dst []byte, d *starlark.Dict, depth int) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, item := range d.Items() {
		key, ok := item[0].(starlark.String)
		if !ok {
			return dst, keyError(item[0])
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendString(dst, string(key)); err != nil {
			return dst, err
		}
		dst = append(dst, ':')
		if dst, err = appendValue(dst, item[1], depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// escapes has, for each ASCII character that a JSON string must escape, the letter after the backslash; 'u' stands for four
// hexadecimal digits.
var escapes = func() (table [256]byte) {
	for c := range 0x20 {
		table[c] = 'u'
	}
	for c, letter := range map[byte]byte{'"': '"', '\\': '\\', '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f'} {
		table[c] = letter
	}
	return table
}()

func escapedBytes(s string) int {
	n := 0
	for i := range len(s) {
		switch escapes[s[i]] {
		case 0:
		case 'u':
			n += 5
		default:
			n++
		}
	}
	return n
}

func appendString(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return dst, valueErrorf("the string %q is not valid UTF-8", clip(s))
	}
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0 // where the unwritten text begins
	for i := range len(s) {
		letter := escapes[s[i]]
		if letter == 0 {
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = append(dst, '\\', letter)
		if letter == 'u' {
			dst = append(dst, '0', '0', hex[s[i]>>4], hex[s[i]&15])
		}
		start = i + 1
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"'), nil
}
