package reference

import (
	"go.starlark.net/syntax"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

// survey walks a function before it runs. It compiles every expression and checks what the parser guarantees, since a tree may
// also come from a Go program.
type survey struct {
	reference *Interpreter
	loops     int
	err       *Error
}

func (s *survey) fail(pos ir.Pos, format string, args ...any) {
	if s.err == nil {
		s.err = programError(pos, format, args...)
	}
}

func (s *survey) block(stmts []ir.Stmt) {
	for _, stmt := range stmts {
		s.stmt(stmt)
	}
}

func (s *survey) stmt(stmt ir.Stmt) {
	switch stmt := stmt.(type) {
	case *ir.Assign:
		s.rhs(stmt.Pos, stmt.Value)
	case *ir.For:
		s.expr(stmt.Pos, stmt.Over)
		s.rangeOver(stmt.Over)
		s.loop(stmt.Body)
	case *ir.While:
		s.expr(stmt.Pos, stmt.Cond)
		s.loop(stmt.Body)
	case *ir.If:
		for _, arm := range stmt.Arms {
			s.expr(arm.Pos, arm.Cond)
			s.block(arm.Body)
		}
		s.block(stmt.Else)
	case *ir.Try:
		s.block(stmt.Body)
		for _, h := range stmt.Handlers {
			s.block(h.Body)
		}
	case *ir.Return:
		for _, v := range stmt.Values {
			s.expr(stmt.Pos, v)
		}
	case *ir.Break, *ir.Continue:
		if s.loops == 0 {
			s.fail(stmt.Position(), "break and continue stand inside a loop only")
		}
	case *ir.Sleep:
		s.expr(stmt.Pos, stmt.Seconds)
	case *ir.Pass:
	default:
		s.fail(ir.Pos{}, "a statement of unknown kind %T", stmt)
	}
}

func (s *survey) loop(body []ir.Stmt) {
	s.loops++
	s.block(body)
	s.loops--
}

func (s *survey) rhs(pos ir.Pos, rhs ir.RHS) {
	switch rhs := rhs.(type) {
	case *ir.Expr:
		s.expr(pos, rhs)
	case *ir.Action:
		s.args(rhs.Args)
	case *ir.Call:
		s.call(rhs)
	case *ir.Spread:
		s.expr(rhs.Pos, rhs.Over)
		s.invocation(rhs.Pos, rhs.Do)
	case *ir.Parallel:
		for _, do := range rhs.Do {
			s.invocation(rhs.Pos, do)
		}
	default:
		s.fail(pos, "a right-hand side of unknown kind %T", rhs)
	}
}

func (s *survey) invocation(pos ir.Pos, do ir.Invocation) {
	if do == nil {
		s.fail(pos, "a spread or parallel without its call")
		return
	}
	s.rhs(pos, do)
}

func (s *survey) call(c *ir.Call) {
	s.args(c.Args)
	fn := s.reference.functions[c.Name]
	if fn == nil {
		s.fail(c.Pos, "no function %s", c.Name)
		return
	}
	given := make(map[string]bool, len(c.Args))
	for _, arg := range c.Args {
		given[arg.Name.Text] = true
	}
	for _, in := range fn.Inputs {
		if !given[in.Text] {
			s.fail(c.Pos, "the call of %s lacks %s", c.Name, in.Text)
		}
		delete(given, in.Text)
	}
	if len(given) > 0 || len(c.Args) > len(fn.Inputs) {
		s.fail(c.Pos, "the call of %s has an argument that it does not take; it takes %s", c.Name, names(fn.Inputs))
	}
}

func (s *survey) args(args []ir.Arg) {
	for _, arg := range args {
		s.expr(arg.Name.Pos, arg.Value)
	}
}

func (s *survey) expr(pos ir.Pos, e *ir.Expr) {
	if e == nil {
		s.fail(pos, "an expression is missing")
		return
	}
	if s.err != nil || s.reference.exprs[e] != nil {
		return
	}
	compiled, err := expr.Compile(e, s.reference.limits)
	if err != nil {
		s.fail(e.Pos, "%s", withoutPosition(err))
		return
	}
	s.reference.exprs[e] = compiled
}

func withoutPosition(err error) string {
	switch err := err.(type) {
	case *ir.Error:
		return err.Msg
	case *expr.EvalError:
		return err.Msg
	}
	return err.Error()
}

// rangeOver prepares a loop over a range. Its numbers are made one at a time: their list may be too large for a value, and the
// loop may be left early.
func (s *survey) rangeOver(e *ir.Expr) {
	if s.err != nil {
		return
	}
	tree, err := (&syntax.FileOptions{}).ParseExpr("", e.Text, 0)
	if err != nil {
		return
	}
	call, ok := tree.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	if fn, ok := call.Fn.(*syntax.Ident); !ok || fn.Name != "range" {
		return
	}
	open, end := int(call.Lparen.Col), int(call.Rparen.Col) // in characters, from 1
	args := string([]rune(e.Text)[open : end-1])
	if compiled, err := expr.Compile(&ir.Expr{Pos: e.Pos, Text: "[" + args + "]"}, s.reference.limits); err == nil {
		s.reference.ranges[e] = compiled
	}
}
