package expr

import (
	"slices"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"pulley/engine/ir"
)

// closure evaluates an expression of a common shape over decoded values, without Starlark. Where the result is not certain, as
// for an operand of another type, a name without a value or an index out of range, it reports false: then Starlark evaluates
// the whole expression, and reports what is wrong. Expressions have no effects, so nothing is done twice.
type closure func(args []Value) (v Value, ok bool)

const (
	closureDepth = 16
	// so that no result of two overflows
	closureInt = 1 << 31
	// of what a closure compares or makes
	closureText = 1_000
	closureList = 1_000
	// Below these limits there are no closures; above them no closure exceeds the limits.
	closureSteps = 100_000
	closureBytes = 16 * closureText
)

// closureOf returns nil if the shape has no closure.
func closureOf(tree syntax.Expr, names []string, lim ir.Limits) closure {
	if lim.ExpressionSteps < closureSteps || lim.ValueBytes < closureBytes {
		return nil
	}
	return (&closer{names: names}).expr(tree)
}

type closer struct {
	names []string
	depth int
}

func (c *closer) expr(e syntax.Expr) closure {
	c.depth++
	defer func() { c.depth-- }()
	if c.depth > closureDepth {
		return nil
	}
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return c.expr(e.X)
	case *syntax.Ident:
		return c.name(e.Name)
	case *syntax.Literal:
		return literalClosure(e)
	case *syntax.UnaryExpr:
		return c.unary(e)
	case *syntax.BinaryExpr:
		return c.binary(e)
	case *syntax.CondExpr:
		return c.cond(e)
	case *syntax.IndexExpr:
		return c.both(e.X, e.Y, indexed)
	case *syntax.SliceExpr:
		return c.slice(e)
	case *syntax.CallExpr:
		return c.call(e)
	}
	return nil
}

func constant(v Value) closure { return func([]Value) (Value, bool) { return v, true } }

func (c *closer) name(name string) closure {
	switch name {
	case "None":
		return constant(starlark.None)
	case "True":
		return constant(starlark.True)
	case "False":
		return constant(starlark.False)
	}
	i := slices.Index(c.names, name)
	if i < 0 {
		return nil
	}
	return func(args []Value) (Value, bool) { return args[i], args[i] != nil }
}

func literalClosure(e *syntax.Literal) closure {
	switch v := e.Value.(type) {
	case int64:
		return constant(starlark.MakeInt64(v))
	case string:
		if e.Token == syntax.STRING && len(v) <= closureText && utf8.ValidString(v) {
			return constant(starlark.String(v))
		}
	}
	return nil
}

func (c *closer) unary(e *syntax.UnaryExpr) closure {
	of := c.expr(e.X)
	if of == nil {
		return nil
	}
	switch e.Op {
	case syntax.NOT:
		return func(args []Value) (Value, bool) {
			v, ok := of(args)
			return starlark.Bool(ok && !bool(v.Truth())), ok
		}
	case syntax.MINUS:
		return func(args []Value) (Value, bool) {
			v, ok := of(args)
			n, isInt := smallInt(v)
			return starlark.MakeInt64(-n), ok && isInt
		}
	}
	return nil
}

func (c *closer) binary(e *syntax.BinaryExpr) closure {
	switch e.Op {
	case syntax.AND, syntax.OR:
		x, y := c.expr(e.X), c.expr(e.Y)
		if x == nil || y == nil {
			return nil
		}
		whenTrue := e.Op == syntax.AND
		return func(args []Value) (Value, bool) {
			v, ok := x(args)
			if !ok || bool(v.Truth()) != whenTrue {
				return v, ok
			}
			return y(args)
		}
	case syntax.PLUS, syntax.MINUS, syntax.STAR, syntax.SLASHSLASH, syntax.PERCENT:
		return c.both(e.X, e.Y, func(x, y Value) (Value, bool) { return calculated(e.Op, x, y) })
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		return c.both(e.X, e.Y, func(x, y Value) (Value, bool) { return compared(e.Op, x, y) })
	}
	return nil
}

func (c *closer) both(left, right syntax.Expr, do func(x, y Value) (Value, bool)) closure {
	x, y := c.expr(left), c.expr(right)
	if x == nil || y == nil {
		return nil
	}
	return func(args []Value) (Value, bool) {
		a, ok := x(args)
		if !ok {
			return nil, false
		}
		b, ok := y(args)
		if !ok {
			return nil, false
		}
		return do(a, b)
	}
}

func (c *closer) cond(e *syntax.CondExpr) closure {
	cond, yes, no := c.expr(e.Cond), c.expr(e.True), c.expr(e.False)
	if cond == nil || yes == nil || no == nil {
		return nil
	}
	return func(args []Value) (Value, bool) {
		v, ok := cond(args)
		switch {
		case !ok:
			return nil, false
		case bool(v.Truth()):
			return yes(args)
		}
		return no(args)
	}
}

func (c *closer) slice(e *syntax.SliceExpr) closure {
	if e.Lo == nil || e.Hi == nil || e.Step != nil {
		return nil
	}
	of, lo, hi := c.expr(e.X), c.expr(e.Lo), c.expr(e.Hi)
	if of == nil || lo == nil || hi == nil {
		return nil
	}
	return func(args []Value) (Value, bool) {
		v, ok := of(args)
		list, isList := v.(*starlark.List)
		if !ok || !isList || list.Len() > closureList {
			return nil, false
		}
		from, okFrom := bound(lo, args, list.Len())
		to, okTo := bound(hi, args, list.Len())
		if !okFrom || !okTo {
			return nil, false
		}
		part := list.Slice(from, max(from, to), 1)
		part.Freeze()
		return part, true
	}
}

