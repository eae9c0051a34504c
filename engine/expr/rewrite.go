package expr

import (
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"pulley/engine/ir"
)

// The tree of a + b + c … is as deep as it has operators.
const depthOfTree = 4000

// Up to this length a literal string is compared or looked up without a charge.
const cheapBytes = 64

// rewriter checks a syntax tree and replaces what could do unbounded work in one step by calls of checked functions. A program
// cannot contain their names.
type rewriter struct {
	pos      ir.Pos
	nesting  int
	brackets int
	depth    int
	bound    []map[string]bool
	free     map[string]bool
}

func (r *rewriter) refuse(format string, args ...any) error {
	return ir.Errorf(r.pos, format, args...)
}

// bracket enters a pair of brackets; the caller leaves it with r.brackets--.
func (r *rewriter) bracket() error {
	r.brackets++
	if r.brackets > r.nesting {
		return ir.LimitError(r.pos, "nesting of brackets", r.brackets, r.nesting)
	}
	return nil
}

func (r *rewriter) expr(e syntax.Expr) (syntax.Expr, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > depthOfTree {
		return nil, ir.LimitError(r.pos, "depth of an expression", r.depth, depthOfTree)
	}
	switch e := e.(type) {
	case *syntax.Ident:
		return r.name(e), nil
	case *syntax.Literal:
		if e.Token == syntax.BYTES {
			return nil, r.refuse("bytes are not values; write a string")
		}
		return e, nil
	case *syntax.UnaryExpr:
		return r.unary(e)
	case *syntax.BinaryExpr:
		return r.binary(e)
	case *syntax.CondExpr:
		return e, r.each(&e.Cond, &e.True, &e.False)
	case *syntax.LambdaExpr:
		return nil, r.refuse("there is no lambda; write a comprehension")
	}
	if err := r.bracket(); err != nil {
		return nil, err
	}
	defer func() { r.brackets-- }()
	return r.bracketed(e)
}

func (r *rewriter) bracketed(e syntax.Expr) (syntax.Expr, error) {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return r.expr(e.X)
	case *syntax.TupleExpr:
		return nil, r.refuse("there are no tuples; write a list: [a, b]")
	case *syntax.ListExpr:
		return e, r.all(e.List)
	case *syntax.DictExpr:
		for _, item := range e.List {
			if err := r.entry(item.(*syntax.DictEntry)); err != nil {
				return nil, err
			}
		}
		return checkedCall(displayName, e.Lbrace, e), nil
	case *syntax.Comprehension:
		if err := r.comprehension(e); err != nil || !e.Curly {
			return e, err
		}
		return checkedCall(displayName, e.Lbrack, e), nil
	case *syntax.CallExpr:
		return r.call(e)
	case *syntax.IndexExpr:
		if err := r.each(&e.X, &e.Y); err != nil || isCheap(e.Y) {
			return e, err
		}
		return checkedCall(indexName, e.Lbrack, e.X, e.Y), nil
	case *syntax.SliceExpr:
		return r.slice(e)
	case *syntax.DotExpr:
		return nil, r.refuse(`values have no fields; write x["%s"] for x.%s`, e.Name.Name, e.Name.Name)
	}
	return nil, r.refuse("this is not an expression of the language")
}

func (r *rewriter) each(exprs ...*syntax.Expr) (err error) {
	for _, e := range exprs {
		if *e, err = r.expr(*e); err != nil {
			return err
		}
	}
	return nil
}

func (r *rewriter) all(exprs []syntax.Expr) (err error) {
	for i := range exprs {
		if exprs[i], err = r.expr(exprs[i]); err != nil {
			return err
		}
	}
	return nil
}

func isConstant(name string) bool {
	return name == "None" || name == "True" || name == "False"
}

func (r *rewriter) name(e *syntax.Ident) syntax.Expr {
	bound := slices.ContainsFunc(r.bound, func(names map[string]bool) bool { return names[e.Name] })
	if !bound && !isConstant(e.Name) {
		r.free[e.Name] = true
	}
	return e
}

func (r *rewriter) unary(e *syntax.UnaryExpr) (syntax.Expr, error) {
	if e.Op != syntax.NOT && e.Op != syntax.MINUS {
		return nil, r.refuse("there is no operator %s before a value; write not or -", e.Op)
	}
	if err := r.each(&e.X); err != nil || e.Op == syntax.NOT || isCheap(e.X) {
		return e, err
	}
	return checkedCall(minusName, e.OpPos, e.X), nil
}

func (r *rewriter) binary(e *syntax.BinaryExpr) (syntax.Expr, error) {
	if err := r.each(&e.X, &e.Y); err != nil {
		return nil, err
	}
	switch e.Op {
	case syntax.AND, syntax.OR:
		return e, nil
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		if isCheap(e.X) || isCheap(e.Y) {
			return e, nil
		}
	}
	if _, ok := operators[e.Op]; !ok {
		return nil, r.refuse("there is no operator %s", e.Op)
	}
	return checkedCall(e.Op.String(), e.OpPos, e.X, e.Y), nil
}

// isCheap reports whether comparing with e, looking it up or negating it is fast for any other operand.
func isCheap(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Ident:
		return isConstant(e.Name)
	case *syntax.Literal:
		switch v := e.Value.(type) {
		case int64:
			return true
		case string:
			return len(v) <= cheapBytes
		}
	case *syntax.UnaryExpr:
		literal, ok := e.X.(*syntax.Literal)
		return ok && e.Op == syntax.MINUS && literal.Token == syntax.INT && isCheap(literal)
	}
	return false
}

