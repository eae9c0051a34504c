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

// The types of the errors that this package makes; an except clause can name them.
const (
	TypeExpression = "ExpressionError" // an expression that failed
	TypeLimit      = "LimitExceeded"   // steps, or the size of a value
	TypeValue      = "ValueError"      // data that is not a value
)

// messageBytesMax bounds the text of an error: data that is quoted in it may be large.
const messageBytesMax = 400

// EvalError is an evaluation that failed, or data that cannot be a value.
type EvalError struct {
	Pos  ir.Pos // of the expression; zero where there is none, as in Decode
	Type string // one of the Type constants
	Msg  string // one line, without position
}

// Error gives position and message.
func (e *EvalError) Error() string {
	if e.Pos == (ir.Pos{}) {
		return e.Msg
	}
	return e.Pos.String() + ": " + e.Msg
}

// valueErrorf refuses data that is not a value.
func valueErrorf(format string, args ...any) *EvalError {
	return &EvalError{Type: TypeValue, Msg: oneLine(fmt.Sprintf(format, args...))}
}

// limitError words a limit as every other refusal of the program is worded.
func limitError(limit string, value, bound int) *EvalError {
	return &EvalError{Type: TypeLimit, Msg: ir.LimitError(ir.Pos{}, limit, value, bound).Msg}
}

// unassigned is how Starlark reports a parameter that was given no value.
var unassigned = regexp.MustCompile(`^local variable (.+) referenced before assignment$`)

// evalError gives err, which came out of an evaluation, its place and its type.
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

// oneLine makes a message that fits a line and a log.
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
