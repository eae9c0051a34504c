package ir

import (
	"cmp"
	"fmt"
)

// Limits bounds what a program may use. A zero field means its default.
type Limits struct {
	SourceBytes     int `json:"source_bytes,omitempty"`     // of one source file; default 1 MiB
	Nesting         int `json:"nesting,omitempty"`          // of blocks, and of brackets in an expression; default 64
	Nodes           int `json:"nodes,omitempty"`            // in the graph after calls were expanded; default 10,000. Names, and ways to handlers: 20 times as many
	SpreadElements  int `json:"spread_elements,omitempty"`  // of one spread; default 100,000
	LoopIterations  int `json:"loop_iterations,omitempty"`  // of one loop; default 100,000
	InlineSteps     int `json:"inline_steps,omitempty"`     // inline nodes run for one completion; default 10,000
	ValueBytes      int `json:"value_bytes,omitempty"`      // as JSON; default 1 MiB
	ExpressionSteps int `json:"expression_steps,omitempty"` // of one evaluation; default 1,000,000
}

// WithDefaults replaces zero fields by defaults.
func (l Limits) WithDefaults() Limits {
	l.SourceBytes = cmp.Or(l.SourceBytes, 1<<20)
	l.Nesting = cmp.Or(l.Nesting, 64)
	l.Nodes = cmp.Or(l.Nodes, 10_000)
	l.SpreadElements = cmp.Or(l.SpreadElements, 100_000)
	l.LoopIterations = cmp.Or(l.LoopIterations, 100_000)
	l.InlineSteps = cmp.Or(l.InlineSteps, 10_000)
	l.ValueBytes = l.MaxValueBytes()
	l.ExpressionSteps = cmp.Or(l.ExpressionSteps, 1_000_000)
	return l
}

// MaxValueBytes is ValueBytes, or its default.
func (l Limits) MaxValueBytes() int { return cmp.Or(l.ValueBytes, 1<<20) }

// Error is a mistake in a program with its position. Msg tells what is wrong and what to write instead.
type Error struct {
	Pos Pos
	Msg string
}

// Error returns file:line:col: message.
func (e *Error) Error() string { return e.Pos.String() + ": " + e.Msg }

// Errorf makes an *Error.
func Errorf(pos Pos, format string, args ...any) *Error {
	return &Error{Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

// LimitError words an exceeded limit; all such messages are alike.
func LimitError(pos Pos, limit string, value, bound int) *Error {
	return Errorf(pos, "%s: %d is over the limit of %d; make it smaller or raise the limit", limit, value, bound)
}
