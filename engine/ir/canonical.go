package ir

import (
	"math/big"
	"strconv"
	"strings"

	"go.starlark.net/syntax"
)

// maxTree bounds the depth of an expression's tree. Limits.Nesting bounds brackets; this bounds chains such as a + b + c, whose
// tree is as deep as they are long and whose readers recurse.
const maxTree = 4000

// Binding strengths, weakest first. An operand that binds weaker than required gets brackets.
const (
	bindConditional = iota
	bindOr
	bindAnd
	bindNot
	bindCompare
	bindSum
	bindProduct
	bindNegative
	bindPrimary
)

var bindings = map[syntax.Token]int{
	syntax.OR:         bindOr,
	syntax.AND:        bindAnd,
	syntax.EQL:        bindCompare,
	syntax.NEQ:        bindCompare,
	syntax.LT:         bindCompare,
	syntax.GT:         bindCompare,
	syntax.LE:         bindCompare,
	syntax.GE:         bindCompare,
	syntax.IN:         bindCompare,
	syntax.NOT_IN:     bindCompare,
	syntax.PLUS:       bindSum,
	syntax.MINUS:      bindSum,
	syntax.STAR:       bindProduct,
	syntax.SLASH:      bindProduct,
	syntax.SLASHSLASH: bindProduct,
	syntax.PERCENT:    bindProduct,
}

// canonical prints an expression in one line, with the fewest brackets and with double quotes, and refuses what the language
// lacks. Printing the parsed print gives the same text.
func canonical(file string, tree syntax.Expr) (string, error) {
	c := canon{file: file}
	if err := c.expr(tree, bindConditional); err != nil {
		return "", err
	}
	return c.out.String(), nil
}

type canon struct {
	file  string
	out   strings.Builder
	depth int
}

func (c *canon) put(text string) { c.out.WriteString(text) }

func (c *canon) refuse(at syntax.Position, format string, args ...any) error {
	return Errorf(c.pos(at), format, args...)
}

func (c *canon) pos(at syntax.Position) Pos { return Pos{c.file, int(at.Line), int(at.Col)} }

// start returns the position of an expression's first character. Unlike Starlark's it does not recurse, since an unchecked
// chain may be too deep.
func start(x syntax.Expr) syntax.Position {
	for {
		switch left := x.(type) {
		case *syntax.BinaryExpr:
			x = left.X
		case *syntax.CallExpr:
			x = left.Fn
		case *syntax.DotExpr:
			x = left.X
		case *syntax.IndexExpr:
			x = left.X
		case *syntax.SliceExpr:
			x = left.X
		case *syntax.CondExpr:
			x = left.True
		case *syntax.UnaryExpr:
			return left.OpPos
		case *syntax.TupleExpr:
			if left.Lparen.IsValid() {
				return left.Lparen
			}
			x = left.List[0]
		default:
			at, _ := x.Span()
			return at
		}
	}
}

// least is the required binding strength.
func (c *canon) expr(x syntax.Expr, least int) error {
	if c.depth++; c.depth > maxTree {
		return LimitError(c.pos(start(x)), "operators of an expression", c.depth, maxTree)
	}
	defer func() { c.depth-- }()
	outer := x
	x = bare(x)
	if binding(x) < least {
		c.put("(")
		defer c.put(")")
	}
	switch x := x.(type) {
	case *syntax.Ident:
		c.put(x.Name)
		return nil
	case *syntax.Literal:
		return c.literal(x)
	case *syntax.ListExpr:
		return c.list("[", x.List, "]")
	case *syntax.DictExpr:
		return c.list("{", x.List, "}")
	case *syntax.DictEntry:
		return c.join(x.Key, bindConditional, ": ", x.Value, bindConditional)
	case *syntax.Comprehension:
		return c.comprehension(x)
	case *syntax.CondExpr:
		return c.conditional(x)
	case *syntax.UnaryExpr:
		return c.unary(x)
	case *syntax.BinaryExpr:
		return c.binary(x)
	case *syntax.CallExpr:
		return c.call(x)
	case *syntax.DotExpr:
		return c.refuse(x.Dot, "a value has no attributes; write [%q] for the entry of a dict, or call a method",
			x.Name.Name)
	case *syntax.IndexExpr:
		return c.index(x)
	case *syntax.SliceExpr:
		return c.slice(x)
	case *syntax.TupleExpr:
		return c.refuse(start(outer), "a tuple is not in the language; write a list: [a, b]")
	}
	return c.refuse(start(outer), "this kind of expression is not in the language; assign its parts first")
}

func bare(x syntax.Expr) syntax.Expr {
	for {
		paren, ok := x.(*syntax.ParenExpr)
		if !ok {
			return x
		}
		x = paren.X
	}
}

func binding(x syntax.Expr) int {
	switch x := x.(type) {
	case *syntax.CondExpr:
		return bindConditional
	case *syntax.BinaryExpr:
		return bindings[x.Op]
	case *syntax.UnaryExpr:
		if x.Op == syntax.NOT {
			return bindNot
		}
		return bindNegative
	}
	return bindPrimary
}

