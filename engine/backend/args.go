package backend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

// AssembleArgs makes a task's argument object from the arguments of its enqueue, in their order. Values keep their bytes, so that
// a number keeps its spelling. read returns the whole value of a slot (plan.JoinAppended), for arguments by reference; a slot
// without a value is an error. The result shares no memory with args or with what read returns.
func AssembleArgs(args []plan.Arg, read func(plan.Slot) (json.RawMessage, bool)) (json.RawMessage, error) {
	size := 2
	for _, a := range args {
		size += len(a.Name) + len(a.Value) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for i, a := range args {
		value := a.Value
		if a.Ref != nil {
			var ok bool
			if value, ok = read(*a.Ref); !ok {
				return nil, fmt.Errorf("argument %q refers to %s, which has no value", a.Name, FormatSlot(*a.Ref))
			}
		}
		if len(value) == 0 {
			return nil, fmt.Errorf("argument %q has neither a value nor a reference", a.Name)
		}
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = appendString(out, a.Name); err != nil {
			return nil, err
		}
		out = append(append(out, ':'), value...)
	}
	return append(out, '}'), nil
}

// Refs returns the slots that arguments refer to, in order.
func Refs(args []plan.Arg) []plan.Slot {
	var slots []plan.Slot
	for _, a := range args {
		if a.Ref != nil {
			slots = append(slots, *a.Ref)
		}
	}
	return slots
}

// FormatSlot names a slot in an error or a dump: "variable 3", "variable 3 at 0.2".
func FormatSlot(s plan.Slot) string {
	if s.Scope == "" {
		return fmt.Sprintf("variable %d", s.Var)
	}
	return fmt.Sprintf("variable %d at %s", s.Var, s.Scope)
}

type storedArg struct {
	Name  string          `json:"n"`
	Value json.RawMessage `json:"v,omitempty"`
	Var   *graph.VarID    `json:"var,omitempty"`
	Scope graph.Path      `json:"scope,omitempty"`
}

// EncodeArgs encodes an enqueue's arguments for a queue row. Values keep their bytes. Without references the row holds the
// task's argument object, otherwise a list.
func EncodeArgs(args []plan.Arg) ([]byte, error) {
	if !slices.ContainsFunc(args, func(a plan.Arg) bool { return a.Ref != nil }) {
		return AssembleArgs(args, nil)
	}
	stored := make([]storedArg, len(args))
	for i, a := range args {
		stored[i] = storedArg{Name: a.Name, Value: a.Value}
		if a.Ref != nil {
			stored[i] = storedArg{Name: a.Name, Var: &a.Ref.Var, Scope: a.Ref.Scope}
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(stored); err != nil {
		return nil, fmt.Errorf("encoding arguments: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// DecodeArgs decodes the result of EncodeArgs.
func DecodeArgs(data []byte) ([]plan.Arg, error) {
	if len(data) > 0 && data[0] == '{' {
		entries, err := expr.DecodeObject(data, ir.Limits{ValueBytes: math.MaxInt}, nil)
		if err != nil {
			return nil, fmt.Errorf("decoding arguments: %w", err)
		}
		args := make([]plan.Arg, len(entries))
		for i, e := range entries {
			args[i] = plan.Arg{Name: e.Key, Value: e.Text}
		}
		return args, nil
	}
	var stored []storedArg
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, fmt.Errorf("decoding arguments: %w", err)
	}
	args := make([]plan.Arg, len(stored))
	for i, s := range stored {
		args[i] = plan.Arg{Name: s.Name, Value: s.Value}
		if s.Var != nil {
			args[i] = plan.Arg{Name: s.Name, Ref: &plan.Slot{Var: *s.Var, Scope: s.Scope}}
		}
	}
	return args, nil
}

func appendString(dst []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return appendEscaped(dst, s)
		}
	}
	return append(append(append(dst, '"'), s...), '"'), nil
}

func appendEscaped(dst []byte, s string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, fmt.Errorf("encoding the name %q: %w", s, err)
	}
	return append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...), nil
}
