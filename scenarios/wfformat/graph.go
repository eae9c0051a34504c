package wfformat

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/ir"
)

// GraphOptions configure Trace.Graph.
type GraphOptions struct {
	// TimeScale multiplies the run times: 1 waits as long as the tasks ran, 0 not at all. Finite and not negative.
	TimeScale float64

	// Zero Nodes means what the trace needs: its size was checked when it was read.
	Limits ir.Limits
}

// Graph makes the workflow of a trace, without input; its result is Expected. Its action nodes are named t1, t2 and so on in
// trace order, since ids need not be names; the id is an argument. Task values are small, so a join over thousands of tasks is,
// too.
func (t *Trace) Graph(opts GraphOptions) (*graph.Graph, error) {
	if s := opts.TimeScale; math.IsNaN(s) || math.IsInf(s, 0) || s < 0 {
		return nil, fmt.Errorf("trace %s: the time scale %v must be 0 or a positive number", shown(t.Name), s)
	}
	if opts.Limits.Nodes == 0 {
		// Input and output are nodes too.
		opts.Limits.Nodes = max(len(t.Tasks)+2, opts.Limits.WithDefaults().Nodes)
	}
	b := graph.New(t.Name).Limits(opts.Limits)
	nodes := make([]*graph.NodeBuilder, len(t.Tasks))
	for i := range t.Tasks {
		seconds := t.Tasks[i].RuntimeSeconds * opts.TimeScale
		if seconds > RuntimeSecondsMax {
			return nil, fmt.Errorf("trace %s: task %s would wait for %v seconds; lower the time scale %v",
				shown(t.Name), shown(t.Tasks[i].ID), seconds, opts.TimeScale)
		}
		nodes[i] = b.Action(nodeName(i), ActionTask,
			graph.Arg{Name: "id", Value: graph.X(strconv.Quote(t.Tasks[i].ID))},
			graph.Arg{Name: "seconds", Value: graph.X(strconv.FormatFloat(seconds, 'g', -1, 64))},
			graph.Arg{Name: "inputs", Value: graph.X(nodeList(t.Tasks[i].Parents))},
		)
	}
	for i := range t.Tasks {
		for _, p := range t.Tasks[i].Parents {
			nodes[i].After(nodes[p])
		}
	}
	sinks := t.Sinks()
	output := b.Output(nodeList(sinks))
	for _, s := range sinks {
		output.After(nodes[s])
	}
	return b.Build()
}

func nodeName(task int) string { return "t" + strconv.Itoa(task+1) }

func nodeList(tasks []int) string {
	names := make([]string, len(tasks))
	for i, task := range tasks {
		names[i] = nodeName(task)
	}
	return "[" + strings.Join(names, ", ") + "]"
}
