package reference

import (
	"cmp"
	"errors"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

func (m *machine) rhs(f *frame, rhs ir.RHS) (expr.Value, *fault) {
	switch rhs := rhs.(type) {
	case *ir.Expr:
		return m.eval(f, rhs)
	case *ir.Spread:
		return m.spread(f, rhs)
	case *ir.Parallel:
		return m.branches(rhs.Pos, len(rhs.Do), func(i int) (expr.Value, *fault) {
			return m.invoke(f, rhs.Do[i])
		})
	}
	return m.invoke(f, rhs)
}

func (m *machine) invoke(f *frame, do ir.RHS) (expr.Value, *fault) {
	if failed := m.step(do.Position()); failed != nil {
		return nil, failed
	}
	switch do := do.(type) {
	case *ir.Action:
		return m.act(f, do)
	case *ir.Call:
		return m.call(f, do)
	}
	return nil, fatal(do.Position(), TypeProgram, "a %T cannot be called", do)
}

func (m *machine) call(f *frame, c *ir.Call) (expr.Value, *fault) {
	args, failed := m.args(f, c.Args)
	if failed != nil {
		return nil, failed
	}
	vars := make(map[string]expr.Value, len(args))
	for _, a := range args {
		vars[a.Name] = a.Value
	}
	return m.function(m.functions[c.Name], vars)
}

// args evaluates keyword arguments in the order of the text.
func (m *machine) args(f *frame, args []ir.Arg) (Args, *fault) {
	out := make(Args, len(args))
	for i, a := range args {
		v, failed := m.eval(f, a.Value)
		if failed != nil {
			return nil, failed
		}
		out[i] = Arg{Name: a.Name.Text, Value: v}
	}
	return out, nil
}

// act calls an action until it succeeds or has no retry left. Its arguments are evaluated once.
func (m *machine) act(f *frame, a *ir.Action) (expr.Value, *fault) {
	args, failed := m.args(f, a.Args)
	if failed != nil {
		return nil, failed
	}
	for attempt := 1; ; attempt++ {
		if failed := m.step(a.Pos); failed != nil {
			return nil, failed
		}
		value, failed := m.attempt(a, args, attempt)
		if failed == nil {
			return value, nil
		}
		if failed.fatal || attempt > retries(a.Retries, failed.err.Type) {
			return nil, failed
		}
	}
}

// attempt records its call. An invalid or too large result is an error of the action.
func (m *machine) attempt(a *ir.Action, args Args, attempt int) (expr.Value, *fault) {
	call := Call{Action: a.Name, Args: args, Attempt: attempt, Path: string(m.path), Pos: a.Pos}
	value, raised := m.action(a.Name, args, attempt)
	if raised == nil && value == nil {
		value = starlark.None
	}
	if raised == nil {
		call.Result, raised = m.result(value)
	}
	var failed *fault
	if raised != nil {
		call.Err = &Error{Type: raised.Type, Message: raised.Message, Action: a.Name, Pos: a.Pos}
		call.Err.Type = cmp.Or(call.Err.Type, typeError)
		failed = &fault{err: call.Err}
	}
	m.calls = append(m.calls, call)
	return call.Result, failed
}

func (m *machine) result(v expr.Value) (expr.Value, *Error) {
	normal, err := expr.Normalize(v, m.limits)
	if err == nil {
		return normal, nil
	}
	var e *expr.EvalError
	if errors.As(err, &e) && e.Type == TypeLimit {
		return nil, &Error{Type: TypeLimit, Message: e.Msg}
	}
	return nil, &Error{Type: TypeResult, Message: withoutPosition(err)}
}

// retries returns how many attempts after the first an error allows: the first policy that matches it decides, whatever earlier
// attempts failed with.
func retries(policies []ir.Retry, typ string) int {
	for _, p := range policies {
		if matches(p.Types, typ) {
			return p.Count
		}
	}
	return 0
}

// spread runs its call once per element. The element's name is known only in the arguments of the call; a variable of the same
// name keeps its value.
func (m *machine) spread(f *frame, s *ir.Spread) (expr.Value, *fault) {
	list, failed := m.eval(f, s.Over)
	if failed != nil {
		return nil, failed
	}
	elements, failed := over(s.Over.Pos, "spread", list)
	if failed != nil {
		return nil, failed
	}
	if elements.len > m.limits.SpreadElements {
		return nil, limit(s.Pos, "elements of a spread", elements.len, m.limits.SpreadElements)
	}
	outer, had := f.vars[s.Item.Text]
	defer func() {
		if had {
			f.vars[s.Item.Text] = outer
		} else {
			delete(f.vars, s.Item.Text)
		}
	}()
	return m.branches(s.Pos, elements.len, func(i int) (value expr.Value, failed *fault) {
		f.vars[s.Item.Text] = elements.at(i)
		m.within(i, func() { value, failed = m.invoke(f, s.Do) })
		return value, failed
	})
}

// branches runs all branches of a spread or parallel in sequence, even if an earlier one failed, since an engine has started
// them all. The value is the list of their values.
func (m *machine) branches(pos ir.Pos, n int, run func(int) (expr.Value, *fault)) (expr.Value, *fault) {
	values := make([]expr.Value, n)
	var faults []*fault
	starts := make([]int, n+1)
	only := -1 // the failed branch, if it is the only one
	for i := range n {
		starts[i] = len(m.calls)
		value, failed := run(i)
		if failed != nil && failed.err.Type == TypeBudget {
			return nil, failed
		}
		if failed != nil {
			faults = append(faults, failed)
			only = i
		}
		values[i] = value
	}
	starts[n] = len(m.calls)
	if len(faults) == 0 {
		return m.list(pos, values)
	}
	for i := range n {
		if len(faults) > 1 || i != only {
			m.excuse(starts[i], starts[i+1])
		}
	}
	return nil, m.pick(faults)
}

// excuse marks calls that an engine need not have made.
func (m *machine) excuse(from, to int) {
	for i := from; i < to; i++ {
		m.calls[i].Optional = true
	}
}

func (m *machine) pick(faults []*fault) *fault {
	type identity struct {
		Error
		fatal bool
	}
	seen := make(map[identity]bool, len(faults))
	var different []*fault
	var errs []*Error
	for _, f := range faults {
		id := identity{*f.err, f.fatal}
		if seen[id] {
			continue
		}
		seen[id] = true
		different = append(different, f)
		errs = append(errs, f.err)
	}
	if m.surface == nil || len(different) == 1 {
		return different[0]
	}
	return different[m.surface(errs)]
}
