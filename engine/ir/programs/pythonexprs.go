package programs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/syntax"

	"pulley/engine/ir"
)

func (w *pythonWriter) expr(e *ir.Expr) string {
	x := &pythonExpr{w, e.Pos}
	return x.write(x.parse(e))
}

func (w *pythonWriter) series(e *ir.Expr) string {
	x := &pythonExpr{w, e.Pos}
	return x.series(x.parse(e))
}

// elements is -1 for what is not a list display.
func (w *pythonWriter) elements(e *ir.Expr) int {
	x := &pythonExpr{w, e.Pos}
	if list, ok := x.parse(e).(*syntax.ListExpr); ok {
		return len(list.List)
	}
	return -1
}

// added writes what an expression adds to a number or text of a name; empty if it does something else. Lists are excluded: in
// Python, others that share the list would see that.
func (w *pythonWriter) added(name string, e *ir.Expr) string {
	x := &pythonExpr{w, e.Pos}
	tree := x.parse(e)
	for {
		inner, ok := tree.(*syntax.ParenExpr)
		if !ok {
			break
		}
		tree = inner.X
	}
	sum, ok := tree.(*syntax.BinaryExpr)
	if !ok || sum.Op != syntax.PLUS || hint(name) != "int" && hint(name) != "str" {
		return ""
	}
	if first, ok := sum.X.(*syntax.Ident); !ok || first.Name != name {
		return ""
	}
	return x.write(sum.Y)
}

type pythonExpr struct {
	*pythonWriter
	pos ir.Pos
}

func (x *pythonExpr) parse(e *ir.Expr) syntax.Expr {
	tree, err := (&syntax.FileOptions{}).ParseExpr("case.ir", e.Text, 0)
	if err != nil {
		x.refuse(e.Pos, err.Error())
		return &syntax.Ident{Name: "None"}
	}
	return tree
}

func (x *pythonExpr) fail(construct string) string {
	x.refuse(x.pos, construct)
	return ""
}

// Brackets are nodes of the tree, and Python's precedence is the same.
func (x *pythonExpr) write(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Ident:
		if kindOf(e.Name) == failure {
			return x.fail(errorAsValue)
		}
		return e.Name
	case *syntax.Literal:
		return e.Raw
	case *syntax.ParenExpr:
		return "(" + x.write(e.X) + ")"
	case *syntax.UnaryExpr:
		if e.Op == syntax.NOT {
			return "not " + x.write(e.X)
		}
		return e.Op.String() + x.write(e.X)
	case *syntax.BinaryExpr:
		return x.binary(e)
	case *syntax.CondExpr:
		return x.write(e.True) + " if " + x.write(e.Cond) + " else " + x.write(e.False)
	case *syntax.ListExpr:
		return "[" + strings.Join(x.all(e.List), ", ") + "]"
	case *syntax.DictExpr:
		return "{" + strings.Join(x.all(e.List), ", ") + "}"
	case *syntax.DictEntry:
		return x.write(e.Key) + ": " + x.write(e.Value)
	case *syntax.IndexExpr:
		return x.index(e)
	case *syntax.SliceExpr:
		return x.slice(e)
	case *syntax.Comprehension:
		return x.comprehension(e)
	case *syntax.CallExpr:
		return x.call(e)
	}
	return x.fail(fmt.Sprintf("an expression of type %T", e))
}

func (x *pythonExpr) all(list []syntax.Expr) []string {
	var texts []string
	for _, e := range list {
		texts = append(texts, x.write(e))
	}
	return texts
}

// Python's try catches these failures, and the language's does not.
const inTry = "an expression that may fail where errors are caught"

func (x *pythonExpr) binary(e *syntax.BinaryExpr) string {
	number := func(e syntax.Expr) int64 {
		literal, ok := e.(*syntax.Literal)
		if !ok {
			return 0
		}
		n, _ := literal.Value.(int64)
		return n
	}
	switch e.Op {
	case syntax.SLASHSLASH, syntax.PERCENT:
		if number(e.Y) == 0 && x.tries > 0 {
			return x.fail(inTry)
		}
	case syntax.STAR:
		if number(e.Y) > 10_000 {
			return x.fail("a value that is over a limit")
		}
	}
	op := e.Op.String()
	if _, ok := e.X.(*syntax.Ident); ok && isNone(e.Y) {
		switch e.Op {
		case syntax.EQL:
			op = "is"
		case syntax.NEQ:
			op = "is not"
		}
	}
	return x.write(e.X) + " " + op + " " + x.write(e.Y)
}

