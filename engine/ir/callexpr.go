package ir

import (
	"maps"
	"slices"
	"strings"

	"go.starlark.net/syntax"
)

func (c *canon) call(x *syntax.CallExpr) error {
	switch fn := x.Fn.(type) {
	case *syntax.Ident:
		keywords, ok := builtins[fn.Name]
		if !ok {
			return c.unknownFunction(fn)
		}
		c.put(fn.Name)
		return c.args(fn.Name, x.Args, keywords)
	case *syntax.DotExpr:
		if err := c.method(fn); err != nil {
			return err
		}
		var keywords map[string]bool
		if fn.Name.Name == "format" {
			keywords = builtins["dict"]
		}
		return c.args(fn.Name.Name, x.Args, keywords)
	}
	return c.refuse(x.Lparen, "only functions and methods can be called, by their name; write len(x) or x.upper()")
}

func (c *canon) unknownFunction(fn *syntax.Ident) error {
	return c.refuse(fn.NamePos, "unknown function %s; write @%s(...) on a line of its own for an action, "+
		"or one of: %s", fn.Name, fn.Name, strings.Join(slices.Sorted(maps.Keys(builtins)), " "))
}

func (c *canon) method(fn *syntax.DotExpr) error {
	name := fn.Name.Name
	if instead, ok := changers[name]; ok {
		return c.refuse(fn.Dot, "%s would change a value in place; write a new one: %s", name, instead)
	}
	if !methods[name] {
		return c.refuse(fn.Dot, "unknown method %s; write a method of strings or dicts, such as split, join, get or keys",
			name)
	}
	// A dot after a number would be read as its fraction.
	literal, ok := bare(fn.X).(*syntax.Literal)
	number := ok && literal.Token != syntax.STRING
	if number {
		c.put("(")
	}
	if err := c.expr(fn.X, bindPrimary); err != nil {
		return err
	}
	if number {
		c.put(")")
	}
	c.put("." + name)
	return nil
}

func (c *canon) args(callee string, args []syntax.Expr, keywords map[string]bool) error {
	c.put("(")
	seen := map[string]bool{}
	for i, arg := range args {
		if i > 0 {
			c.put(", ")
		}
		if err := c.arg(callee, arg, keywords, seen); err != nil {
			return err
		}
	}
	c.put(")")
	return nil
}

func (c *canon) arg(callee string, arg syntax.Expr, keywords, seen map[string]bool) error {
	named, ok := arg.(*syntax.BinaryExpr)
	if !ok || named.Op != syntax.EQ {
		if len(seen) > 0 {
			return c.refuse(start(arg), "an argument without a name after one with a name; write it before them")
		}
		return c.expr(arg, bindConditional)
	}
	name := named.X.(*syntax.Ident) // Starlark's parser allows nothing else before an equals sign
	if err := c.keyword(callee, name, keywords, seen); err != nil {
		return err
	}
	if name.Name == "key" && keywords["key"] {
		return c.key(callee, named)
	}
	return c.expr(named.Y, bindConditional)
}

func (c *canon) keyword(callee string, name *syntax.Ident, keywords, seen map[string]bool) error {
	switch {
	case !keywords[name.Name] && !keywords["*"]:
		return c.refuse(name.NamePos, "%s has no keyword argument %s; write the value alone", callee, name.Name)
	case seen[name.Name]:
		return c.refuse(name.NamePos, "the argument %s is given twice; remove one", name.Name)
	}
	seen[name.Name] = true
	c.put(name.Name + "=")
	return nil
}

// key prints the function that orders: only here a function is named without a call.
func (c *canon) key(callee string, named *syntax.BinaryExpr) error {
	fn, ok := bare(named.Y).(*syntax.Ident)
	if ok {
		_, ok = builtins[fn.Name]
	}
	if !ok {
		return c.refuse(named.OpPos, "the key of %s must be a built-in function, such as key=len; "+
			"for another order, order a list of [key, value] lists", callee)
	}
	c.put(fn.Name)
	return nil
}
