package expr

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"pulley/engine/ir"
)

// Types of this package's errors; an except clause can name them.
const (
	TypeExpression = "ExpressionError" // a failed expression
	TypeLimit      = "LimitExceeded"   // steps, or the size of a value
	TypeValue      = "ValueError"      // data that is not a value
)

// An error's text may quote large data.
const messageBytesMax = 400

// EvalError is a failed evaluation, or data that cannot be a value.
type EvalError struct {
	Pos  ir.Pos // zero if there is no expression, as in Decode
	Type string
	Msg  string // one line, without position
}

// Error returns position and message.
func (e *EvalError) Error() string {
	if e.Pos == (ir.Pos{}) {
		return e.Msg
	}
	return e.Pos.String() + ": " + e.Msg
}

func valueErrorf(format string, args ...any) *EvalError {
	return &EvalError{Type: TypeValue, Msg: oneLine(fmt.Sprintf(format, args...))}
}

func limitError(limit string, value, bound int) *EvalError {
	return &EvalError{Type: TypeLimit, Msg: ir.LimitError(ir.Pos{}, limit, value, bound).Msg}
}

// unassigned is Starlark's error for a parameter without a value.
var unassigned = regexp.MustCompile(`^local variable (.+) referenced before assignment$`)

func (m *meter) evalError(pos ir.Pos, err error) *EvalError {
	var own *EvalError
	if errors.As(err, &own) {
		typ := own.Type
		if typ == TypeValue {
			typ = TypeExpression
		}
		return &EvalError{Pos: pos, Type: typ, Msg: own.Msg}
	}
	if m.thread.Steps >= m.steps {
		return &EvalError{Pos: pos, Type: TypeLimit, Msg: m.stepsError(1).Msg}
	}
	msg := err.Error()
	var raised *starlark.EvalError
	if errors.As(err, &raised) {
		msg = raised.Msg
	}
	if found := unassigned.FindStringSubmatch(msg); found != nil {
		msg = noValue(found[1])
	}
	return &EvalError{Pos: pos, Type: TypeExpression, Msg: oneLine(msg)}
}

func noValue(name string) string { return name + " has no value here" }

func oneLine(msg string) string {
	if len(msg) > messageBytesMax {
		cut := messageBytesMax
		for cut > 0 && !utf8.RuneStart(msg[cut]) {
			cut--
		}
		msg = msg[:cut] + "…"
	}
	msg = strings.ToValidUTF8(msg, "\uFFFD")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '\u007f' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, msg)
}
