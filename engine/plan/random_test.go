package plan_test

import (
	"fmt"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// programs makes random programs of all constructs that are compiled: few names, so that assignments
// meet, and values that stay small.
type programs struct {
	t   *rapid.T
	b   strings.Builder
	fns int // functions beside main
	ids int // of while counters
}

func (g *programs) n(k int) int             { return rapid.IntRange(0, k-1).Draw(g.t, "n") }
func (g *programs) pick(s ...string) string { return s[g.n(len(s))] }
func (g *programs) name() string            { return g.pick("a", "b", "c", "d") }

func (g *programs) line(indent string, format string, args ...any) {
	fmt.Fprintf(&g.b, indent+format+"\n", args...)
}

func (g *programs) expr(depth int) string {
	if depth > 0 {
		switch g.n(8) {
		case 0:
			return "(" + g.expr(depth-1) + " + " + g.expr(depth-1) + ")"
		case 1:
			return "len([" + g.expr(depth-1) + ", 1])"
		case 2:
			return "(" + g.expr(depth-1) + " if " + g.cond() + " else " + g.expr(depth-1) + ")"
		case 3:
			return "(" + g.name() + " % 5)"
		}
	}
	if g.n(60) == 0 {
		return "(1 // (" + g.name() + " % 2))"
	}
	return g.pick("0", "1", "2", "3", "a", "b", "c", "d")
}

func (g *programs) cond() string {
	return g.name() + " % " + strconv.Itoa(2+g.n(3)) + g.pick(" == 0", " != 1", " > 1")
}

func (g *programs) list() string {
	switch g.n(6) {
	case 0:
		return "range(" + g.name() + " % 4)"
	case 1:
		return "[]"
	case 2:
		return "[" + g.expr(1) + "]"
	case 3:
		return "range(" + strconv.Itoa(g.n(4)) + ", -1, -2)"
	case 4:
		return `{"x": 1, "y": 2}.values()`
	}
	return "[" + g.expr(1) + ", " + g.expr(1) + ", " + g.expr(1) + "]"
}

func (g *programs) action(arg string) string {
	switch g.n(24) {
	case 0, 1:
		return "@flaky(times=" + arg + " % 3) [retry: 2]"
	case 2:
		return "@flaky(times=" + arg + " % 3) [Other -> retry: 3] [Flaky -> retry: 1]"
	case 3, 4:
		return "@add(a=" + g.expr(1) + ", b=" + arg + ")"
	case 5, 6:
		return "@double(value=" + arg + ")"
	case 7:
		return `@fail(type="Boom")`
	case 8:
		return "@sum(values=[" + arg + ", " + g.expr(1) + "])"
	}
	return "@echo(value=" + arg + ")"
}

func (g *programs) block(indent string, depth int, inLoop bool, fn int) {
	for range 1 + g.n(4) {
		g.stmt(indent, depth, inLoop, fn)
	}
}

func (g *programs) stmt(indent string, depth int, inLoop bool, fn int) {
	k := g.n(17)
	if depth == 0 && k >= 13 {
		k = 0
	}
	switch k {
	case 0, 1:
		g.line(indent, "%s = %s", g.name(), g.expr(2))
	case 2, 3, 4:
		g.line(indent, "%s = %s", g.name(), g.action(g.expr(1)))
	case 5:
		item := g.pick("x", "a")
		g.line(indent, "xs = spread %s:%s -> %s", g.list(), item, g.action(item))
		g.line(indent, "%s = sum(xs) %% 7", g.name())
	case 6:
		g.line(indent, "%s, %s = parallel:", g.name(), g.name())
		g.line(indent, "    %s", g.action(g.expr(1)))
		g.line(indent, "    %s", g.action(g.expr(1)))
	case 7:
		if fn < g.fns {
			g.line(indent, "%s = f%d(a=%s, b=%s)", g.name(), fn+g.n(g.fns-fn), g.expr(1), g.expr(1))
			return
		}
		g.line(indent, "%s", g.pick("pass", "@noop()", "5"))
	case 8:
		if inLoop {
			g.exit(indent, g.pick("break", "continue"))
			return
		}
		g.line(indent, "acc = acc + [%s]", g.expr(1))
	case 9:
		g.exit(indent, "return "+g.pick("a", "a, b + c", "acc"))
	case 10:
		g.line(indent, "%s, %s = [%s, %s]", g.name(), g.name(), g.expr(1), g.expr(1))
	case 11, 12:
		g.line(indent, "acc = acc + [%s]", g.name())
	case 13, 14:
		g.branch(indent, depth-1, inLoop, fn)
	default:
		g.loop(indent, depth-1, fn)
	}
}

// exit leaves a loop or function: mostly under a condition, at times always, with dead code behind.
func (g *programs) exit(indent, how string) {
	if g.n(8) > 0 {
		g.line(indent, "if %s:", g.cond())
		indent += "    "
	}
	g.line(indent, "%s", how)
}

func (g *programs) branch(indent string, depth int, inLoop bool, fn int) {
	g.line(indent, "if %s:", g.cond())
	g.block(indent+"    ", depth, inLoop, fn)
	if g.n(2) == 0 {
		g.line(indent, "elif %s:", g.cond())
		g.block(indent+"    ", depth, inLoop, fn)
	}
	if g.n(2) == 0 {
		g.line(indent, "else:")
		g.block(indent+"    ", depth, inLoop, fn)
	}
}

func (g *programs) loop(indent string, depth int, fn int) {
	if g.n(2) == 0 {
		if g.n(4) == 0 {
			g.line(indent, "for i, %s in enumerate(%s):", g.name(), g.list())
		} else {
			g.line(indent, "for %s in %s:", g.pick("i", "c", "d"), g.list())
		}
		g.block(indent+"    ", depth, true, fn)
		return
	}
	g.ids++
	g.line(indent, "k%d = 0", g.ids)
	g.line(indent, "while k%d < %d%s:", g.ids, g.n(4), g.pick("", " and "+g.cond()))
	g.line(indent+"    ", "k%d = k%d + 1", g.ids, g.ids)
	g.block(indent+"    ", depth, true, fn)
}

// program makes main and up to two functions, which call those after them only.
func (g *programs) program() string {
	g.fns = g.n(3)
	for i := g.fns - 1; i >= 0; i-- {
		g.line("", "fn f%d(input: [a, b], output: [%s]):", i, g.pick("r", "r", "r, acc"))
		g.line("", "    acc = []\n    c = 1\n    d = 2")
		g.block("    ", 2, false, i+1)
		g.line("", "    r = (a + b + c + d) %% 11\n")
	}
	g.line("", "fn main(input: [a, b], output: [%s]):", g.pick("acc, a, b, c, d", "acc"))
	g.line("", "    acc = []\n    c = 3\n    d = 4")
	if g.n(30) == 0 {
		g.line("", "    if a > 3:\n        unset = 1\n    d = unset")
	}
	g.block("    ", 3, false, 0)
	return g.b.String()
}
