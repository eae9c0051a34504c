package graph

import (
	"fmt"
	"slices"

	"go.starlark.net/syntax"

	"pulley/engine/ir"
)

// call expands a function in place: its inputs are set in the caller's frame, its other variables start without a value, and
// all its ways out meet in a join.
func (c *compiler) call(f *frame, call *ir.Call, ways []loose) (VarID, []loose, error) {
	fn := c.functions[call.Name]
	if fn == nil {
		return None, nil, CompileError{ir.Errorf(call.Pos, "no function %s in this program", call.Name)}
	}
	callee := c.frame(fn, c.name(call.Name)+".", f.depth)
	names := c.g.Frames[callee.id].Names
	enter := &Node{Kind: Assign, Name: c.name(call.Name + "_enter"), Pos: call.Pos}
	shared := map[string]bool{}
	for _, arg := range call.Args {
		set := Set{Value: c.expr(f, arg.Value), From: None}
		if v, ok := c.alias(f, fn, arg); ok {
			names[arg.Name.Text], shared[arg.Name.Text] = v, true
		} else {
			set.Targets = []VarID{names[arg.Name.Text]}
		}
		enter.Sets = append(enter.Sets, set)
	}
	for _, name := range assigned(fn) {
		if !shared[name] {
			enter.Clear = append(enter.Clear, names[name])
		}
	}
	ways, err := c.body(callee, c.then(f, ways, enter))
	if err != nil || len(ways) == 0 {
		return callee.result, nil, err
	}
	return callee.result, c.join(f, ways, call.Name+"_exit", call.Pos), nil
}

// alias returns the caller's variable if the call passes it unchanged to an input that the function never assigns. Both are one
// then, since the caller waits: calls do not copy a large value.
func (c *compiler) alias(f *frame, fn *ir.Function, arg ir.Arg) (VarID, bool) {
	v, ok := c.g.Frames[f.id].Names[arg.Value.Text]
	return v, ok && !slices.Contains(reassigned(fn), arg.Name.Text)
}

type try struct {
	handlers []*handler
}

type handler struct {
	types []string // none: every error
	bind  VarID
	ways  []loose
}

// try compiles a body. Its actions, also within loops, spreads and called functions, get exception edges to the handlers. An
// error in a handler leads outward.
func (c *compiler) try(f *frame, s *ir.Try, ways []loose) ([]loose, error) {
	t := &try{}
	for _, h := range s.Handlers {
		to := &handler{bind: None}
		for _, typ := range h.Types {
			to.types = append(to.types, typ.Text)
		}
		if h.As != nil {
			to.bind = c.g.Frames[f.id].Names[h.As.Text]
		}
		t.handlers = append(t.handlers, to)
	}
	c.tries = append(c.tries, t)
	out, err := c.block(f, s.Body, ways)
	c.tries = c.tries[:len(c.tries)-1]
	if err != nil {
		return nil, err
	}
	for i, h := range t.handlers {
		if len(h.ways) == 0 {
			continue
		}
		except := c.connectIn(f, h.ways, &Node{Kind: Join, Name: c.name("except"), Pos: s.Handlers[i].Pos, Required: 1, Exclusive: true})
		ends, err := c.block(f, s.Handlers[i].Body, forward(except))
		if err != nil {
			return nil, err
		}
		out = append(out, ends...)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return c.join(f, out, "endtry", s.Pos), nil
}

// catch adds an action's exception edges: to the handlers of the innermost try first, in the order of the text, up to one that
// takes every error.
func (c *compiler) catch(n *Node) {
	for i := len(c.tries) - 1; i >= 0; i-- {
		for _, h := range c.tries[i].handlers {
			c.caught++
			h.ways = append(h.ways, loose{from: n.ID, kind: Exception, types: h.types, bind: h.bind})
			if namesEveryType(h.types) {
				return
			}
		}
	}
}

// accumulates returns the list of xs = xs + [...] in a loop, if the list does not read xs. The variable becomes an accumulator.
func (c *compiler) accumulates(f *frame, s *ir.Assign, e *ir.Expr) *ir.Expr {
	if f.loop == nil || len(s.Targets) != 1 {
		return nil
	}
	tree, err := (&syntax.FileOptions{}).ParseExpr("", e.Text, 0)
	if err != nil {
		return nil
	}
	sum, ok := tree.(*syntax.BinaryExpr)
	if !ok || sum.Op != syntax.PLUS {
		return nil
	}
	name, isName := sum.X.(*syntax.Ident)
	added, isList := sum.Y.(*syntax.ListExpr)
	if !isName || !isList || name.Name != s.Targets[0].Text || len(added.List) == 0 {
		return nil
	}
	start := offset(e.Text, added.Lbrack)
	end := offset(e.Text, added.Rbrack)
	if start < 0 || end < start {
		return nil
	}
	list := &ir.Expr{Pos: e.Pos, Text: e.Text[start : end+1]}
	if slices.Contains(c.free(list), name.Name) {
		return nil
	}
	v := c.g.Frames[f.id].Names[name.Name]
	if c.g.Vars[v].Length == 0 {
		scope := c.scope
		c.scope = c.g.Vars[v].Scope
		c.g.Vars[v].Length = c.variable(fmt.Sprintf("%%len(%s)", c.g.Vars[v].Name))
		c.scope = scope
	}
	return list
}

// The parser's columns count runes. -1: none.
func offset(text string, pos syntax.Position) int {
	line, col := int32(1), int32(1)
	for i, r := range text {
		if line == pos.Line && col == pos.Col {
			return i
		}
		if col++; r == '\n' {
			line, col = line+1, 1
		}
	}
	return -1
}