func (c *canon) join(x syntax.Expr, leastX int, between string, y syntax.Expr, leastY int) error {
	if err := c.expr(x, leastX); err != nil {
		return err
	}
	c.put(between)
	return c.expr(y, leastY)
}

func (c *canon) list(open string, xs []syntax.Expr, shut string) error {
	c.put(open)
	for i, x := range xs {
		if i > 0 {
			c.put(", ")
		}
		if err := c.expr(x, bindConditional); err != nil {
			return err
		}
	}
	c.put(shut)
	return nil
}

func (c *canon) literal(x *syntax.Literal) error {
	switch value := x.Value.(type) {
	case int64:
		c.put(strconv.FormatInt(value, 10))
	case *big.Int:
		text := value.String()
		if len(text) > maxDigits {
			return LimitError(c.pos(x.TokenPos), "digits of a number", len(text), maxDigits)
		}
		c.put(text)
	case float64:
		c.put(floatText(value))
	case string:
		if x.Token != syntax.STRING {
			return c.refuse(x.TokenPos, "bytes are not in the language; write an ordinary string in quotes")
		}
		c.put(syntax.Quote(value, false))
	}
	return nil
}

func floatText(f float64) string {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

func (c *canon) conditional(x *syntax.CondExpr) error {
	if err := c.join(x.True, bindOr, " if ", x.Cond, bindOr); err != nil {
		return err
	}
	c.put(" else ")
	return c.expr(x.False, bindConditional)
}

func (c *canon) unary(x *syntax.UnaryExpr) error {
	switch x.Op {
	case syntax.NOT:
		c.put("not ")
		return c.expr(x.X, bindNot)
	case syntax.MINUS:
		c.put("-")
		return c.expr(x.X, bindNegative)
	case syntax.PLUS:
		return c.refuse(x.OpPos, "a plus sign before a value is not in the language; leave it out")
	}
	return c.refuse(x.OpPos, "starred arguments are not in the language; write them one by one")
}

func (c *canon) binary(x *syntax.BinaryExpr) error {
	bind, ok := bindings[x.Op]
	if !ok {
		return c.refuse(x.OpPos, "%q cannot stand here; write == to compare", x.Op.String())
	}
	left := bind
	if bind == bindCompare { // not chained
		left++
	}
	return c.join(x.X, left, " "+x.Op.String()+" ", x.Y, bind+1)
}

func (c *canon) index(x *syntax.IndexExpr) error {
	if tuple, ok := bare(x.Y).(*syntax.TupleExpr); ok {
		return c.refuse(start(tuple), "one index a bracket; write a[i][j]")
	}
	if err := c.join(x.X, bindPrimary, "[", x.Y, bindConditional); err != nil {
		return err
	}
	c.put("]")
	return nil
}

func (c *canon) slice(x *syntax.SliceExpr) error {
	if err := c.expr(x.X, bindPrimary); err != nil {
		return err
	}
	for i, part := range []syntax.Expr{x.Lo, x.Hi, x.Step} {
		switch {
		case i == 0:
			c.put("[")
		case i == 1 || part != nil:
			c.put(":")
		}
		if part == nil {
			continue
		}
		if err := c.expr(part, bindConditional); err != nil {
			return err
		}
	}
	c.put("]")
	return nil
}

func (c *canon) comprehension(x *syntax.Comprehension) error {
	open, shut := "[", "]"
	if x.Curly {
		open, shut = "{", "}"
	}
	c.put(open)
	if err := c.expr(x.Body, bindConditional); err != nil {
		return err
	}
	for _, clause := range x.Clauses {
		var err error
		switch clause := clause.(type) {
		case *syntax.ForClause:
			c.put(" for ")
			if err = c.target(clause.Vars, true); err == nil {
				c.put(" in ")
				err = c.expr(clause.X, bindOr)
			}
		case *syntax.IfClause:
			c.put(" if ")
			err = c.expr(clause.Cond, bindOr)
		}
		if err != nil {
			return err
		}
	}
	c.put(shut)
	return nil
}

// target prints several names in brackets, unless it is outermost.
func (c *canon) target(x syntax.Expr, outermost bool) error {
	var parts []syntax.Expr
	switch t := bare(x).(type) {
	case *syntax.Ident:
		if t.Name == "None" || t.Name == "True" || t.Name == "False" {
			return c.refuse(t.NamePos, "%s", nameFault(t.Name))
		}
		c.put(t.Name)
		return nil
	case *syntax.TupleExpr:
		parts = t.List
	case *syntax.ListExpr:
		parts = t.List
	}
	if len(parts) == 0 {
		return c.refuse(start(x), "a comprehension binds names; write for x in xs, or for k, v in pairs")
	}
	brackets := !outermost || len(parts) == 1
	if brackets {
		c.put("(")
	}
	for i, part := range parts {
		if i > 0 {
			c.put(", ")
		}
		if err := c.target(part, false); err != nil {
			return err
		}
	}
	if len(parts) == 1 {
		c.put(",")
	}
	if brackets {
		c.put(")")
	}
	return nil
}
