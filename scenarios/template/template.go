// Package template evaluates values of scenario files that contain expressions.
//
// A text that begins with = is an expression of the workflow language, as in "= size - 2"; it may be a whole value or anywhere
// in its lists and maps. Everything else is literal. A literal text that begins with = is written as an expression, as in "=
// '=x'".
package template

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/ir"
	"pulley/internal/clip"
	"pulley/internal/nearest"
	"pulley/internal/yamlfile"
)

// Template is a compiled value with expressions. It is immutable and safe for concurrent use.
type Template struct {
	pos   ir.Pos
	names []string
	eval  func(env Env) (starlark.Value, error)
}

// Env maps names to normal values.
type Env map[string]expr.Value

// Compile compiles a value whose expressions may read the known names. It reports expressions that do not compile or read other
// names, and then returns nil. With known nil, any name may be read.
func Compile(v *yamlfile.Value, known []string, r *yamlfile.Report) *Template {
	c := compiler{known: known, Report: r, names: map[string]bool{}}
	before := r.Count()
	eval := c.value(v)
	if r.Count() > before {
		return nil
	}
	return &Template{pos: v.Pos, eval: eval, names: slices.Sorted(maps.Keys(c.names))}
}

// Pos is the value's position.
func (t *Template) Pos() ir.Pos { return t.pos }

// Names are the names that the expressions read, sorted. The caller must not change them.
func (t *Template) Names() []string { return t.names }

// Eval returns the value, normal and frozen. The error is an *ir.Error at the failed expression.
func (t *Template) Eval(env Env) (expr.Value, error) {
	v, err := t.eval(env)
	if err != nil {
		return nil, err
	}
	normal, err := expr.Normalize(v, ir.Limits{})
	if err != nil {
		return nil, placed(t.pos, err)
	}
	return normal, nil
}

// Int returns the value as a whole number from least to most; what names it in the error, an *ir.Error.
func (t *Template) Int(env Env, what string, least, most int) (int, error) {
	v, err := t.Eval(env)
	if err != nil {
		return 0, err
	}
	n, isInt := v.(starlark.Int)
	if !isInt {
		return 0, ir.Errorf(t.pos, "%s is a whole number, not %s", what, Describe(v))
	}
	small, ok := n.Int64()
	if !ok || small < int64(least) || small > int64(most) {
		return 0, ir.Errorf(t.pos, "%s is %s; choose from %d to %d", what, n, least, most)
	}
	return int(small), nil
}

// Describe describes a value briefly for a message.
func Describe(v expr.Value) string {
	text, err := expr.Encode(v)
	if err != nil || len(text) > 60 {
		return "a " + v.Type()
	}
	return string(text)
}

// Quote quotes a text for a message, on one line and shortened.
func Quote(text string) string { return strconv.Quote(clip.Runes(text, 60)) }

// IsExpression reports whether a text is an expression, and returns it.
func IsExpression(text string) (string, bool) {
	rest, is := strings.CutPrefix(strings.TrimSpace(text), "=")
	return strings.TrimSpace(rest), is
}

type compiler struct {
	*yamlfile.Report
	known []string
	names map[string]bool
}

type eval = func(env Env) (starlark.Value, error)

func (c *compiler) value(v *yamlfile.Value) eval {
	switch {
	case v.IsList():
		return c.list(v)
	case v.IsMap():
		return c.dict(v)
	}
	if text, is := IsExpression(scalar(v)); is && v.IsText() {
		return c.expression(v.Pos, text)
	}
	return c.literal(v)
}

func scalar(v *yamlfile.Value) string {
	text, _ := v.Scalar()
	return text
}

func (c *compiler) literal(v *yamlfile.Value) eval {
	value, err := Literal(v)
	c.AddError(v.Pos, err)
	return func(Env) (starlark.Value, error) { return value, nil }
}

// Literal returns a file's value without evaluating expressions. The error is an *ir.Error.
func Literal(v *yamlfile.Value) (expr.Value, error) {
	var out starlark.Value
	switch {
	case v.IsList():
		var list []starlark.Value
		for _, item := range v.Items() {
			element, err := Literal(item)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		out = starlark.NewList(list)
	case v.IsMap():
		dict := starlark.NewDict(len(v.Fields()))
		for _, f := range v.Fields() {
			element, err := Literal(f.Value)
			if err != nil {
				return nil, err
			}
			_ = dict.SetKey(starlark.String(f.Name), element) // a new dict accepts every string
		}
		out = dict
	default:
		plain, err := v.Go()
		if err != nil {
			return nil, err
		}
		out = scalarOf(plain)
	}
	normal, err := expr.Normalize(out, ir.Limits{})
	if err != nil {
		return nil, placed(v.Pos, err)
	}
	return normal, nil
}

func scalarOf(plain any) starlark.Value {
	switch plain := plain.(type) {
	case bool:
		return starlark.Bool(plain)
	case *big.Int:
		return starlark.MakeBigInt(plain)
	case float64:
		return starlark.Float(plain)
	case string:
		return starlark.String(plain)
	}
	return starlark.None
}

func (c *compiler) expression(pos ir.Pos, text string) eval {
	compiled, err := expr.Compile(&ir.Expr{Pos: pos, Text: text}, ir.Limits{})
	if err != nil {
		var wrong *ir.Error
		if errors.As(err, &wrong) {
			err = errors.New(wrong.Msg)
		}
		c.Add(pos, "%s is no expression: %s; write one as in a program", Quote("= "+text), err)
		return nil
	}
	for _, name := range compiled.Names() {
		c.names[name] = true
		if c.known != nil && !slices.Contains(c.known, name) {
			c.Add(pos, "the expression reads %s, which is not known here; %s", name, c.meant(name))
		}
	}
	return func(env Env) (starlark.Value, error) {
		args := make([]expr.Value, len(compiled.Names()))
		for i, name := range compiled.Names() {
			args[i] = env[name]
		}
		v, err := compiled.Eval(args)
		if err != nil {
			return nil, placed(pos, err)
		}
		return v, nil
	}
}

func (c *compiler) meant(name string) string {
	if word := nearest.Word(name, c.known); word != "" {
		return "did you mean " + word + "?"
	}
	if len(c.known) == 0 {
		return "nothing is"
	}
	return "it may read " + strings.Join(c.known, ", ")
}

func placed(pos ir.Pos, err error) error {
	var failed *expr.EvalError
	if errors.As(err, &failed) {
		return ir.Errorf(pos, "%s: %s", failed.Type, failed.Msg)
	}
	return ir.Errorf(pos, "%s", err)
}

func (c *compiler) list(v *yamlfile.Value) eval {
	var parts []eval
	for _, item := range v.Items() {
		parts = append(parts, c.value(item))
	}
	return func(env Env) (starlark.Value, error) {
		list := make([]starlark.Value, len(parts))
		for i, part := range parts {
			var err error
			if list[i], err = part(env); err != nil {
				return nil, err
			}
		}
		return starlark.NewList(list), nil
	}
}

func (c *compiler) dict(v *yamlfile.Value) eval {
	fields := v.Fields()
	parts := make([]eval, len(fields))
	for i, f := range fields {
		parts[i] = c.value(f.Value)
	}
	return func(env Env) (starlark.Value, error) {
		dict := starlark.NewDict(len(parts))
		for i, part := range parts {
			value, err := part(env)
			if err != nil {
				return nil, err
			}
			if err := dict.SetKey(starlark.String(fields[i].Name), value); err != nil {
				return nil, fmt.Errorf("%s: %w", fields[i].Pos, err)
			}
		}
		return dict, nil
	}
}
