package reference

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pulley/internal/clip"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
)

// quotedMax keeps quotations to a line, in characters.
const quotedMax = 200

// End is how an instance ended in an engine.
type End struct {
	Status Status          `json:"status"`
	Result json.RawMessage `json:"result,omitempty"` // if Completed
	Error  *Error          `json:"error,omitempty"`  // if Failed
}

// Differs describes in one line how an instance's end differs from the outcome; "" if they agree. Results must be the same
// value; an int is no float. Errors must have the same type, message, action, line and column. Refused and Undecided agree with
// nothing.
func (o Outcome) Differs(end End) string {
	if o.Status != Completed && o.Status != Failed {
		return fmt.Sprintf("the reference interpreter gives %s (%v)", o.Status, o.Error)
	}
	if o.Status != end.Status {
		return fmt.Sprintf("ended %s; the reference interpreter gives %s", end.Describe(), o.Describe())
	}
	if o.Status == Completed {
		got, err := expr.Decode(end.Result, expr.Unlimited)
		if err != nil {
			return fmt.Sprintf("the result is not a JSON value: %s", err)
		}
		if !Same(o.Result, got) {
			return fmt.Sprintf("result %s; the reference interpreter gives %s", clip.Runes(string(end.Result), quotedMax), clip.Runes(Canonical(o.Result), quotedMax))
		}
		return ""
	}
	want, got := o.Error, end.Error
	switch {
	case got == nil:
		return "failed without an error; the reference interpreter gives " + o.Describe()
	case want.Type != got.Type || want.Action != got.Action,
		want.Message != got.Message, want.Pos.Line != got.Pos.Line, want.Pos.Col != got.Pos.Col:
		return fmt.Sprintf("ended %s; the reference interpreter gives %s", end.Describe(), o.Describe())
	}
	return ""
}

// SameError reports whether two errors are equal; nil equals only nil.
func SameError(a, b *Error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Describe prints the outcome in a line for people.
func (o Outcome) Describe() string {
	if o.Status == Completed {
		return "completed with " + clip.Runes(Canonical(o.Result), quotedMax)
	}
	return string(o.Status) + " with " + o.Error.Error()
}

// Describe prints the end in a line for people.
func (e End) Describe() string {
	switch {
	case e.Status == Completed:
		return "completed with " + clip.Runes(string(e.Result), quotedMax)
	case e.Error != nil:
		return string(e.Status) + " with " + e.Error.Error()
	}
	return string(e.Status)
}

// Same reports whether two values are the same JSON: ints and floats differ, the order of a dict's keys does not matter. Nil
// equals only nil.
func Same(a, b expr.Value) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return Canonical(a) == Canonical(b)
}

// Canonical returns a value's compact JSON with sorted keys: equal texts mean the same value.
func Canonical(v expr.Value) string {
	text, err := expr.Encode(sorted(v))
	if err != nil {
		return fmt.Sprintf("%q", err.Error()) // a Value can always be encoded
	}
	return string(text)
}

func sorted(v expr.Value) expr.Value {
	switch v := v.(type) {
	case *starlark.List:
		elems := make([]starlark.Value, v.Len())
		for i := range elems {
			elems[i] = sorted(v.Index(i))
		}
		return starlark.NewList(elems)
	case *starlark.Dict:
		keys := v.Keys()
		slices.SortFunc(keys, func(a, b starlark.Value) int {
			return strings.Compare(string(a.(starlark.String)), string(b.(starlark.String)))
		})
		d := starlark.NewDict(len(keys))
		for _, k := range keys {
			value, _, _ := v.Get(k)
			_ = d.SetKey(k, sorted(value)) // a new dict takes every string
		}
		return d
	}
	return v
}

// Key identifies a call's content and path: equal keys are the same call of two runs.
func (c Call) Key() string {
	return CallKey(c.Action, c.Path, c.Args.Object())
}

// Object returns the arguments as a dict.
func (a Args) Object() expr.Value {
	d := starlark.NewDict(len(a))
	for _, arg := range a {
		_ = d.SetKey(starlark.String(arg.Name), arg.Value) // a new dict takes every string
	}
	return d
}

// CallKey is the [Call.Key] of a call of an action, at a path, with a dict of arguments.
func CallKey(action, path string, args expr.Value) string {
	return "@" + action + " at [" + path + "] " + Canonical(args)
}
