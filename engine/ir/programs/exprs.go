package programs

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// kind is what the generator knows of a value. Every name keeps its kind.
type kind int

const (
	number kind = iota
	text
	numbers
	list
	dict
	failure
	anything
	kinds
)

var pool = [kinds][]string{
	number:   {"a", "b", "c"},
	text:     {"s", "t"},
	numbers:  {"ns"},
	list:     {"xs", "ys"},
	dict:     {"d"},
	failure:  {"e"},
	anything: {"v", "w"},
}

func (g *generator) assigned(name string) { g.have[name], g.maybe[name] = true, true }

// known leaves out counters of loops.
func (g *generator) known() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(g.have)) {
		if g.have[name] && !strings.HasPrefix(name, "k") && !(g.python && kindOf(name) == failure) {
			out = append(out, name)
		}
	}
	return out
}

// In wild programs variable sometimes draws a name that may have no value.
func (g *generator) variable(k kind) (string, bool) {
	among := g.have
	if g.wild && g.seldom(20) {
		among = g.maybe
	}
	var held []string
	for _, name := range pool[k] {
		if among[name] {
			held = append(held, name)
		}
	}
	if len(held) == 0 {
		return "", false
	}
	return g.one(held...), true
}

func (g *generator) target(k kind) string { return g.one(pool[k]...) }

func (g *generator) anyKind() kind {
	return []kind{number, text, list, numbers, dict, anything}[g.n(6)]
}

func (g *generator) expr(k kind, depth int) string {
	if g.fails && g.seldom(50) {
		if wrong := g.wrong(k); wrong != "" {
			return wrong
		}
	}
	if g.n(3) > 0 {
		if name, ok := g.variable(k); ok {
			return name
		}
	}
	if depth > 0 && g.n(4) == 3 {
		return "(" + g.expr(k, depth-1) + " if " + g.cond(depth-1) + " else " + g.expr(k, depth-1) + ")"
	}
	switch k {
	case number:
		return g.number(depth)
	case text:
		return g.text(depth)
	case numbers:
		return g.numbers(depth)
	case list:
		return g.list(depth)
	case dict, failure:
		return g.dict(depth)
	}
	return g.anything(depth)
}

// wrong writes an expression that fails, or exceeds a limit; empty: none is possible. In Python an except would catch it, and
// its kind must be known.
func (g *generator) wrong(k kind) string {
	if g.python {
		if len(g.caught) > 0 {
			return ""
		}
		g.raised[expressionError] = true
		in := [kinds]string{"1", `"x"`, "[1]", "[None]", "{}", "", "None"}[k]
		if k == number && g.n(2) == 1 {
			return "(1 // 0)"
		}
		return g.one("["+in+"][1]", `{"x": `+in+`}["k"]`)
	}
	return g.one("(1 // 0)", "[][0]", `{}["k"]`, `int("x")`, `("x" + 1)`, `("0123456789" * 200000)`)
}

func (g *generator) number(depth int) string {
	if depth == 0 {
		return strconv.Itoa(g.n(4))
	}
	sub := func() string { return g.expr(number, depth-1) }
	switch g.n(9) {
	case 1:
		return "(" + sub() + " + " + sub() + ")"
	case 2:
		return "(" + sub() + " - " + sub() + ")"
	case 3:
		return "(" + sub() + " * " + sub() + " % 97)"
	case 4:
		return "len(" + g.expr(g.sized(), depth-1) + ")"
	case 5:
		return "(sum(" + g.expr(numbers, depth-1) + ") % 11)"
	case 6:
		return g.one("min", "max") + "(" + sub() + ", " + sub() + ")"
	case 7:
		return "(" + sub() + " // 2)"
	case 8:
		return "-" + sub()
	}
	return strconv.Itoa(g.n(4))
}

func (g *generator) sized() kind { return []kind{list, numbers, text, dict}[g.n(4)] }

func (g *generator) text(depth int) string {
	if name, ok := g.variable(failure); ok && g.n(3) == 2 {
		if g.python { // an exception does not know its action
			return name + g.one(`["type"]`, `["message"]`)
		}
		return name + g.one(`["type"]`, `["message"]`, `["action"]`)
	}
	if depth == 0 {
		if g.python { // Python's texts are of characters, ours of bytes
			return g.one(`"x"`, `""`, `"y z"`, `"two\nlines"`)
		}
		return g.one(`"x"`, `""`, `"é"`, `"two\nlines"`)
	}
	switch g.n(5) {
	case 1:
		return "str(" + g.expr(number, depth-1) + ")"
	case 2:
		return "(" + g.expr(text, depth-1) + " + " + g.expr(text, depth-1) + ")[:20]"
	case 3:
		if g.python {
			return g.expr(text, depth-1) + g.one(`.replace("x", "yy")`, ".strip()")
		}
		return g.expr(text, depth-1) + ".upper()"
	case 4:
		return `("0123456789abcdef" * 80)`
	}
	return `"x"`
}