// bound clamps a bound of a slice to length; a negative one counts from the end.
func bound(of closure, args []Value, length int) (int, bool) {
	v, ok := of(args)
	i, isInt := smallInt(v)
	if i < 0 {
		i += int64(length)
	}
	return int(min(max(i, 0), int64(length))), ok && isInt
}

func (c *closer) call(e *syntax.CallExpr) closure {
	if method, ok := e.Fn.(*syntax.DotExpr); ok && method.Name.Name == "get" {
		return c.get(method.X, e.Args)
	}
	fn, ok := e.Fn.(*syntax.Ident)
	if !ok || fn.Name != "len" || len(e.Args) != 1 {
		return nil
	}
	of := c.expr(e.Args[0]) // len(x=1), which Starlark refuses, has no closure
	if of == nil {
		return nil
	}
	return func(args []Value) (Value, bool) {
		v, ok := of(args)
		if !ok {
			return nil, false
		}
		switch v := v.(type) {
		case *starlark.List:
			return starlark.MakeInt(v.Len()), true
		case *starlark.Dict:
			return starlark.MakeInt(v.Len()), true
		}
		return nil, false
	}
}

func (c *closer) get(of syntax.Expr, args []syntax.Expr) closure {
	none := &syntax.Ident{Name: "None"}
	if len(args) == 1 {
		args = []syntax.Expr{args[0], none}
	}
	if len(args) != 2 {
		return nil
	}
	other := c.expr(args[1])
	find := c.both(of, args[0], found)
	if other == nil || find == nil {
		return nil
	}
	return func(args []Value) (Value, bool) {
		v, ok := find(args)
		instead, okInstead := other(args) // evaluated in any case, as in Starlark
		if v == nil {
			v = instead
		}
		return v, ok && okInstead
	}
}

func found(x, y Value) (Value, bool) {
	dict, isDict := x.(*starlark.Dict)
	key, isString := y.(starlark.String)
	if !isDict || !isString || len(key) > closureText {
		return nil, false
	}
	v, has, err := dict.Get(key)
	if !has {
		v = nil
	}
	return v, err == nil
}

func smallInt(v Value) (int64, bool) {
	i, ok := v.(starlark.Int)
	if !ok {
		return 0, false
	}
	n, ok := i.Int64()
	return n, ok && -closureInt < n && n < closureInt
}

// Two small ints, or short strings to join.
func calculated(op syntax.Token, x, y Value) (Value, bool) {
	if a, ok := x.(starlark.String); ok {
		b, ok := y.(starlark.String)
		if !ok || op != syntax.PLUS || len(a)+len(b) > closureText {
			return nil, false
		}
		return a + b, true
	}
	a, okA := smallInt(x)
	b, okB := smallInt(y)
	if !okA || !okB {
		return nil, false
	}
	switch op {
	case syntax.PLUS:
		return starlark.MakeInt64(a + b), true
	case syntax.MINUS:
		return starlark.MakeInt64(a - b), true
	case syntax.STAR:
		return starlark.MakeInt64(a * b), true
	}
	if b == 0 {
		return nil, false
	}
	quotient, rest := a/b, a%b
	if rest != 0 && (rest < 0) != (b < 0) { // // and % round down; Go rounds to zero
		quotient, rest = quotient-1, rest+b
	}
	if op == syntax.SLASHSLASH {
		return starlark.MakeInt64(quotient), true
	}
	return starlark.MakeInt64(rest), true
}

// The conversion is exact.
func number(v Value) (float64, bool) {
	if f, ok := v.(starlark.Float); ok {
		return float64(f), true
	}
	n, ok := smallInt(v)
	return float64(n), ok
}

// Two floats or small ints, or two short strings for == and !=.
func compared(op syntax.Token, x, y Value) (Value, bool) {
	if a, ok := x.(starlark.String); ok {
		b, ok := y.(starlark.String)
		if !ok || op != syntax.EQL && op != syntax.NEQ || max(len(a), len(b)) > closureText {
			return nil, false
		}
		return starlark.Bool((a == b) == (op == syntax.EQL)), true
	}
	a, okA := number(x)
	b, okB := number(y)
	if !okA || !okB {
		return nil, false
	}
	holds := false
	switch op {
	case syntax.EQL:
		holds = a == b
	case syntax.NEQ:
		holds = a != b
	case syntax.LT:
		holds = a < b
	case syntax.LE:
		holds = a <= b
	case syntax.GT:
		holds = a > b
	case syntax.GE:
		holds = a >= b
	}
	return starlark.Bool(holds), true
}

func indexed(x, y Value) (Value, bool) {
	switch x := x.(type) {
	case *starlark.List:
		i, ok := smallInt(y)
		if i < 0 {
			i += int64(x.Len())
		}
		if !ok || i < 0 || i >= int64(x.Len()) {
			return nil, false
		}
		return x.Index(int(i)), true
	case *starlark.Dict:
		v, ok := found(x, y)
		return v, ok && v != nil
	}
	return nil, false
}
