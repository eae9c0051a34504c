package expr

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"pulley/engine/ir"
)

// Compiled is a compiled expression. It is immutable; goroutines may share it.
type Compiled struct {
	expr  *ir.Expr
	lim   ir.Limits
	names []string
	fn    *starlark.Function // its parameters are names, in order

	closure closure

	bare  bool
	fixed func() (Value, *EvalError) // result, computed once, without names; else nil
}

var options = &syntax.FileOptions{}

// Compile parses and checks e. The error is an *ir.Error at the position of e: for text that is no expression, for what the
// language lacks (see the package comment), and for what is over lim.
func Compile(e *ir.Expr, lim ir.Limits) (_ *Compiled, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = ir.Errorf(e.Pos, "this expression cannot be compiled (%s); write it differently", oneLine(fmt.Sprint(cause)))
		}
	}()
	lim = lim.WithDefaults()
	if len(e.Text) > lim.SourceBytes {
		return nil, ir.LimitError(e.Pos, "bytes of an expression", len(e.Text), lim.SourceBytes)
	}
	tree, err := options.ParseExpr(e.Pos.File, e.Text, 0)
	if err != nil {
		return nil, ir.Errorf(e.Pos, "%s", parseMessage(err))
	}
	c := &Compiled{expr: e, lim: lim}
	name, bare := tree.(*syntax.Ident)
	c.bare = bare && !isConstant(name.Name)
	r := &rewriter{pos: e.Pos, nesting: lim.Nesting, free: map[string]bool{}}
	if tree, err = r.expr(tree); err != nil {
		return nil, err
	}
	c.names = slices.Sorted(maps.Keys(r.free))
	if c.bare {
		return c, nil // the value of its name; there is nothing to call
	}
	if c.fn, err = function(c.names, tree); err != nil {
		return nil, ir.Errorf(e.Pos, "%s", parseMessage(err))
	}
	if len(c.names) == 0 {
		c.fixed = sync.OnceValues(func() (Value, *EvalError) { return c.run(nil) })
		return c, nil
	}
	if tree, err = options.ParseExpr(e.Pos.File, e.Text, 0); err != nil { // the first tree was rewritten in place
		return nil, ir.Errorf(e.Pos, "%s", parseMessage(err))
	}
	c.closure = closureOf(tree, c.names, lim)
	return c, nil
}

// The position is relative to the expression.
func parseMessage(err error) string {
	var syntaxError syntax.Error
	var resolveErrors resolve.ErrorList
	switch {
	case errors.As(err, &syntaxError):
		return oneLine(syntaxError.Msg)
	case errors.As(err, &resolveErrors) && len(resolveErrors) > 0:
		return oneLine(resolveErrors[0].Msg)
	}
	return oneLine(err.Error())
}

func function(names []string, body syntax.Expr) (*starlark.Function, error) {
	params := make([]syntax.Expr, len(names))
	for i, name := range names {
		params[i] = &syntax.Ident{Name: name}
	}
	lambda := &syntax.LambdaExpr{Params: params, Body: body}
	v, err := starlark.EvalExprOptions(options, new(starlark.Thread), lambda, checked)
	if err != nil {
		return nil, err
	}
	return v.(*starlark.Function), nil
}

// Names returns the free names of the expression, sorted. The caller must not change it.
func (c *Compiled) Names() []string { return c.names }

// Expr returns the source expression.
func (c *Compiled) Expr() *ir.Expr { return c.expr }

// Eval evaluates the expression with args[i] as the value of Names()[i]. A nil argument is a name without a value, an error
// only if it is read. Arguments must be Values. The result is a Value, and may share parts with them. The error is an
// *EvalError.
func (c *Compiled) Eval(args []Value) (Value, error) {
	if len(args) != len(c.names) {
		return nil, c.errorf("got %d values for the %d names of the expression", len(args), len(c.names))
	}
	if c.bare {
		if args[0] == nil {
			return nil, c.errorf("%s", noValue(c.names[0]))
		}
		return args[0], nil
	}
	if c.closure != nil {
		if v, ok := c.closure(args); ok {
			return v, nil
		}
	}
	eval := c.fixed
	if eval == nil {
		eval = func() (Value, *EvalError) { return c.run(args) }
	}
	v, err := eval()
	if err != nil { // a nil *EvalError must not become a non-nil error
		return nil, err
	}
	return v, nil
}

func (c *Compiled) errorf(format string, args ...any) *EvalError {
	return &EvalError{Pos: c.expr.Pos, Type: TypeExpression, Msg: fmt.Sprintf(format, args...)}
}

// A panic makes the meter unusable.
func (c *Compiled) run(args []Value) (v Value, failed *EvalError) {
	defer func() {
		if cause := recover(); cause != nil {
			v, failed = nil, c.errorf("the evaluation broke off: %s", oneLine(fmt.Sprint(cause)))
		}
	}()
	m := newMeter(c.lim)
	result, err := starlark.Call(&m.thread, c.fn, args, nil)
	if err == nil {
		v, err = normalize(result, c.lim.ValueBytes)
	}
	if err != nil {
		failed = m.evalError(c.expr.Pos, err)
	}
	m.release()
	return v, failed
}
