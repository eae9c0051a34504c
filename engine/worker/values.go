package worker

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"pulley/engine/expr"
)

// values are a call's decoded arguments. Every getter returns an ArgumentError that names the action and the argument.
type values struct {
	call Call
	args []expr.Entry
}

func newValues(c Call) (*values, error) {
	args, err := c.decode(nil)
	return &values{call: c, args: args}, err
}

func (a *values) get(name string) expr.Value {
	for i := len(a.args) - 1; i >= 0; i-- { // the last duplicate counts
		if a.args[i].Key == name {
			return a.args[i].Value
		}
	}
	return nil
}

func (a *values) wrong(name, want string, got expr.Value) error {
	return a.call.argument("argument %s must be %s, not %s", name, want, shown(got))
}

func (a *values) count(name string, least, most int64) (int64, error) {
	v := a.get(name)
	i, ok := v.(starlark.Int)
	if !ok {
		return 0, a.wrong(name, "an int", v)
	}
	n, fits := i.Int64()
	switch {
	case fits && n < least || !fits && i.Sign() < 0:
		return 0, a.call.argument("argument %s is %v, must be at least %d", name, i, least)
	case !fits || n > most:
		return 0, &Error{Type: TypeLimit, Message: a.call.argument("argument %s is %v, must be at most %d", name, i, most).Message}
	}
	return n, nil
}

func (a *values) text(name string) (string, error) {
	v := a.get(name)
	s, ok := v.(starlark.String)
	if !ok {
		return "", a.wrong(name, "a string", v)
	}
	return string(s), nil
}

func (a *values) list(name string) (*starlark.List, error) {
	v := a.get(name)
	l, ok := v.(*starlark.List)
	if !ok {
		return nil, a.wrong(name, "a list", v)
	}
	return l, nil
}

// plus adds as the language does: numbers, strings or lists.
func (a *values) plus(nameX, nameY string) (expr.Value, error) {
	x, y := a.get(nameX), a.get(nameY)
	for _, arg := range []struct {
		name  string
		value expr.Value
	}{{nameX, x}, {nameY, y}} {
		if addable(arg.value) == "" {
			return nil, a.wrong(arg.name, "a number, a string or a list", arg.value)
		}
	}
	if addable(x) != addable(y) {
		return nil, a.wrong(nameY, "a "+addable(x)+" like "+nameX, y)
	}
	return starlark.Binary(syntax.PLUS, x, y)
}

// addable names the family in which a value can be added; empty: none.
func addable(v expr.Value) string {
	switch v.(type) {
	case starlark.Int, starlark.Float:
		return "number"
	case starlark.String:
		return "string"
	case *starlark.List:
		return "list"
	}
	return ""
}

func shown(v expr.Value) string {
	switch v.(type) {
	case starlark.NoneType:
		return "None"
	case starlark.Int:
		return "an int"
	}
	return "a " + v.Type()
}
