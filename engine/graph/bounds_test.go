package graph_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/internal/depth"
)

func times(n int, line string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(line, "#", fmt.Sprint(i)) + "\n")
	}
	return b.String()
}

// These texts have 100 to 300 kB. Their graph, or its data, could grow with the square: they must be refused, or stay small.
func TestGraphsAreBounded(t *testing.T) {
	few := depth.Of(3, 1)
	const main = "fn main(input: [a], output: []):\n"
	early := "\nfn f(input: [a], output: []):\n    if a:\n        return\n    else:\n        return\n"
	for _, c := range []struct{ name, source, want string }{
		{"actions and excepts", main + "    try:\n" + times(4000, "        @a()") + times(2000, "    except A#:\n        pass"),
			"ways from actions to excepts: 202000 is over the limit of 200000"},
		{"parallel actions and excepts", main + "    try:\n        parallel:\n" + times(4000, "            @a()") + times(2000, "    except A#:\n        pass"),
			"ways from actions to excepts: 202000 is over the limit of 200000"},
		{"names and calls", main + times(2000, "    f(a=a)") + early + times(5000, "    v# = a"),
			"names after expansion: 200041 is over the limit of 200000"},
		{"names and spreads", main + times(4000, "    v# = a") + times(1900, "    spread a:x -> @f(x=x)"),
			"names after expansion: 200099 is over the limit of 200000"},
		{"parallel", main + "    parallel:\n" + times(20000, "        @f(x=a)"),
			"nodes after expansion: 10001 is over the limit of 10000"},
		{"elifs", main + "    if a:\n        pass\n" + times(9000/few, "    elif a:\n        @f()"), ""},
		{"breaks", main + "    while a:\n" + times(3000/few, "        if a:\n            break"), ""},
		{"lists that grow", main + "    xs = []\n    for x in a:\n" + times(9000/few, "        xs = xs + [x]"), ""},
		{"trys in a row", main + times(2000/few, "    try:\n        @f()\n    except:\n        @g()"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			prog, err := ir.Parse("large.ir", []byte(c.source), ir.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			before := allocated()
			g, err := graph.Compile(prog, ir.Limits{})
			if err == nil {
				_, err = plan.Compile(g)
			}
			if used := allocated() - before; c.want == "" && used > fuzzBytes/uint64(few) || used > fuzzBytes {
				t.Errorf("%d MB were used", used>>20)
			} else {
				t.Logf("%d MB were used", used>>20)
			}
			var refused graph.CompileError
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %.200v\nwant %s", err, c.want)
			}
		})
	}
}