func isNone(e syntax.Expr) bool {
	name, ok := e.(*syntax.Ident)
	return ok && name.Name == "None"
}

func (x *pythonExpr) index(e *syntax.IndexExpr) string {
	if name, ok := e.X.(*syntax.Ident); ok && kindOf(name.Name) == failure {
		switch key, _ := e.Y.(*syntax.Literal); {
		case key != nil && key.Value == "type":
			return name.Name + "_type"
		case key != nil && key.Value == "message":
			return name.Name + "_message"
		}
		return x.fail("the action of an error")
	}
	if x.tries > 0 {
		return x.fail(inTry)
	}
	return x.write(e.X) + "[" + x.write(e.Y) + "]"
}

func (x *pythonExpr) slice(e *syntax.SliceExpr) string {
	text := x.write(e.X) + "["
	if e.Lo != nil {
		text += x.write(e.Lo)
	}
	text += ":"
	if e.Hi != nil {
		text += x.write(e.Hi)
	}
	if e.Step != nil {
		text += ":" + x.write(e.Step)
	}
	return text + "]"
}

func (x *pythonExpr) comprehension(e *syntax.Comprehension) string {
	text := x.write(e.Body)
	for _, c := range e.Clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			text += " for " + x.write(c.Vars) + " in " + x.series(c.X)
		case *syntax.IfClause:
			text += " if " + x.write(c.Cond)
		}
	}
	if e.Curly {
		return "{" + text + "}"
	}
	return "[" + text + "]"
}

// lazy functions and methods return a list in the language, and an iterable in Python. list(...) of the copied ones gives that
// list, of the others it gives tuples.
var (
	lazy   = []string{"range", "reversed", "enumerate", "zip", "keys", "values", "items"}
	copied = []string{"range", "reversed", "keys", "values"}
)

func called(e syntax.Expr) string {
	c, ok := e.(*syntax.CallExpr)
	if !ok {
		return ""
	}
	switch f := c.Fn.(type) {
	case *syntax.Ident:
		return f.Name
	case *syntax.DotExpr:
		return f.Name.Name
	}
	return ""
}

func (x *pythonExpr) series(e syntax.Expr) string {
	if c, ok := e.(*syntax.CallExpr); ok && slices.Contains(lazy, called(e)) {
		return x.plainCall(c)
	}
	return x.write(e)
}

func (x *pythonExpr) call(e *syntax.CallExpr) string {
	name := called(e)
	switch {
	case slices.Contains(copied, name):
		return "list(" + x.plainCall(e) + ")"
	case slices.Contains(lazy, name):
		return x.fail("a list that has tuples in Python")
	case name == "isexception":
		return x.isException(e)
	}
	return x.plainCall(e)
}

func (x *pythonExpr) plainCall(e *syntax.CallExpr) string {
	var args []string
	for _, arg := range e.Args {
		if slices.Contains([]string{"list", "sorted", "sum", "enumerate", "zip"}, called(e)) {
			args = append(args, x.series(arg))
		} else {
			args = append(args, x.write(arg))
		}
	}
	arguments := "(" + strings.Join(args, ", ") + ")"
	switch f := e.Fn.(type) {
	case *syntax.Ident:
		if !slices.Contains([]string{"len", "list", "max", "min", "range", "reversed", "sorted", "str", "sum", "enumerate", "zip"}, f.Name) {
			return x.fail("the function " + f.Name)
		}
		return f.Name + arguments
	case *syntax.DotExpr:
		if !slices.Contains([]string{"get", "items", "keys", "replace", "strip", "values"}, f.Name.Name) {
			return x.fail("the method " + f.Name.Name)
		}
		return x.write(f.X) + "." + f.Name.Name + arguments
	}
	return x.fail("a call of a value")
}

func (x *pythonExpr) isException(e *syntax.CallExpr) string {
	if len(e.Args) == 2 {
		name, _ := e.Args[0].(*syntax.Ident)
		typ, _ := e.Args[1].(*syntax.Literal)
		if name != nil && typ != nil && kindOf(name.Name) == failure {
			return "(" + name.Name + "_type == " + strconv.Quote(typ.Value.(string)) + ")"
		}
	}
	return x.fail("isexception of what may be no error")
}
