package programs

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pulley/engine/ir"
)

func (g *generator) afford(calls int) bool {
	if g.spent+calls*g.rounds > spentMax {
		return false
	}
	g.spent += calls * g.rounds
	return true
}

func (g *generator) act() []ir.Stmt {
	if !g.afford(1) {
		return g.set()
	}
	k := g.anyKind()
	do := g.action(k)
	target := g.target(k)
	g.assigned(target)
	return assign(do, target)
}

func (g *generator) action(k kind) *ir.Action {
	if g.n(4) > 1 && (len(g.caught) > 0 || g.fails && g.seldom(3)) {
		if typ, ok := g.failing(); ok {
			return g.fail(k, typ)
		}
	}
	a := g.succeeding(k)
	if g.python {
		g.follow(a)
		return a
	}
	if g.n(8) == 7 {
		a.Timeout = time.Hour
	}
	if len(a.Retries) == 0 && g.n(8) == 7 {
		a.Retries = g.anyPolicies()
	}
	return a
}

// All calls of an action have one policy.
func (g *generator) follow(a *ir.Action) {
	p, known := g.policies[a.Name]
	if !known {
		switch {
		case a.Name == "flaky": // it can fail twice and then succeed
			p.retries = []ir.Retry{{Types: [][]ir.Name{nil, names([]string{"Flaky"}), names([]string{"Other", "Flaky"})}[g.n(3)], Count: 2}}
		case g.n(8) == 7:
			p.retries = []ir.Retry{{Types: [][]ir.Name{nil, names([]string{"Boom"}), names([]string{"Other", "Boom"})}[g.n(3)], Count: 1}}
		}
		if len(p.retries) > 0 && g.n(2) == 1 {
			p.retries[0].Backoff = time.Millisecond
		}
		if g.n(8) == 7 {
			p.timeout = time.Hour
		}
		g.policies[a.Name] = p
	}
	a.Retries, a.Timeout = p.retries, p.timeout
}

func action(name string, args ...string) *ir.Action {
	a := &ir.Action{Name: name}
	for i := 0; i < len(args); i += 2 {
		a.Args = append(a.Args, ir.Arg{Name: ir.Name{Text: args[i]}, Value: expression(args[i+1])})
	}
	return a
}

func (g *generator) succeeding(k kind) *ir.Action {
	way := g.n(4)
	switch {
	case k == number && way == 1:
		return action("add", "a", g.expr(number, 1), "b", g.expr(number, 1))
	case k == number && way == 2:
		return action("sum", "values", g.expr(numbers, 1))
	case k == number && way == 3:
		a := action("flaky", "times", g.expr(number, 1)+" % 3")
		if !g.python {
			a.Retries = g.enough()
		}
		return a
	case k == text && way == 1:
		return action("hash", "data", g.expr(text, 1), "rounds", "1")
	case k == text && way == 2:
		return action("add", "a", `"<"`, "b", g.expr(text, 0))
	case k == numbers && way > 1:
		return action("items", "count", g.expr(number, 1)+" % 4")
	case k == anything && way == 1:
		return action("noop")
	case k == number && way == 0 && g.n(2) == 1:
		return action("double", "value", g.expr(number, 1))
	}
	return action("echo", "value", g.expr(k, 2))
}

func (g *generator) enough() []ir.Retry {
	switch g.n(4) {
	case 1:
		return []ir.Retry{{Types: names([]string{"Flaky"}), Count: 2, Backoff: time.Millisecond}}
	case 2:
		return []ir.Retry{{Types: names([]string{"Boom"}), Count: 0}, {Types: names([]string{"Other", "Flaky"}), Count: 3}}
	case 3:
		return []ir.Retry{{Types: names([]string{"Other"}), Count: 1}, {Count: 2}}
	}
	return []ir.Retry{{Count: 2}}
}

func (g *generator) anyPolicies() []ir.Retry {
	switch g.n(4) {
	case 1:
		return []ir.Retry{{Types: names([]string{g.one(errorTypes...)}), Count: 1}}
	case 2:
		return []ir.Retry{{Types: names([]string{"Flaky"}), Count: 1, Backoff: time.Millisecond}, {Types: names([]string{"Boom", "Flaky"}), Count: 2}}
	case 3:
		return []ir.Retry{{Types: names([]string{"Other"}), Count: 2}, {Types: names([]string{"Exception"}), Count: 1}}
	}
	return []ir.Retry{{Count: 1}}
}

func (g *generator) failing() (string, bool) {
	var types []string
	for _, typ := range errorTypes {
		if g.fails && g.n(8) == 7 || g.catches(typ) {
			types = append(types, typ)
		}
	}
	if len(types) == 0 {
		return "", false
	}
	typ := g.one(types...)
	g.raised[typ] = true
	return typ, true
}

func (g *generator) catches(typ string) bool { return g.caught[typ] || g.caught["Exception"] }

func (g *generator) fail(k kind, typ string) *ir.Action {
	if g.python {
		a := action("fail", "type", `"`+typ+`"`, "message", g.expr(text, 1))
		switch {
		case typ == "Flaky" && (k == number || k == anything):
			a = action("flaky", "times", g.expr(number, 1)+" % "+g.one("2", "3")+" * 3")
		case typ == "Flaky": // its result is a number
			a = action("flaky", "times", "3")
		}
		g.follow(a)
		return a
	}
	if typ == "Flaky" {
		a := action("flaky", "times", g.expr(number, 1)+" % "+g.one("2", "3"))
		if g.n(2) == 1 {
			a.Retries = g.anyPolicies()
		}
		return a
	}
	a := action("fail", "type", `"`+typ+`"`, "message", g.expr(text, 1))
	if g.n(4) == 3 {
		a.Retries = g.anyPolicies()
	}
	return a
}

