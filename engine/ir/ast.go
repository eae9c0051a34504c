package ir

import (
	"fmt"
	"time"
)

// Pos is a position in a source file. Line and Col count from 1, Col in characters. The zero Pos means "nowhere": a node built
// in Go.
type Pos struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
}

// String returns file:line:col, or "-" for the zero Pos.
func (p Pos) String() string {
	if p.Line == 0 {
		return "-"
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Program is a parsed source file. Function names are unique and one of them is main.
type Program struct {
	File      string
	Functions []*Function
}

// Function is one fn of a program.
type Function struct {
	Pos     Pos // of the word fn
	Name    Name
	Inputs  []Name
	Outputs []Name
	Body    []Stmt // at least one
}

// Name is a name with its position.
type Name struct {
	Pos  Pos
	Text string
}

// Stmt is a statement: *Assign, *For, *While, *If, *Try, *Return, *Break, *Continue, *Pass or *Sleep.
type Stmt interface {
	Position() Pos
	stmt()
}

// Assign binds the value of a right-hand side. Without targets the value is dropped; with several the value must be a list of
// that length.
type Assign struct {
	Pos     Pos
	Targets []Name
	Value   RHS
}

// For runs Body once per element of Over, in order. Two targets unpack each element.
type For struct {
	Pos     Pos
	Targets []Name // one or two
	Over    *Expr
	Body    []Stmt
}

// While runs Body while Cond holds.
type While struct {
	Pos  Pos
	Cond *Expr
	Body []Stmt
}

// If runs the body of the first arm whose condition holds. Else may be nil.
type If struct {
	Pos  Pos
	Arms []Arm // at least one: if, then the elifs
	Else []Stmt
}

// Arm is a condition of an If with its body.
type Arm struct {
	Pos  Pos
	Cond *Expr
	Body []Stmt
}

// Try runs Body. The first handler that matches its error runs instead of the rest of Body.
type Try struct {
	Pos      Pos
	Body     []Stmt
	Handlers []Handler // at least one
}

// Handler is one except. No types, or the type Exception, catches every error.
type Handler struct {
	Pos   Pos
	Types []Name
	As    *Name // nil: the error is not bound
	Body  []Stmt
}

// Return leaves the function with the values, in order.
type Return struct {
	Pos    Pos
	Values []*Expr
}

// Break leaves the innermost loop.
type Break struct{ Pos Pos }

// Continue starts the next round of the innermost loop.
type Continue struct{ Pos Pos }

// Pass does nothing.
type Pass struct{ Pos Pos }

// Sleep waits for a number of seconds, durably.
type Sleep struct {
	Pos     Pos
	Seconds *Expr
}

// RHS is a right-hand side: *Expr, *Action, *Call, *Spread or *Parallel.
type RHS interface {
	Position() Pos
	rhs()
}

// Expr is an expression. Text is its canonical print, in one line, from which it is compiled. Expressions that differ only in
// layout have the same Text.
type Expr struct {
	Pos  Pos
	Text string
}

// Invocation is what a spread runs per element and a parallel runs together: *Action or *Call.
type Invocation interface {
	RHS
	invocation()
}

// Action is a call that a worker runs.
type Action struct {
	Pos     Pos
	Name    string // dotted
	Args    []Arg
	Retries []Retry
	Timeout time.Duration // zero: no timeout
}

// Arg is a keyword argument.
type Arg struct {
	Name  Name
	Value *Expr
}

// Retry tells how often an action is retried after an error of one of the types; no types, or the type Exception, means any
// error. The first Retry of an action that matches decides.
type Retry struct {
	Pos     Pos
	Types   []Name
	Count   int           // attempts after the first
	Backoff time.Duration // before the second attempt, doubled with each further one; zero: none
}

// Call runs another function of the program; it is expanded in place.
type Call struct {
	Pos  Pos
	Name string
	Args []Arg
}

// Spread runs Do once per element of Over, with the element bound to Item. Its value is the list of results in the order of
// Over. Limit bounds how many run at once; zero: no limit.
type Spread struct {
	Pos   Pos
	Over  *Expr
	Item  Name
	Limit int
	Do    Invocation
}

// Parallel runs its calls together. Its value is the list of results in the order of the text.
type Parallel struct {
	Pos Pos
	Do  []Invocation // at least one
}

// Position is that of the first target, or else of the value.
func (s *Assign) Position() Pos { return s.Pos }

// Position is that of the word for.
func (s *For) Position() Pos { return s.Pos }

// Position is that of the word while.
func (s *While) Position() Pos { return s.Pos }

// Position is that of the word if.
func (s *If) Position() Pos { return s.Pos }

// Position is that of the word try.
func (s *Try) Position() Pos { return s.Pos }

// Position is that of the word return.
func (s *Return) Position() Pos { return s.Pos }

// Position is that of the word break.
func (s *Break) Position() Pos { return s.Pos }

// Position is that of the word continue.
func (s *Continue) Position() Pos { return s.Pos }

// Position is that of the word pass.
func (s *Pass) Position() Pos { return s.Pos }

// Position is that of the word sleep.
func (s *Sleep) Position() Pos { return s.Pos }

// Position is that of the first character.
func (e *Expr) Position() Pos { return e.Pos }

// Position is that of the @.
func (a *Action) Position() Pos { return a.Pos }

// Position is that of the name.
func (c *Call) Position() Pos { return c.Pos }

// Position is that of the word spread.
func (s *Spread) Position() Pos { return s.Pos }

// Position is that of the word parallel.
func (p *Parallel) Position() Pos { return p.Pos }

func (*Assign) stmt()   {}
func (*For) stmt()      {}
func (*While) stmt()    {}
func (*If) stmt()       {}
func (*Try) stmt()      {}
func (*Return) stmt()   {}
func (*Break) stmt()    {}
func (*Continue) stmt() {}
func (*Pass) stmt()     {}
func (*Sleep) stmt()    {}

func (*Expr) rhs()     {}
func (*Action) rhs()   {}
func (*Call) rhs()     {}
func (*Spread) rhs()   {}
func (*Parallel) rhs() {}

func (*Action) invocation() {}
func (*Call) invocation()   {}
