package graph_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/internal/depth"
)

// nasty bodies of main have more ways out, levels and names than people write.
var nasty = []string{
	"while True:\n    pass",
	"while True:\n    try:\n        continue\n    except:\n        break",
	"for n in n:\n    for n in n:\n        for n, n in n:\n            return n",
	"try:\n    try:\n        n = @a(n=n)\n    except A as n:\n        n = @b(n=n)\n    except A, B:\n        return\nexcept as n:\n    n = @c()",
	"try:\n    n = spread n:n limit 1 -> g(n=n)\nexcept Exception as n:\n    sleep n",
	"n, n = parallel:\n    g(n=n)\n    @a()\n    g(n=[n])",
	"for i in n:\n    n = n + [i]\n    n = n + [n]\n    n = [i] + n",
	"if n:\n    return\nelse:\n    return\nsleep 1",
	"while n:\n    if n:\n        break\n    elif n:\n        continue\n    return n",
	"return [n, nobody]",
	"g(n=g)\nsleep sleep",
}

func wrapped(body string) []byte {
	return []byte("fn main(input: [n], output: [n]):\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n\n" +
		"fn g(input: [n], output: [n]):\n    for i in range(3):\n        try:\n            n = @a(n=i) [A -> retry: 1]\n" +
		"        except A:\n            return n\n        sleep i\n")
}

// Compile must refuse an input with a position for every reason, or return a graph that is right, that survives storage, and
// that can be prepared to run. An input that is no program chooses the statements of one.
func FuzzCompile(f *testing.F) {
	for _, pattern := range []string{"../../scenarios/programs/*.ir", "../../scenarios/library/*.ir", "../ir/testdata/programs/*.ir", "testdata/programs/*.ir"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal(pattern, err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(source)
		}
	}
	for _, body := range nasty {
		f.Add(wrapped(body))
	}
	for i := range 4 * len(choices()) {
		f.Add(bytes.Repeat([]byte{byte(i), byte(i / 4), 3}, 40))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		limits := ir.Limits{SourceBytes: 1 << 14, Nodes: 400}
		prog, err := ir.Parse("fuzz.ir", source, limits)
		if err != nil {
			source = chosen(source)
			if prog, err = ir.Parse("fuzz.ir", source, limits); err != nil {
				t.Fatalf("%v in\n%s", err, source)
			}
		}
		compileAny(t, prog, limits)
	})
}

// With the race detector, the graph is examined only at night: there is only one goroutine to check.
func compileAny(t *testing.T, prog *ir.Program, limits ir.Limits) {
	t.Helper()
	text := ir.Print(prog)
	again, err := ir.Parse("fuzz.ir", []byte(text), ir.Limits{})
	if err != nil || !ir.Equal(prog, again) {
		t.Fatalf("is read as another program (%v):\n%s", err, text)
	}
	before := allocated()
	g, err := graph.Compile(prog, limits)
	if err != nil {
		explained(t, err, text)
		return
	}
	if raced && !depth.Night() {
		if _, err := plan.Compile(g); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		return
	}
	model, err := graph.Compile(again, limits)
	if err != nil {
		t.Fatalf("%v, but only of the print:\n%s", err, text)
	}
	if len(model.Nodes) != len(g.Nodes) || len(model.Edges) != len(g.Edges) || len(model.Vars) != len(g.Vars) {
		t.Fatalf("the print makes another graph of\n%s\n%s\n%s", text, g.Text(), model.Text())
	}
	roundTrip(t, g)
	if _, err := plan.Compile(g); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	g.DOT()
	g.Mermaid()
	if used := allocated() - before; used > fuzzBytes {
		t.Fatalf("%d bytes to compile %d of text to %d nodes and %d edges:\n%s", used, len(text), len(g.Nodes), len(g.Edges), text)
	}
}

// fuzzBytes suffices for the largest graph that compileAny accepts.
const fuzzBytes = 512 << 20

func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

func explained(t *testing.T, err error, text string) {
	t.Helper()
	var refused graph.CompileError
	if !errors.As(err, &refused) || len(refused) == 0 {
		t.Fatalf("%v is no CompileError, of\n%s", err, text)
	}
	for _, e := range refused {
		if e.Pos.Line < 1 || e.Pos.Col < 1 || strings.Contains(e.Msg, "\n") {
			t.Fatalf("%q is no error in one line with a place, of\n%s", e, text)
		}
	}
}

type chooser struct {
	bytes []byte
	out   strings.Builder
	fn    int // functions call later ones
	left  int
}

const functions = 3