func (r *rewriter) entry(e *syntax.DictEntry) error {
	if err := r.each(&e.Key, &e.Value); err != nil {
		return err
	}
	if literal, ok := e.Key.(*syntax.Literal); ok && literal.Token == syntax.STRING {
		return nil
	}
	e.Key = checkedCall(keyName, e.Colon, e.Key)
	return nil
}

func (r *rewriter) slice(e *syntax.SliceExpr) (syntax.Expr, error) {
	none := &syntax.Ident{NamePos: e.Lbrack, Name: "None"}
	parts := []*syntax.Expr{&e.X, &e.Lo, &e.Hi, &e.Step}
	args := make([]syntax.Expr, len(parts))
	for i, part := range parts {
		if *part == nil {
			args[i] = none
			continue
		}
		if err := r.each(part); err != nil {
			return nil, err
		}
		args[i] = *part
	}
	return checkedCall(sliceName, e.Lbrack, args...), nil
}

// The first iterable does not see its names.
func (r *rewriter) comprehension(e *syntax.Comprehension) error {
	first, ok := e.Clauses[0].(*syntax.ForClause)
	if !ok {
		return r.refuse("a comprehension begins with for")
	}
	if err := r.each(&first.X); err != nil {
		return err
	}
	names := map[string]bool{}
	for _, clause := range e.Clauses {
		if clause, ok := clause.(*syntax.ForClause); ok {
			if err := r.targets(clause.Vars, names); err != nil {
				return err
			}
		}
	}
	r.bound = append(r.bound, names)
	defer func() { r.bound = r.bound[:len(r.bound)-1] }()
	for _, clause := range e.Clauses {
		part := &first.X
		switch clause := clause.(type) {
		case *syntax.ForClause:
			part = &clause.X
		case *syntax.IfClause:
			part = &clause.Cond
		}
		if part == &first.X {
			continue
		}
		if err := r.each(part); err != nil {
			return err
		}
	}
	if entry, ok := e.Body.(*syntax.DictEntry); ok {
		return r.entry(entry)
	}
	return r.each(&e.Body)
}

func (r *rewriter) targets(e syntax.Expr, names map[string]bool) error {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > depthOfTree {
		return ir.LimitError(r.pos, "depth of an expression", r.depth, depthOfTree)
	}
	var list []syntax.Expr
	switch e := e.(type) {
	case *syntax.Ident:
		if isConstant(e.Name) {
			return r.refuse("%s is not a variable", e.Name)
		}
		names[e.Name] = true
		return nil
	case *syntax.ParenExpr:
		return r.targets(e.X, names)
	case *syntax.TupleExpr:
		list = e.List
	case *syntax.ListExpr:
		list = e.List
	default:
		return r.refuse("a comprehension binds names; write for x in … or for x, y in …")
	}
	for _, elem := range list {
		if err := r.targets(elem, names); err != nil {
			return err
		}
	}
	return nil
}

func (r *rewriter) call(e *syntax.CallExpr) (syntax.Expr, error) {
	var args []syntax.Expr
	var callee string
	switch fn := e.Fn.(type) {
	case *syntax.Ident:
		if callee = fn.Name + "()"; !checked.Has(callee) {
			return nil, r.refuse("unknown function %s; an expression can call %s; write an action as @%s(…), and call a fn of the program in a statement of its own",
				fn.Name, strings.Join(builtinNames, ", "), fn.Name)
		}
	case *syntax.DotExpr:
		if callee = "." + fn.Name.Name + "()"; !checked.Has(callee) {
			return nil, r.refuse("%s", unknownMethod(fn.Name.Name))
		}
		if err := r.each(&fn.X); err != nil {
			return nil, err
		}
		args = append(args, fn.X)
	default:
		return nil, r.refuse("only built-in functions and methods can be called in an expression")
	}
	for _, arg := range e.Args {
		checkedArg, err := r.argument(callee, arg)
		if err != nil {
			return nil, err
		}
		args = append(args, checkedArg)
	}
	return checkedCall(callee, e.Lparen, args...), nil
}

func (r *rewriter) argument(callee string, arg syntax.Expr) (syntax.Expr, error) {
	if star, ok := arg.(*syntax.UnaryExpr); ok && (star.Op == syntax.STAR || star.Op == syntax.STARSTAR) {
		return nil, r.refuse("arguments cannot be passed with %s; write them out", star.Op)
	}
	named, ok := arg.(*syntax.BinaryExpr)
	if !ok || named.Op != syntax.EQ {
		return r.expr(arg)
	}
	if named.X.(*syntax.Ident).Name == "key" && takesKey(callee) {
		fn, ok := named.Y.(*syntax.Ident)
		if ok && checked.Has(fn.Name+"()") {
			named.Y = &syntax.Ident{NamePos: fn.NamePos, Name: fn.Name + "()"}
			return named, nil
		}
		return nil, r.refuse("key= takes the name of a built-in function, such as key=len")
	}
	return named, r.each(&named.Y)
}

func checkedCall(name string, pos syntax.Position, args ...syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{
		Fn:     &syntax.Ident{NamePos: pos, Name: name},
		Lparen: pos,
		Args:   args,
		Rparen: pos,
	}
}
