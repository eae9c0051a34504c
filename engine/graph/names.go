package graph

import (
	"fmt"
	"slices"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

// The first node or variable keeps its name, the next is _2.
func (c *compiler) name(base string) string {
	for {
		c.serial[base]++
		n := c.serial[base]
		if n == 1 {
			return base
		}
		numbered := fmt.Sprintf("%s_%d", base, n)
		if c.serial[numbered] == 0 {
			c.serial[numbered]++
			return numbered
		}
	}
}

func (c *compiler) variable(name string) VarID {
	c.g.Vars = append(c.g.Vars, &Var{Name: name, Scope: c.scope})
	return VarID(len(c.g.Vars) - 1)
}

func (c *compiler) targets(f *frame, names []ir.Name) []VarID {
	out := make([]VarID, len(names))
	for i, n := range names {
		out[i] = c.g.Frames[f.id].Names[n.Text]
	}
	return out
}

// expr checks that the function assigns every name that the expression reads. Whether a name has a value shows at run time.
func (c *compiler) expr(f *frame, e *ir.Expr) *ir.Expr {
	compiled, err := expr.Compile(e, c.limits)
	if err != nil {
		c.errs = append(c.errs, asError(e.Pos, err))
		return e
	}
	for _, name := range compiled.Names() {
		c.known(f, e.Pos, name)
	}
	return e
}

func (c *compiler) free(e *ir.Expr) []string {
	compiled, err := expr.Compile(e, c.limits)
	if err != nil {
		return nil
	}
	return compiled.Names()
}

func (c *compiler) known(f *frame, pos ir.Pos, name string) {
	if _, ok := c.g.Frames[f.id].Names[name]; !ok {
		c.errs = append(c.errs, ir.Errorf(pos, "%s has no value anywhere in %s; assign it first or make it an input", name, f.fn.Name.Text))
	}
}

// assigned lists names in the order of the text, inputs first.
func assigned(fn *ir.Function) []string {
	out := make([]string, 0, len(fn.Inputs))
	for _, in := range fn.Inputs {
		out = append(out, in.Text)
	}
	for _, name := range reassigned(fn) {
		if !slices.Contains(out[:len(fn.Inputs)], name) {
			out = append(out, name)
		}
	}
	return out
}

func reassigned(fn *ir.Function) []string {
	var out []string
	seen := map[string]bool{}
	add := func(names ...ir.Name) {
		for _, n := range names {
			if !seen[n.Text] {
				seen[n.Text] = true
				out = append(out, n.Text)
			}
		}
	}
	var walk func([]ir.Stmt)
	walk = func(stmts []ir.Stmt) {
		for _, s := range stmts {
			switch s := s.(type) {
			case *ir.Assign:
				add(s.Targets...)
			case *ir.For:
				add(s.Targets...)
				walk(s.Body)
			case *ir.While:
				walk(s.Body)
			case *ir.If:
				for _, arm := range s.Arms {
					walk(arm.Body)
				}
				walk(s.Else)
			case *ir.Try:
				walk(s.Body)
				for _, h := range s.Handlers {
					if h.As != nil {
						add(*h.As)
					}
					walk(h.Body)
				}
			}
		}
	}
	walk(fn.Body)
	return out
}