func chosen(choice []byte) []byte {
	c := &chooser{bytes: choice, left: 60}
	for c.fn = range functions {
		name := "main"
		if c.fn > 0 {
			name = fmt.Sprintf("f%d", c.fn)
		}
		fmt.Fprintf(&c.out, "fn %s(input: [n], output: [%s]):\n", name, c.pick("n", "n", "", "n, m"))
		c.block(1, false)
		c.line(1, c.pick("m = n", "m = [n]", "pass", "return m"))
	}
	return []byte(c.out.String())
}

func (c *chooser) next() int {
	if len(c.bytes) == 0 {
		return 0
	}
	b := c.bytes[0]
	c.bytes = c.bytes[1:]
	return int(b)
}

func (c *chooser) pick(of ...string) string { return of[c.next()%len(of)] }

func (c *chooser) line(depth int, text string) {
	c.out.WriteString(strings.Repeat("    ", depth) + text + "\n")
}

func (c *chooser) block(depth int, loop bool) {
	for range 1 + c.next()%4 {
		c.statement(depth, loop)
	}
}

func (c *chooser) name() string { return c.pick("n", "m", "xs", "e") }

func (c *chooser) expr() string {
	return c.pick("n", "m", "xs", "1", "[n]", "xs + [n]", "e", "len(xs)", "range(3)", "{\"k\": n}", "n + 1", "n == m")
}

func (c *chooser) invocation() string {
	if b := c.next(); b%2 == 1 && c.fn+1 < functions {
		return fmt.Sprintf("f%d(n=%s)", c.fn+1+b/2%(functions-1-c.fn), c.expr())
	}
	return "@act(v=" + c.expr() + ")"
}

func choices() []func(c *chooser, depth int, loop bool) {
	return []func(c *chooser, depth int, loop bool){
		func(c *chooser, depth int, _ bool) { c.line(depth, c.name()+" = "+c.expr()) },
		func(c *chooser, depth int, _ bool) {
			c.line(depth, c.name()+" = @act(v="+c.expr()+")"+c.pick("", " [retry: 2]", " [A -> retry: 1, backoff: 2s]", " [timeout: 5s]"))
		},
		func(c *chooser, depth int, _ bool) { c.line(depth, c.name()+" = "+c.invocation()) },
		func(c *chooser, depth int, _ bool) { c.line(depth, "xs = xs + ["+c.expr()+"]") },
		func(c *chooser, depth int, _ bool) {
			c.line(depth, c.name()+" = spread "+c.expr()+":"+c.name()+c.pick("", " limit 1", " limit 7")+" -> "+c.invocation())
		},
		func(c *chooser, depth int, _ bool) {
			c.line(depth, c.pick("", "n = ", "n, m = ", "e, e = ")+"parallel:")
			for range 1 + c.next()%3 {
				c.line(depth+1, c.invocation())
			}
		},
		func(c *chooser, depth int, loop bool) {
			c.line(depth, "if "+c.expr()+":")
			c.block(depth+1, loop)
			for range c.next() % 3 {
				c.line(depth, "elif "+c.expr()+":")
				c.block(depth+1, loop)
			}
			if c.next()%2 == 1 {
				c.line(depth, "else:")
				c.block(depth+1, loop)
			}
		},
		func(c *chooser, depth int, _ bool) {
			c.line(depth, "for "+c.pick("n", "m", "n, m", "e, e")+" in "+c.expr()+":")
			c.block(depth+1, true)
		},
		func(c *chooser, depth int, _ bool) {
			c.line(depth, "while "+c.expr()+":")
			c.block(depth+1, true)
		},
		func(c *chooser, depth int, loop bool) {
			c.line(depth, "try:")
			c.block(depth+1, loop)
			for range c.next() % 3 {
				c.line(depth, "except "+c.pick("A", "B", "A, B", "Timeout")+c.pick("", " as e", " as n")+":")
				c.block(depth+1, loop)
			}
			c.line(depth, "except"+c.pick("", " Exception", " as e", " B as n")+":")
			c.block(depth+1, loop)
		},
		func(c *chooser, depth int, _ bool) { c.line(depth, "sleep "+c.expr()) },
		func(c *chooser, depth int, _ bool) {
			c.line(depth, c.pick("return", "return n", "return n, xs", "pass"))
		},
		func(c *chooser, depth int, loop bool) {
			if loop {
				c.line(depth, c.pick("break", "continue"))
			} else {
				c.line(depth, "pass")
			}
		},
	}
}

func (c *chooser) statement(depth int, loop bool) {
	all := choices()
	i := c.next() % len(all)
	if c.left--; c.left < 0 || depth > 6 {
		i = 0
	}
	all[i](c, depth, loop)
}