func (g *generator) numbers(depth int) string {
	switch g.n(5) {
	case 1:
		return "range(" + g.expr(number, 0) + " % 4)"
	case 2:
		return "range(" + g.one("3, 0, -2", "1, 3", "2, 2") + ")"
	case 3:
		return "list(range(" + g.one("3", "400") + "))[:3]"
	case 4:
		if depth > 0 {
			return "sorted(" + g.expr(numbers, depth-1) + ")"
		}
	}
	return g.display(number, depth)
}

func (g *generator) display(k kind, depth int) string {
	return "[" + strings.Join(several(g, 0, literalMax, func() string { return g.expr(k, max(depth-1, 0)) }), ", ") + "]"
}

func (g *generator) list(depth int) string {
	switch g.n(6) {
	case 1:
		return g.display(anything, depth)
	case 2:
		return "[" + g.expr(text, 0) + "]"
	case 3:
		return "list(range(400))"
	case 4:
		if depth > 0 {
			return "[w for w in " + g.expr(list, depth-1) + " if w != None][:4]"
		}
	case 5:
		if depth > 0 {
			return "reversed(" + g.expr(list, depth-1) + ")"
		}
	}
	return "[]"
}

func (g *generator) dict(depth int) string {
	switch g.n(4) {
	case 1:
		return `{"k": ` + g.expr(g.plain(), max(depth-1, 0)) + "}"
	case 2:
		return `{"x": ` + g.expr(number, 0) + `, "y": ` + g.expr(text, 0) + "}"
	case 3:
		if depth > 0 {
			return "{str(k): k for k in " + g.expr(numbers, depth-1) + "}"
		}
	}
	return "{}"
}

// plain draws a kind without nested values, so that what a loop collects stays small.
func (g *generator) plain() kind { return []kind{number, text}[g.n(2)] }

func (g *generator) anything(depth int) string {
	switch g.n(8) {
	case 1:
		return g.one("True", "False", "1.5", "-0.25", "1e100", "123456789012345678901234567890")
	case 2:
		return g.expr(text, depth)
	case 3:
		return g.expr(number, depth)
	case 4:
		return g.display(anything, min(depth, 1))
	case 5:
		return g.expr(dict, depth)
	case 6:
		return g.expr(dict, depth) + `.get("k")`
	case 7:
		if depth > 0 {
			return g.cond(depth - 1)
		}
	}
	return "None"
}

func (g *generator) cond(depth int) string {
	switch g.n(8) {
	case 1:
		return g.one("True", "False")
	case 2:
		return g.equality(depth)
	case 3:
		return "(" + g.expr(number, depth) + " in " + g.expr(numbers, depth) + ")"
	case 4:
		return "(len(" + g.expr(list, depth) + ") " + g.one("< 2", "> 1") + ")"
	case 5:
		return g.errorTest(depth)
	case 6:
		if depth > 0 {
			return "(" + g.cond(depth-1) + g.one(" and ", " or ") + g.cond(depth-1) + ")"
		}
	case 7:
		if depth > 0 {
			return "(not " + g.cond(depth-1) + ")"
		}
	}
	return "(" + g.expr(number, depth) + " % " + g.one("2", "3") + g.one(" == 0", " != 1", " < 1") + ")"
}

// equality compares two values. In Python True is 1, so their kinds must be known, or one be None or a text.
func (g *generator) equality(depth int) string {
	a, b := anything, anything
	if g.python {
		kinds := [][2]kind{{number, number}, {text, text}, {numbers, numbers}, {anything, text}, {anything, anything}}[g.n(5)]
		a, b = kinds[0], kinds[1]
		if b == anything {
			return "(" + g.expr(a, depth) + " == None)"
		}
	}
	return "(" + g.expr(a, depth) + " == " + g.expr(b, depth) + ")"
}

// In Python, only a caught error can be tested.
func (g *generator) errorTest(depth int) string {
	if !g.python {
		return "isexception(" + g.expr(failureOr(g), depth) + `, "` + g.one(errorTypes...) + `")`
	}
	if name, ok := g.variable(failure); ok {
		return "isexception(" + name + `, "` + g.one(errorTypes...) + `")`
	}
	return "(" + g.expr(text, depth) + " == " + g.expr(text, depth) + ")"
}

func failureOr(g *generator) kind {
	if g.have["e"] {
		return failure
	}
	return anything
}
