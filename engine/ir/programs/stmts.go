package programs

import (
	"fmt"
	"maps"
	"slices"

	"pulley/engine/ir"
)

type statement struct {
	weight int
	nests  bool
	write  func(*generator) []ir.Stmt
}

func statements() []statement {
	return []statement{
		{6, false, (*generator).set},
		{14, false, (*generator).act},
		{9, false, (*generator).accumulate},
		{2, false, (*generator).unpack},
		{6, false, (*generator).spread},
		{5, false, (*generator).parallel},
		{6, false, (*generator).call},
		{2, false, (*generator).sleep},
		{6, false, (*generator).exit},
		{1, false, (*generator).idle},
		{5, true, (*generator).branch},
		{7, true, (*generator).forLoop},
		{5, true, (*generator).whileLoop},
		{6, true, (*generator).try},
	}
}

func (g *generator) block(most int) []ir.Stmt {
	g.depth++
	defer func() { g.depth-- }()
	var body []ir.Stmt
	for _, stmts := range several(g, 1, most, g.stmt) {
		body = append(body, stmts...)
	}
	return body
}

func (g *generator) stmt() []ir.Stmt {
	all := statements()
	if g.depth > depthMax || g.rounds > roundsMax {
		all = slices.DeleteFunc(all, func(s statement) bool { return s.nests })
	}
	weight := 0
	for _, s := range all {
		weight += s.weight
	}
	i := 0
	for at := g.n(weight); at >= all[i].weight; i++ {
		at -= all[i].weight
	}
	return all[i].write(g)
}

func assign(value ir.RHS, targets ...string) []ir.Stmt {
	return []ir.Stmt{&ir.Assign{Targets: names(targets), Value: value}}
}

func (g *generator) set() []ir.Stmt {
	k := g.anyKind()
	value := g.expr(k, 2)
	target := g.target(k)
	g.assigned(target)
	return assign(expression(value), target)
}

func (g *generator) accumulate() []ir.Stmt {
	xs, held := g.variable(list)
	if !held {
		xs = g.target(list)
		g.assigned(xs)
		return assign(expression("[]"), xs)
	}
	e := g.expr(g.plain(), 1)
	value := xs + " + [" + e + "]"
	switch g.n(9) {
	case 4:
		value = xs + " + [" + e + ", " + g.expr(number, 1) + "]"
	case 5:
		value = "[" + e + "] + " + xs
	case 6:
		value = xs + " + [len(" + xs + ")]"
	case 7:
		value = xs + " + " + g.expr(numbers, 1)
	case 8:
		if g.wild {
			value = xs + " + " + g.expr(anything, 1)
		}
	}
	return assign(expression(value), xs)
}

// unpack sometimes takes a list of another length.
func (g *generator) unpack() []ir.Stmt {
	value := "[" + g.expr(number, 1) + ", " + g.expr(text, 1) + "]"
	if g.wild && g.seldom(6) {
		value = g.expr(list, 1)
	}
	a, s := g.target(number), g.target(text)
	g.assigned(a)
	g.assigned(s)
	return assign(expression(value), a, s)
}

func (g *generator) sleep() []ir.Stmt {
	seconds := g.one("0", "0.001", "0.002")
	switch {
	case g.n(4) == 3:
		seconds = g.expr(number, 0) + " % 2 * 0.001"
	case g.wild && g.seldom(20):
		seconds = g.one("-1", `"x"`)
	}
	return []ir.Stmt{&ir.Sleep{Seconds: expression(seconds)}}
}

func (g *generator) idle() []ir.Stmt {
	switch g.n(3) {
	case 1:
		return assign(expression(g.expr(g.anyKind(), 1)))
	case 2:
		return assign(g.action(anything))
	}
	return []ir.Stmt{&ir.Pass{}}
}

// exit leaves a loop or the function: in a block often unconditionally, with dead code after it, otherwise mostly under a
// condition.
func (g *generator) exit() []ir.Stmt {
	cond := ""
	if g.depth > 1 && g.n(2) == 1 || g.depth == 1 && g.n(8) < 7 {
		cond = g.cond(1)
	}
	var how ir.Stmt
	switch {
	case g.loops > 0 && g.n(3) < 2:
		how = []ir.Stmt{&ir.Break{}, &ir.Continue{}}[g.n(2)]
	default:
		how = g.leave()
	}
	if cond == "" {
		g.dead = true
		return []ir.Stmt{how}
	}
	return []ir.Stmt{&ir.If{Arms: []ir.Arm{{Cond: expression(cond), Body: []ir.Stmt{how}}}}}
}

// leave returns a value of the function's kind; from main one or several.
func (g *generator) leave() ir.Stmt {
	values := []*ir.Expr{expression(g.expr(g.result, 1))}
	if g.calls == 0 {
		for _, e := range several(g, 0, 3, func() string { return g.expr(g.anyKind(), 1) }) {
			values = append(values, expression(e))
		}
	}
	return &ir.Return{Values: values}
}

type flow struct {
	have map[string]bool
	dead bool
}

func (g *generator) here() flow { return flow{maps.Clone(g.have), g.dead} }

func (g *generator) at(f flow) { g.have, g.dead = maps.Clone(f.have), f.dead }

// meet continues where several ways meet: a name has a value if it does on all of them.
func (g *generator) meet(ways ...flow) {
	g.dead = true
	var have map[string]bool
	for _, w := range ways {
		switch {
		case w.dead:
		case g.dead:
			have, g.dead = maps.Clone(w.have), false
		default:
			maps.DeleteFunc(have, func(name string, _ bool) bool { return !w.have[name] })
		}
	}
	if !g.dead {
		g.have = have
	}
}