func (g *generator) invocation(k kind) ir.Invocation {
	if g.n(2) == 1 {
		if c := g.callOf(k); c != nil {
			return c
		}
	}
	if !g.afford(1) {
		a := action("noop")
		if g.python {
			if k != anything { // what is known of a name must hold
				a = action("echo", "value", g.expr(k, 0))
			}
			g.follow(a)
		}
		return a
	}
	return g.action(k)
}

func (g *generator) call() []ir.Stmt {
	k := g.anyKind()
	c := g.callOf(k)
	if c == nil {
		return g.act()
	}
	target := g.target(k)
	g.assigned(target)
	return assign(c, target)
}

func (g *generator) callOf(k kind) *ir.Call {
	f := g.existing(k)
	if f == nil && g.calls < callsMax && g.rounds <= roundsMax {
		f = g.function(k)
	}
	if f == nil {
		return nil
	}
	g.below = max(g.below, f.depth+1)
	c := &ir.Call{Name: f.Name.Text}
	for _, in := range f.Inputs {
		c.Args = append(c.Args, ir.Arg{Name: in, Value: expression(g.expr(kindOf(in.Text), 1))})
	}
	return c
}

func kindOf(name string) kind {
	for k, names := range pool {
		if slices.Contains(names, name) {
			return kind(k)
		}
	}
	return anything
}

func (g *generator) existing(k kind) *function {
	var fit []*function
	for _, f := range g.functions {
		uncaught := func(typ string) bool { return !g.catches(typ) }
		raises := slices.ContainsFunc(slices.Collect(maps.Keys(f.raised)), uncaught)
		if f.raised[expressionError] && len(g.caught) > 0 {
			continue
		}
		if f.result == k && g.calls+f.depth < callsMax && (g.fails || !raises) && g.spent+f.cost*g.rounds <= spentMax {
			fit = append(fit, f)
		}
	}
	if len(fit) == 0 || g.n(2) == 1 {
		return nil
	}
	f := fit[g.n(len(fit))]
	g.afford(f.cost)
	for typ := range f.raised {
		g.raised[typ] = true
	}
	return f
}

func (g *generator) function(k kind) *function {
	outer := *g
	g.have, g.maybe, g.dead = map[string]bool{}, map[string]bool{}, false
	g.result, g.loops, g.depth, g.calls, g.below = k, 0, 0, g.calls+1, 0
	g.raised = map[string]bool{}
	var inputs []string
	for range g.n(3) {
		in := g.target(g.anyKind())
		if !g.have[in] {
			g.assigned(in)
			inputs = append(inputs, in)
		}
	}
	body := g.block(blockMax)
	output := g.target(k)
	if !g.have[output] && !g.dead {
		body = append(body, assign(expression(g.expr(k, 1)), output)...)
	}
	f := &function{result: k, raised: g.raised, cost: (g.spent - outer.spent) / g.rounds, depth: g.below}
	f.Function = &ir.Function{
		Name: name(fmt.Sprintf("f%d", len(g.functions))), Inputs: names(inputs), Outputs: names([]string{output}), Body: body,
	}
	functions, spent, counters := append(g.functions, f), g.spent, g.counters
	t := g.t
	*g = outer
	g.t, g.functions, g.spent, g.counters = t, functions, spent, counters
	for typ := range f.raised {
		g.raised[typ] = true
	}
	return f
}

func (g *generator) spread() []ir.Stmt {
	over, item := g.spreadOver()
	limit := g.n(4)
	k := []kind{anything, number}[g.n(2)]
	had := g.have[item]
	g.have[item] = true
	rounds := g.rounds
	g.rounds *= sliceMax
	do := g.invocation(k)
	g.rounds = rounds
	if !had {
		delete(g.have, item)
	}
	s := &ir.Spread{Over: expression(over), Item: name(item), Do: do}
	if limit > 1 {
		s.Limit = limit - 1
	}
	target := g.target(list)
	if k == number {
		target = g.one("ns", "xs", "ys")
	}
	g.assigned(target)
	return assign(s, target)
}

func (g *generator) spreadOver() (over, item string) {
	switch g.n(5) {
	case 1:
		return g.elements(list), g.target(anything)
	case 2:
		return g.one("range(3)", "range(2)", "[]", "range(0)"), g.target(number)
	case 3:
		return `{"x": 1, "y": 2}`, g.target(text)
	case 4:
		if g.rounds == 1 && g.have["xs"] && g.loops == 0 {
			return "xs[:4]", g.target(anything)
		}
	}
	return g.elements(numbers), g.target(number)
}

func (g *generator) parallel() []ir.Stmt {
	p := &ir.Parallel{}
	unpacks := g.n(2) == 0
	var targets []string
	p.Do = several(g, 1, 3, func() ir.Invocation {
		k := g.anyKind()
		do := g.invocation(k)
		targets = append(targets, g.target(k))
		return do
	})
	if !unpacks || len(targets) == 1 {
		targets = []string{g.target(list)}
	}
	for _, target := range targets {
		g.assigned(target)
	}
	return assign(p, targets...)
}
