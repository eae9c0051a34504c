package wfformat

import (
	"testing"
	"time"

	"pulley/engine/graph"
	"pulley/engine/ir"
)

// Each of many tasks waits for all of many others: the joining node must become a task.
func TestExportJoinsWhatHasTooManyDependencies(t *testing.T) {
	g, err := graph.CompileText("p.ir", []byte("fn main(input: [n], output: [y]):\n    x = spread range(n):i -> @first(i=i)\n    y = spread range(n):j -> @second(j=j, x=x)\n    return y\n"), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	epoch := time.Unix(0, 0)
	for width, joins := range map[int]int{100: 0, 800: 1} {
		var m Measured
		for _, n := range g.Nodes {
			if n.Kind != graph.Action {
				continue
			}
			begin := epoch
			if n.Action == "second" {
				begin = begin.Add(time.Minute)
			}
			for i := range width {
				m.Runs = append(m.Runs, MeasuredRun{Run: graph.Run{Node: n.ID, Path: graph.Path("").Push(i)}, Started: begin, Finish: begin.Add(time.Second)})
			}
		}
		trace, err := Export(g, m)
		if err != nil {
			t.Fatal(err)
		}
		edges := 0
		for _, task := range trace.Tasks {
			edges += len(task.Parents)
		}
		want := width * width
		if joins > 0 {
			want = 2 * width
		}
		if len(trace.Tasks) != 2*width+joins || edges != want || trace.CriticalPathSeconds() != 2 {
			t.Errorf("%d tasks wait for as many others: %d tasks, %d dependencies, want %d; the critical path is %v s", width, len(trace.Tasks), edges, want, trace.CriticalPathSeconds())
		}
	}
}
