package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		name, source, result string
	}{
		{"hop", "fn main(input: [], output: [x]):\n    x = @first()\n    x = @add(a=x * 3 % 1000, b=17)\n", `17`},
		{"spread=100", "fn main(input: [], output: [ys]):\n    xs = @first()\n    ys = spread xs:x -> @add(a=x, b=17)\n",
			"[" + strings.Repeat("1,", 99) + "1]"},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := programOf(b, c.source)
			ev := plan.Event{Attempt: 1, Result: json.RawMessage(c.result)}
			for _, n := range p.Graph().Nodes {
				if n.Kind == graph.Action && n.Action == "first" {
					ev.Run.Node = n.ID
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				pl, err := p.Step(ev, plan.Inbox{}, 0)
				if err != nil || len(pl.Enqueues) == 0 {
					b.Fatalf("%d actions are enqueued, %v", len(pl.Enqueues), err)
				}
			}
		})
	}
}

func programOf(b *testing.B, source string) *plan.Program {
	p, err := plan.CompileText("bench.ir", []byte(source), ir.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	return p
}
