package reference

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

// Status is how a run of the reference interpreter, or an instance, ended.
type Status string

// The statuses. An engine ends instances as Completed or Failed, and may refuse what is Refused.
const (
	Completed Status = "completed"
	Failed    Status = "failed"
	Canceled  Status = "canceled"  // of an instance only
	Refused   Status = "refused"   // the program or the input was not accepted; nothing ran
	Undecided Status = "undecided" // the interpreter's own budget is spent; the program may be right
)

// Types of the interpreter's own errors. An except cannot catch them: they fail the instance. Only an action's invalid or too
// large result is an error of the action, which can be retried and caught.
const (
	TypeExpression = expr.TypeExpression // a failing expression, a name without a value, a list that does not unpack
	TypeLimit      = expr.TypeLimit      // one of ir.Limits
	TypeResult     = "ResultError"       // an invalid result of an action
	TypeProgram    = "ProgramError"      // of Refused: the parser would not make this program, or an expression does not compile
	TypeInput      = "InputError"        // of Refused: main does not take this input
	TypeBudget     = "BudgetExceeded"    // of Undecided
)

const typeError = "Error"

// Error is an error in the workflow's terms. An Action sets Type and Message; the interpreter sets the rest.
type Error struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Action  string `json:"action"`            // which raised it; empty for the interpreter's own
	Pos     ir.Pos `json:"position,omitzero"` // of the action's call, or of what failed
}

// Error returns position, type and message in one line.
func (e *Error) Error() string {
	text := e.Type + ": " + e.Message
	if e.Action != "" {
		text = "@" + e.Action + ": " + text
	}
	if e.Pos.Line == 0 {
		return text
	}
	return e.Pos.String() + ": " + text
}

// Arg is a keyword argument with its value.
type Arg struct {
	Name  string
	Value expr.Value
}

// Args are the arguments of one call of an action, in the order of the text.
type Args []Arg

// Get returns the value of an argument; nil if it is missing.
func (a Args) Get(name string) expr.Value {
	for _, arg := range a {
		if arg.Name == name {
			return arg.Value
		}
	}
	return nil
}

// Action stands for the workers: it returns the result or the error of one attempt, counted from 1. A nil value without an
// error is None. An engine may run calls in another order, so to be comparable it must depend on its arguments only.
type Action func(name string, args Args, attempt int) (expr.Value, *Error)

// Call is one attempt of an action.
type Call struct {
	Action  string
	Args    Args
	Attempt int    // from 1
	Path    string // loop iterations and spread indices, outermost first, joined by dots
	Pos     ir.Pos
	Result  expr.Value // nil if Err is set
	Err     *Error

	// Optional means that an engine need not have made the call, since a sibling branch failed.
	Optional bool
}

// Outcome is everything visible of a run.
type Outcome struct {
	Status Status
	Result expr.Value
	Error  *Error // unless Completed
	Calls  []Call
}

// Options bounds a run. The zero value suffices.
type Options struct {
	Limits ir.Limits // of the language; as the engine's

	// StepsMax bounds the statements and calls of one run, so that it always ends; beyond it the outcome is Undecided. Zero
	// means 10,000,000.
	StepsMax int

	// Surface picks, by index, which of several different errors of the branches of one spread or parallel surfaces. The errors
	// are in the order of the branches. Nil means the first. Interpreter.Possible sets it.
	Surface func(errs []*Error) int
}

// stepsDefault ends a program that loops without calls within seconds.
const stepsDefault = 10_000_000

// Interpreter is a program with compiled expressions and resolved names. It is immutable and safe for concurrent use.
type Interpreter struct {
	main      *ir.Function
	functions map[string]*ir.Function
	exprs     map[*ir.Expr]*expr.Compiled
	ranges    map[*ir.Expr]*expr.Compiled // by a for over a range: its arguments, as a list
	limits    ir.Limits
}

