package workload

import (
	"fmt"
	"slices"
	"strings"

	"pulley/adapter/protocol"
	"pulley/engine/plan"
	"pulley/scenarios"
	"pulley/scenarios/dist"
)

// Options choose how workloads are given. The zero value suffices.
type Options struct {
	Name   string // of the workload; empty: the scenario's
	Seed   uint64 // of drawn service times
	Mean   bool   // tasks take the mean of their service law, and nothing is drawn
	Repeat bool   // a workflow that is one loop of equal rounds becomes one round and its number; false: the rounds are unrolled
}

// Graph is a workload as a graph of tasks.
type Graph struct {
	protocol.Workload

	// Joined: the last task is none of the scenario's. It needs all tasks that no other needs.
	Joined bool

	Notes []string // what the graph leaves out; one line each
}

// Refused is the error of a workload that no graph of tasks expresses.
type Refused struct {
	Workload string
	Reason   string // one line
}

// Error returns one line.
func (e *Refused) Error() string {
	return fmt.Sprintf("workload %s cannot be given to adapters as a graph of tasks: %s", e.Workload, e.Reason)
}

// Bounds of a workload, so that every message about it fits a line.
const (
	tasksMax = 500_000
	textMax  = protocol.LineBytes - 64<<10
	needMin  = 4 // bytes of a need's name in quotes, with a comma
)

// Of returns the graph of tasks that an instance of a workload executes. A user's own actions are not executed: the workload
// must have Answers for them. The error is a *Refused.
func Of(w *scenarios.Workload, opts Options) (*Graph, error) {
	name := opts.Name
	if name == "" {
		name = w.Name
	}
	refuse := func(err error) (*Graph, error) { return nil, &Refused{Workload: name, Reason: err.Error()} }
	program, err := plan.Compile(w.Graph)
	if err != nil {
		return refuse(err)
	}
	u, err := unfolding(w, program, opts)
	if err == nil {
		err = u.run(w.Input)
	}
	switch {
	case err != nil:
		return refuse(err)
	case len(u.tasks) == 0:
		return refuse(fmt.Errorf("it executes no action"))
	case u.needs() > textMax/needMin:
		return refuse(fmt.Errorf("%d tasks need %d results, which no line of %d bytes holds; take a smaller size", len(u.tasks), u.needs(), textMax))
	}
	g := &Graph{Notes: u.notes()}
	if rounds := u.rounds(); opts.Repeat && rounds > 1 {
		g.Workload = u.round(rounds)
	} else {
		g.Workload = u.unrolled()
	}
	g.Name = name
	g.join()
	for i := range g.Tasks {
		g.Tasks[i].Add = addOf(g.Tasks[i].Name)
	}
	if err := g.fits(); err != nil {
		return refuse(err)
	}
	return g, nil
}

// Mix is the graphs of a mix's workloads.
type Mix struct {
	Graphs []*Graph // with different names, in the order of the mix's workloads
	Order  []int    // the graph of each instance, repeated
}

// OfMix returns the graphs of a mix. Those of a mix of several have a number behind their names, from 1. The error is a
// *Refused.
func OfMix(m *scenarios.Mix, opts Options) (*Mix, error) {
	out := &Mix{Order: slices.Clone(m.Order)}
	for i := range m.Workloads {
		one := opts
		if len(m.Workloads) > 1 {
			if one.Name == "" {
				one.Name = m.Workloads[i].Name
			}
			one.Name = fmt.Sprintf("%s-%d", one.Name, i+1)
		}
		g, err := Of(&m.Workloads[i], one)
		if err != nil {
			return nil, err
		}
		out.Graphs = append(out.Graphs, g)
	}
	return out, nil
}

// Of returns the graph of the i-th instance, from zero.
func (m *Mix) Of(i int) *Graph { return m.Graphs[m.Order[i%len(m.Order)]] }

// Workloads returns the graphs as setup lists them.
func (m *Mix) Workloads() []protocol.Workload {
	list := make([]protocol.Workload, len(m.Graphs))
	for i, g := range m.Graphs {
		list[i] = g.Workload
	}
	return list
}

// Notes returns those of all graphs, each once.
func (m *Mix) Notes() []string {
	var all []string
	for _, g := range m.Graphs {
		for _, note := range g.Notes {
			if !slices.Contains(all, note) {
				all = append(all, note)
			}
		}
	}
	return all
}

// addOf is a task's part of the sum: never zero.
func addOf(name string) int64 {
	return 1 + int64(dist.NewKey().Text("add").Text(name).Sum()%(protocol.Modulus-1))
}

// resultName names an added last task.
const resultName = "result"

// join sets the graph's result, and adds a task if there are several sinks.
func (g *Graph) join() {
	needed := map[string]bool{}
	taken := map[string]bool{}
	for _, t := range g.Tasks {
		taken[t.Name] = true
		for _, need := range t.Needs {
			needed[need] = true
		}
	}
	var sinks []string
	for _, t := range g.Tasks {
		if !needed[t.Name] {
			sinks = append(sinks, t.Name)
		}
	}
	if len(sinks) == 1 {
		g.Result = sinks[0]
		return
	}
	g.Result, g.Joined = resultName, true
	for n := 2; taken[g.Result]; n++ {
		g.Result = fmt.Sprintf("%s-%d", resultName, n)
	}
	g.Tasks = append(g.Tasks, protocol.Task{Name: g.Result, Needs: sinks})
}

// fits checks that lines hold the workload and each task's inputs.
func (g *Graph) fits() error {
	size, needs := 0, 0
	bytes := make(map[string]int, len(g.Tasks))
	for i := range g.Tasks {
		t := &g.Tasks[i]
		bytes[t.Name] = max(t.Bytes, 64) + len(t.Name) + 8
		size += 2*len(t.Name) + 80
		inputs := 0
		for _, need := range t.Needs {
			inputs += bytes[need]
			size += len(need) + 3
		}
		needs += len(t.Needs)
		if inputs > textMax {
			return fmt.Errorf("task %s would be given %d bytes, and a line holds %d; take a smaller size or payload", t.Name, inputs, textMax)
		}
	}
	if size > textMax {
		return fmt.Errorf("%d tasks that need %d results take about %d bytes, and a line holds %d; take a smaller size",
			len(g.Tasks), needs, size, textMax)
	}
	return g.Validate()
}

// String lists the graph's name, size and notes, for messages.
func (g *Graph) String() string {
	if len(g.Notes) == 0 {
		return g.Workload.String()
	}
	return g.Workload.String() + ": " + strings.Join(g.Notes, "; ")
}
