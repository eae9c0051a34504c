package expr

import (
	"cmp"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"pulley/engine/ir"
)

// Entry is a key of an object and its value.
type Entry struct {
	Key   string
	Value Value
	Text  []byte // the value's, a part of the input
}

// DecodeObject decodes the entries of a JSON object, in the order of the text, with repeated keys. Each value is decoded like
// by Decode: lim.ValueBytes bounds every one of them, not the object. Keys among known are not allocated. Anything but an
// object is an *EvalError.
func DecodeObject(data []byte, lim ir.Limits, known []string) ([]Entry, error) {
	if !utf8.Valid(data) {
		return nil, valueErrorf("JSON at byte %d: this is not UTF-8", invalidUTF8(data))
	}
	d := decoder{data: data}
	d.space()
	if d.peek() != '{' {
		return nil, d.unexpected("an object")
	}
	entries, err := d.entries(lim.MaxValueBytes(), known)
	if err != nil {
		return nil, err
	}
	d.space()
	if d.at < len(data) {
		return nil, d.errorf("nothing may follow the object")
	}
	return entries, nil
}

func (d *decoder) entries(bytesMax int, known []string) ([]Entry, error) {
	d.at++
	d.space()
	if d.peek() == '}' {
		d.at++
		return nil, nil
	}
	out := make([]Entry, 0, cmp.Or(len(known), 4))
	for {
		e, err := d.whole(bytesMax, known)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
		d.space()
		switch d.peek() {
		case ',':
			d.at++
			d.space()
		case '}':
			d.at++
			return out, nil
		default:
			return nil, d.unexpected("a comma or }")
		}
	}
}

func (d *decoder) whole(bytesMax int, known []string) (e Entry, err error) {
	if d.peek() != '"' {
		return e, d.unexpected("a key in double quotes")
	}
	if e.Key, err = d.name(known); err != nil {
		return e, err
	}
	d.space()
	if d.peek() != ':' {
		return e, d.unexpected("a colon")
	}
	d.at++
	d.space()
	start := d.at
	d.growth = 0
	var v starlark.Value
	if v, err = d.value(0); err != nil {
		return e, err
	}
	e.Text = d.data[start:d.at:d.at]
	size := add(len(e.Text), d.growth)
	if size > bytesMax {
		e.Value, err = normalizeAt(v, bytesMax, 0)
		return e, err
	}
	v.Freeze()
	e.Value = v
	return e, nil
}

func (d *decoder) name(known []string) (string, error) {
	rest := d.data[d.at+1:]
	for _, k := range known {
		if len(rest) > len(k) && rest[len(k)] == '"' && string(rest[:len(k)]) == k && plain(k) {
			d.at += len(k) + 2
			return k, nil
		}
	}
	return d.text()
}

func plain(s string) bool {
	for i := range len(s) {
		if escapes[s[i]] != 0 {
			return false
		}
	}
	return true
}