// NewInterpreter compiles the expressions of a program and checks what the interpreter relies on. The error is an *Error of
// type TypeProgram. The program must not be changed afterwards.
func NewInterpreter(prog *ir.Program, limits ir.Limits) (*Interpreter, error) {
	r := &Interpreter{
		functions: map[string]*ir.Function{},
		exprs:     map[*ir.Expr]*expr.Compiled{},
		ranges:    map[*ir.Expr]*expr.Compiled{},
		limits:    limits.WithDefaults(),
	}
	for _, fn := range prog.Functions {
		if r.functions[fn.Name.Text] != nil {
			return nil, programError(fn.Pos, "two functions are named %s", fn.Name.Text)
		}
		r.functions[fn.Name.Text] = fn
	}
	if r.main = r.functions["main"]; r.main == nil {
		return nil, programError(ir.Pos{File: prog.File, Line: 1, Col: 1}, "no function main")
	}
	for _, fn := range prog.Functions {
		s := survey{reference: r}
		s.block(fn.Body)
		if s.err != nil {
			return nil, s.err
		}
	}
	return r, nil
}

func programError(pos ir.Pos, format string, args ...any) *Error {
	return &Error{Type: TypeProgram, Message: fmt.Sprintf(format, args...), Pos: pos}
}

// Interpret runs a program on an input, line by line: NewInterpreter and Interpreter.Run in one. A program that cannot be
// prepared is Refused.
func Interpret(prog *ir.Program, input json.RawMessage, action Action, opts Options) Outcome {
	r, err := NewInterpreter(prog, opts.Limits)
	if err != nil {
		var refused *Error
		errors.As(err, &refused)
		return Outcome{Status: Refused, Error: refused}
	}
	return r.Run(input, action, opts)
}

// Run interprets the program on an input: a JSON object with exactly the names of main's inputs. It ignores Options.Limits,
// which NewInterpreter received.
func (r *Interpreter) Run(input json.RawMessage, action Action, opts Options) Outcome {
	vars, refused := r.inputs(input)
	if refused != nil {
		return Outcome{Status: Refused, Error: refused}
	}
	m := &machine{Interpreter: r, action: action, surface: opts.Surface, stepsMax: opts.StepsMax}
	if m.stepsMax <= 0 {
		m.stepsMax = stepsDefault
	}
	result, fault := m.function(r.main, vars)
	switch {
	case fault == nil:
		return Outcome{Status: Completed, Result: result, Calls: m.calls}
	case fault.err.Type == TypeBudget:
		return Outcome{Status: Undecided, Error: fault.err, Calls: m.calls}
	}
	return Outcome{Status: Failed, Error: fault.err, Calls: m.calls}
}

func (r *Interpreter) inputs(input json.RawMessage) (map[string]expr.Value, *Error) {
	refuse := func(format string, args ...any) *Error {
		return &Error{Type: TypeInput, Message: fmt.Sprintf(format, args...), Pos: r.main.Pos}
	}
	v, err := expr.Decode(input, r.limits)
	if err != nil {
		return nil, refuse("%s", err)
	}
	dict, ok := v.(*starlark.Dict)
	if !ok {
		return nil, refuse("the input must be a JSON object, not a %s", v.Type())
	}
	vars := make(map[string]expr.Value, len(r.main.Inputs))
	for _, name := range r.main.Inputs {
		value, found, err := dict.Get(starlark.String(name.Text))
		if err != nil || !found {
			return nil, refuse("the input lacks %s", name.Text)
		}
		vars[name.Text] = value
	}
	for key := range dict.Entries() {
		if name := string(key.(starlark.String)); vars[name] == nil {
			return nil, refuse("main takes no %s; it takes %s", name, names(r.main.Inputs))
		}
	}
	return vars, nil
}

func names(list []ir.Name) string {
	if len(list) == 0 {
		return "nothing"
	}
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = n.Text
	}
	return strings.Join(texts, ", ")
}
