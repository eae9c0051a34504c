package own

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"pulley/adapter/protocol"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

// The names in programs.
const (
	actionTask  = "task"
	argInstance = "instance" // is the input of a program, too
	argInputs   = "inputs"   // small ones, in the order of the needs
	argInput    = "input"    // with its place behind it: one of several of which some are large
	nodeLast    = "last"     // the loop, whose value is the last round's result
)

// typeScripted is the failure of an attempt that was to fail.
const typeScripted = "Scripted"

// typeWorkerDied is that of an attempt whose processes died again and again.
const typeWorkerDied = "WorkerDied"

// largeBytes is the least length of values that get arguments of their own.
const largeBytes = 1 << 10

// Program makes the program that runs a valid workload.
func Program(w *protocol.Workload) (*plan.Program, error) {
	b := graph.New(w.Name, argInstance).Limits(ir.Limits{
		// Nodes besides the tasks are the input, the output, and those of a loop.
		Nodes:          max(len(w.Tasks)+10, ir.Limits{}.WithDefaults().Nodes),
		LoopIterations: max(w.Repeat, ir.Limits{}.WithDefaults().LoopIterations),
		ValueBytes:     protocol.LineBytes,
	})
	if w.Repeat <= 1 {
		addTasks(w, &b.Body, func(result string) string { return fmt.Sprintf("[%s, %s]", argInstance, result) })
	} else {
		rounds := b.Each(nodeLast, "round", fmt.Sprintf("range(%d)", w.Repeat))
		addTasks(w, &rounds.Body, func(result string) string { return result })
		b.Output(fmt.Sprintf("[%s, %s]", argInstance, nodeLast)).After(rounds.Fold(`""`))
	}
	g, err := b.Build()
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	return plan.Compile(g)
}

// addTasks adds a workload's tasks, and the end that comes after all of them with what output makes of the result.
func addTasks(w *protocol.Workload, body *graph.Body, output func(result string) string) {
	nodes, isNeeded := map[string]*graph.NodeBuilder{}, map[string]bool{}
	names, isLarge := map[string]string{protocol.Previous: nodeLast}, map[string]bool{}
	for i := range w.Tasks {
		t := &w.Tasks[i]
		names[t.Name], isLarge[t.Name] = nodeOf(i), t.Bytes >= largeBytes
		isLarge[protocol.Previous] = isLarge[protocol.Previous] || t.Name == w.Result && isLarge[t.Name]
	}
	for i := range w.Tasks {
		t := &w.Tasks[i]
		args := append([]graph.Arg{{Name: argInstance, Value: graph.X(argInstance)}}, inputArgs(inputsOf(w, t), names, isLarge)...)
		node := body.Action(names[t.Name], actionTask, args...).
			Retry(graph.Retry{Types: []string{typeScripted, typeWorkerDied}, Count: math.MaxInt32})
		for _, need := range t.Needs {
			node.After(nodes[need])
			isNeeded[need] = true
		}
		nodes[t.Name] = node
	}
	end := body.Output(output(names[w.Result]))
	for _, t := range w.Tasks {
		if !isNeeded[t.Name] || t.Name == w.Result {
			end.After(nodes[t.Name])
		}
	}
}

// nodeOf names the node of a workload's i-th task: so a task's row in the store need not say which workload and task it is.
func nodeOf(i int) string { return "t" + strconv.Itoa(i+1) }

// nodePath is the name of that node in the compiled program: in a loop, that of the loop stands before it.
func nodePath(w *protocol.Workload, i int) string {
	if w.Repeat > 1 {
		return nodeLast + "." + nodeOf(i)
	}
	return nodeOf(i)
}

// inputsOf returns the names of a task's inputs, in their order.
func inputsOf(w *protocol.Workload, t *protocol.Task) []string {
	if len(t.Needs) == 0 && w.Repeat > 1 {
		return []string{protocol.Previous}
	}
	return t.Needs
}

// inputArgs returns the arguments with a task's inputs. nodes has the names of nodes by input.
func inputArgs(inputs []string, nodes map[string]string, isLarge map[string]bool) (args []graph.Arg) {
	if len(inputs) == 0 {
		return nil
	}
	list := make([]string, len(inputs))
	for i, input := range inputs {
		list[i] = nodes[input]
	}
	if !slices.ContainsFunc(inputs, func(input string) bool { return isLarge[input] }) {
		return []graph.Arg{{Name: argInputs, Value: graph.X("[" + strings.Join(list, ", ") + "]")}}
	}
	for i, node := range list {
		args = append(args, graph.Arg{Name: argInput + strconv.Itoa(i), Value: graph.X(node)})
	}
	return args
}