func (g *generator) branch() []ir.Stmt {
	s := &ir.If{}
	var ends []flow
	before := g.here()
	arm := func() ir.Arm {
		g.at(before)
		a := ir.Arm{Cond: expression(g.cond(1)), Body: g.block(blockMax)}
		ends = append(ends, g.here())
		return a
	}
	s.Arms = append([]ir.Arm{arm()}, several(g, 0, 2, arm)...)
	g.at(before)
	if g.n(2) == 1 {
		s.Else = g.block(blockMax)
	}
	g.meet(append(ends, g.here())...)
	return []ir.Stmt{s}
}

// loop writes a body that runs up to times times, after which nothing more is known than before. The names are assigned in
// every round.
func (g *generator) loop(times int, names ...string) []ir.Stmt {
	before, rounds := g.here(), g.rounds
	for _, name := range names {
		g.assigned(name)
	}
	g.loops++
	g.rounds *= times
	body := g.block(blockMax)
	g.rounds = rounds
	g.loops--
	g.at(before)
	return body
}

func (g *generator) forLoop() []ir.Stmt {
	var over string
	var targets []string
	switch g.n(7) {
	case 1:
		over, targets = g.expr(numbers, 1)+"[:3]", []string{g.target(number)}
	case 2:
		over, targets = g.elements(list), []string{g.target(anything)}
	case 3:
		over, targets = "enumerate("+g.elements(list)+")", []string{g.target(number), g.target(anything)}
	case 4:
		over, targets = g.one(`{"x": 1, "y": 2}`, "{}", `{"x": 1}.keys()`), []string{g.target(text)}
	case 5:
		over, targets = `{"x": 1, "y": 2}.items()`, []string{g.target(text), g.target(number)}
	case 6:
		over, targets = "zip("+g.elements(list)+", range(3))", []string{g.target(anything), g.target(number)}
	default:
		over, targets = "range("+g.one("2", "3", "1", "0", "1, 3")+")", []string{g.target(number)}
	}
	return []ir.Stmt{&ir.For{Targets: names(targets), Over: expression(over), Body: g.loop(sliceMax, targets...)}}
}

func (g *generator) elements(k kind) string {
	if name, ok := g.variable(k); ok {
		return name + "[:3]"
	}
	if k == numbers {
		return g.display(number, 1)
	}
	return g.display(anything, 1)
}

// whileLoop counts its rounds in a variable of its own, since it must end.
func (g *generator) whileLoop() []ir.Stmt {
	k := fmt.Sprintf("k%d", g.counters)
	g.counters++
	begin := assign(expression("0"), k)
	g.assigned(k)
	next := assign(expression(k+" + 1"), k)
	bound := g.one("2", "3", "1", "0")
	loop := &ir.While{Cond: expression(k + " < " + bound)}
	switch g.n(3) {
	case 1:
		loop.Cond = expression(k + " < " + bound + " and " + g.cond(1))
	case 2:
		loop.Cond = expression("True")
		next = append(next, &ir.If{Arms: []ir.Arm{{Cond: expression(k + " > " + bound), Body: []ir.Stmt{&ir.Break{}}}}})
	}
	loop.Body = append(next, g.loop(sliceMax)...)
	return append(begin, loop)
}

var errorTypes = []string{"Boom", "Flaky", "Other"}

const expressionError = "ExpressionError"

func (g *generator) try() []ir.Stmt {
	s := &ir.Try{}
	s.Handlers = several(g, 1, 3, func() ir.Handler {
		return ir.Handler{Types: g.handled()}
	})
	for i, h := range s.Handlers { // handlers after one that catches all are refused
		if len(h.Types) == 0 || slices.ContainsFunc(h.Types, isException) {
			s.Handlers = s.Handlers[:i+1]
			break
		}
	}
	outer := g.caught
	g.caught = maps.Clone(outer)
	for _, h := range s.Handlers {
		if len(h.Types) == 0 {
			g.caught["Exception"] = true
		}
		for _, typ := range h.Types {
			g.caught[typ.Text] = true
		}
	}
	before := g.here()
	s.Body = g.block(blockMax)
	if g.n(2) == 1 && !g.dead {
		s.Body = append(s.Body, []func() []ir.Stmt{g.act, g.parallel, g.spread}[g.n(3)]()...)
	}
	g.caught = outer
	ends := []flow{g.here()}
	for i := range s.Handlers {
		g.at(before)
		g.handler(&s.Handlers[i])
		ends = append(ends, g.here())
	}
	g.meet(ends...)
	return []ir.Stmt{s}
}

func isException(n ir.Name) bool { return n.Text == "Exception" }

func (g *generator) handled() []ir.Name {
	switch g.n(6) {
	case 1, 2:
		return names([]string{g.one(errorTypes...)})
	case 3:
		return names([]string{"Other", "Flaky"})
	case 4:
		return names([]string{"Exception"})
	}
	return nil
}

func (g *generator) handler(h *ir.Handler) {
	switch way := g.n(4); {
	case way == 1, way == 2, way == 3 && g.python: // an exception is no value
		as := name("e")
		h.As = &as
	case way == 3:
		as := name(g.one("v", "d"))
		h.As = &as
	}
	if h.As != nil {
		g.assigned(h.As.Text)
	}
	h.Body = g.block(blockMax)
}
