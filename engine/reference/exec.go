package reference

import (
	"fmt"
	"strconv"

	"pulley/internal/clip"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

type machine struct {
	*Interpreter
	action   Action
	surface  func([]*Error) int
	stepsMax int
	steps    int    // statements, rounds of loops and calls so far
	path     []byte // current iterations and indices, joined by dots
	depth    int
	calls    []Call
}

type frame struct {
	vars   map[string]expr.Value
	result expr.Value
}

// fault is an error on its way outward. A fatal one cannot be caught.
type fault struct {
	err   *Error
	fatal bool
}

type flow int

const (
	onward flow = iota
	breaking
	continuing
	returning
)

func fatal(pos ir.Pos, typ, format string, args ...any) *fault {
	return &fault{fatal: true, err: &Error{Type: typ, Message: fmt.Sprintf(format, args...), Pos: pos}}
}

func limit(pos ir.Pos, what string, value, bound int) *fault {
	return fatal(pos, TypeLimit, "%s", ir.LimitError(pos, what, value, bound).Msg)
}

func (m *machine) step(pos ir.Pos) *fault {
	if m.steps >= m.stepsMax {
		return fatal(pos, TypeBudget, "the reference interpreter stopped after %d steps; raise Options.StepsMax", m.steps)
	}
	m.steps++
	return nil
}

func (m *machine) function(fn *ir.Function, vars map[string]expr.Value) (expr.Value, *fault) {
	if m.depth >= m.limits.Nesting {
		return nil, limit(fn.Pos, "nesting of calls", m.depth+1, m.limits.Nesting)
	}
	m.depth++
	defer func() { m.depth-- }()
	f := &frame{vars: vars}
	how, failed := m.block(f, fn.Body)
	switch {
	case failed != nil:
		return nil, failed
	case how == returning:
		return f.result, nil
	}
	return m.outputs(f, fn)
}

func (m *machine) outputs(f *frame, fn *ir.Function) (expr.Value, *fault) {
	values := make([]expr.Value, len(fn.Outputs))
	for i, out := range fn.Outputs {
		if values[i] = f.vars[out.Text]; values[i] == nil {
			return nil, fatal(out.Pos, TypeExpression, "%s has no value here", out.Text)
		}
	}
	switch len(values) {
	case 0:
		return starlark.None, nil
	case 1:
		return values[0], nil
	}
	return m.list(fn.Pos, values)
}

func (m *machine) block(f *frame, stmts []ir.Stmt) (flow, *fault) {
	for _, s := range stmts {
		if how, failed := m.stmt(f, s); failed != nil || how != onward {
			return how, failed
		}
	}
	return onward, nil
}

func (m *machine) stmt(f *frame, s ir.Stmt) (flow, *fault) {
	if failed := m.step(s.Position()); failed != nil {
		return onward, failed
	}
	switch s := s.(type) {
	case *ir.Assign:
		value, failed := m.rhs(f, s.Value)
		if failed != nil {
			return onward, failed
		}
		return onward, m.assign(f, s.Pos, s.Targets, value)
	case *ir.For:
		return m.forLoop(f, s)
	case *ir.While:
		return m.whileLoop(f, s)
	case *ir.If:
		return m.branch(f, s)
	case *ir.Try:
		return m.try(f, s)
	case *ir.Return:
		return m.returns(f, s)
	case *ir.Break:
		return breaking, nil
	case *ir.Continue:
		return continuing, nil
	case *ir.Sleep:
		return onward, m.sleep(f, s)
	}
	return onward, nil // pass
}

// assign binds targets; several unpack a list of their number.
func (m *machine) assign(f *frame, pos ir.Pos, targets []ir.Name, value expr.Value) *fault {
	switch len(targets) {
	case 0:
		return nil
	case 1:
		f.vars[targets[0].Text] = value
		return nil
	}
	list, ok := value.(*starlark.List)
	if !ok {
		return fatal(pos, TypeExpression, "a %s cannot be unpacked into %d names; only a list can", value.Type(), len(targets))
	}
	if list.Len() != len(targets) {
		return fatal(pos, TypeExpression, "a list of %d cannot be unpacked into %d names", list.Len(), len(targets))
	}
	for i, t := range targets {
		f.vars[t.Text] = list.Index(i)
	}
	return nil
}

func (m *machine) forLoop(f *frame, s *ir.For) (flow, *fault) {
	elements, failed := m.loopOver(f, s.Over)
	if failed != nil {
		return onward, failed
	}
	for i := 0; i < elements.len; i++ {
		if failed := m.step(s.Pos); failed != nil {
			return onward, failed
		}
		if failed := m.assign(f, s.Pos, s.Targets, elements.at(i)); failed != nil {
			return onward, failed
		}
		if i >= m.limits.LoopIterations {
			return onward, limit(s.Pos, "loop iterations", i+1, m.limits.LoopIterations)
		}
		how, failed := m.round(f, i, s.Body)
		if failed != nil || how == returning {
			return how, failed
		}
		if how == breaking {
			break
		}
	}
	return onward, nil
}

func (m *machine) whileLoop(f *frame, s *ir.While) (flow, *fault) {
	for i := 0; ; i++ {
		if failed := m.step(s.Pos); failed != nil {
			return onward, failed
		}
		cond, failed := m.eval(f, s.Cond)
		if failed != nil {
			return onward, failed
		}
		if !expr.Truth(cond) {
			return onward, nil
		}
		if i >= m.limits.LoopIterations {
			return onward, limit(s.Pos, "loop iterations", i+1, m.limits.LoopIterations)
		}
		how, failed := m.round(f, i, s.Body)
		if failed != nil || how == returning {
			return how, failed
		}
		if how == breaking {
			return onward, nil
		}
	}
}

func (m *machine) round(f *frame, i int, body []ir.Stmt) (how flow, failed *fault) {
	m.within(i, func() { how, failed = m.block(f, body) })
	return how, failed
}

// within adds an index at the inner end of the path.
func (m *machine) within(i int, run func()) {
	outer := len(m.path)
	if outer > 0 {
		m.path = append(m.path, '.')
	}
	m.path = strconv.AppendInt(m.path, int64(i), 10)
	run()
	m.path = m.path[:outer]
}

func (m *machine) branch(f *frame, s *ir.If) (flow, *fault) {
	for _, arm := range s.Arms {
		cond, failed := m.eval(f, arm.Cond)
		if failed != nil {
			return onward, failed
		}
		if expr.Truth(cond) {
			return m.block(f, arm.Body)
		}
	}
	return m.block(f, s.Else)
}

func (m *machine) try(f *frame, s *ir.Try) (flow, *fault) {
	how, failed := m.block(f, s.Body)
	if failed == nil || failed.fatal {
		return how, failed
	}
	for _, h := range s.Handlers {
		if !matches(h.Types, failed.err.Type) {
			continue
		}
		if h.As != nil {
			f.vars[h.As.Text] = expr.NewError(failed.err.Type, failed.err.Message, failed.err.Action)
		}
		return m.block(f, h.Body)
	}
	return onward, failed
}

// matches takes no types, or Exception, as every type.
func matches(types []ir.Name, typ string) bool {
	for _, t := range types {
		if t.Text == typ || t.Text == "Exception" {
			return true
		}
	}
	return len(types) == 0
}

func (m *machine) returns(f *frame, s *ir.Return) (flow, *fault) {
	values := make([]expr.Value, len(s.Values))
	for i, e := range s.Values {
		var failed *fault
		if values[i], failed = m.eval(f, e); failed != nil {
			return onward, failed
		}
	}
	switch len(values) {
	case 0:
		f.result = starlark.None
	case 1:
		f.result = values[0]
	default:
		list, failed := m.list(s.Pos, values)
		if failed != nil {
			return onward, failed
		}
		f.result = list
	}
	return returning, nil
}

// sleep checks the number of seconds; the interpreter does not wait.
func (m *machine) sleep(f *frame, s *ir.Sleep) *fault {
	v, failed := m.eval(f, s.Seconds)
	if failed != nil {
		return failed
	}
	switch n := v.(type) {
	case starlark.Int:
		if n.Sign() >= 0 {
			return nil
		}
	case starlark.Float:
		if n >= 0 {
			return nil
		}
	}
	return fatal(s.Seconds.Pos, TypeExpression, "sleep needs a number of seconds that is not negative, not %s", clip.Runes(v.String(), 40))
}

func (m *machine) eval(f *frame, e *ir.Expr) (expr.Value, *fault) {
	return m.evaluate(f, e.Pos, m.exprs[e])
}

func (m *machine) evaluate(f *frame, pos ir.Pos, c *expr.Compiled) (expr.Value, *fault) {
	free := c.Names()
	args := make([]expr.Value, len(free))
	for i, name := range free {
		args[i] = f.vars[name]
	}
	v, err := c.Eval(args)
	if err != nil {
		return nil, evalFault(pos, err)
	}
	return v, nil
}

func evalFault(pos ir.Pos, err error) *fault {
	e, ok := err.(*expr.EvalError)
	if !ok {
		return fatal(pos, TypeExpression, "%s", err)
	}
	if e.Pos.Line != 0 {
		pos = e.Pos
	}
	return fatal(pos, e.Type, "%s", e.Msg)
}

func (m *machine) list(pos ir.Pos, values []expr.Value) (expr.Value, *fault) {
	v, err := expr.Normalize(starlark.NewList(values), m.limits)
	if err != nil {
		return nil, evalFault(pos, err)
	}
	return v, nil
}
