package ir

import (
	"slices"
	"strings"
)

// check refuses what the grammar cannot see: calls that do not fit their function, recursion, and a program that cannot be run.
func check(prog *Program, lim Limits) error {
	g := callGraph{prog: prog, index: map[string]int{}, calls: make([][]*Call, len(prog.Functions))}
	var mistakes Errors
	for i, fn := range prog.Functions {
		g.index[fn.Name.Text] = i
	}
	for i, fn := range prog.Functions {
		eachCall(fn.Body, func(c *Call) {
			if err := g.fits(c); err != nil && len(mistakes) < mistakesMost {
				mistakes = append(mistakes, err)
			}
			g.calls[i] = append(g.calls[i], c)
		})
	}
	if err := mistakes.err(); err != nil {
		return err
	}
	if _, ok := g.index[mainName]; !ok {
		return Errorf(prog.Functions[0].Pos, "no fn main; write fn main(input: [], output: []): the program begins there")
	}
	return g.bounded(lim.Nesting)
}

func eachCall(body []Stmt, visit func(*Call)) {
	for _, s := range body {
		switch s := s.(type) {
		case *Assign:
			callsOf(s.Value, visit)
		case *For:
			eachCall(s.Body, visit)
		case *While:
			eachCall(s.Body, visit)
		case *If:
			for _, arm := range s.Arms {
				eachCall(arm.Body, visit)
			}
			eachCall(s.Else, visit)
		case *Try:
			eachCall(s.Body, visit)
			for _, h := range s.Handlers {
				eachCall(h.Body, visit)
			}
		}
	}
}

func callsOf(value RHS, visit func(*Call)) {
	switch v := value.(type) {
	case *Call:
		visit(v)
	case *Spread:
		callsOf(v.Do, visit)
	case *Parallel:
		for _, do := range v.Do {
			callsOf(do, visit)
		}
	}
}

type callGraph struct {
	prog  *Program
	index map[string]int
	calls [][]*Call
}

func (g *callGraph) fits(c *Call) *Error {
	fn := g.prog.Functions[g.index[c.Name]]
	given := map[string]bool{}
	for _, arg := range c.Args {
		if !slices.ContainsFunc(fn.Inputs, func(in Name) bool { return in.Text == arg.Name.Text }) {
			return Errorf(arg.Name.Pos, "fn %s has no input %s; its inputs are [%s]", c.Name, arg.Name.Text, names(fn.Inputs))
		}
		given[arg.Name.Text] = true
	}
	for _, in := range fn.Inputs {
		if !given[in.Text] {
			return Errorf(c.Pos, "fn %s needs %s; write %s(..., %s=value)", c.Name, in.Text, c.Name, in.Text)
		}
	}
	return nil
}

func names(list []Name) string {
	var texts []string
	for _, n := range list {
		texts = append(texts, n.Text)
	}
	return strings.Join(texts, ", ")
}

// bounded refuses recursion and chains of calls longer than bound. It repeatedly removes functions without calls of remaining
// ones, so it needs no stack and visits each call once.
func (g *callGraph) bounded(bound int) error {
	type edge struct {
		caller int
		call   *Call
	}
	callers := make([][]edge, len(g.calls))
	open := make([]int, len(g.calls))
	height := make([]int, len(g.calls)) // calls in the longest chain from here
	var ready []int
	for i, calls := range g.calls {
		open[i] = len(calls)
		if len(calls) == 0 {
			ready = append(ready, i)
		}
		for _, c := range calls {
			callee := g.index[c.Name]
			callers[callee] = append(callers[callee], edge{i, c})
		}
	}
	taken := 0
	for ; taken < len(ready); taken++ {
		callee := ready[taken]
		for _, e := range callers[callee] {
			height[e.caller] = max(height[e.caller], height[callee]+1)
			if height[e.caller] > bound {
				return LimitError(e.call.Pos, "nesting of calls", height[e.caller], bound)
			}
			if open[e.caller]--; open[e.caller] == 0 {
				ready = append(ready, e.caller)
			}
		}
	}
	if taken == len(g.calls) {
		return nil
	}
	return g.recursion(open)
}

// recursion names a cycle among the remaining functions. Each of them calls another one, so following calls must return.
func (g *callGraph) recursion(open []int) error {
	at := slices.IndexFunc(open, func(n int) bool { return n > 0 })
	step := map[int]int{}
	var path []string
	for {
		step[at] = len(path)
		path = append(path, g.prog.Functions[at].Name.Text)
		i := slices.IndexFunc(g.calls[at], func(c *Call) bool { return open[g.index[c.Name]] > 0 })
		call := g.calls[at][i]
		at = g.index[call.Name]
		from, seen := step[at]
		if !seen {
			continue
		}
		cycle := append(path[from:], call.Name)
		if n := len(cycle); n > maxShownCycle {
			cycle = append(append(cycle[:maxShownCycle-2:maxShownCycle-2], "…"), cycle[n-2:]...)
		}
		return Errorf(call.Pos, "recursion: %s; a call is expanded in place, so write a loop instead",
			strings.Join(cycle, " calls "))
	}
}

const maxShownCycle = 8
