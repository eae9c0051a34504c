package scenarios

import (
	"encoding/json"
	"fmt"
	"slices"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/reference"
	"pulley/scenarios/behaviour"
)

// Workload is one workflow with its input and what is right for it.
type Workload struct {
	Name   string          // of the scenario; for a trace that was read, "trace:" and the trace's label
	Size   int             // as asked for; for a trace that was read, its number of tasks
	Graph  *graph.Graph    // compiled; shared and immutable
	Source string          // the program's text; empty where the graph was built in Go
	Input  json.RawMessage // of every instance, an object

	// Expected is the result of every instance; nil where an instance may end in another way.
	Expected json.RawMessage

	// Ends are all ways in which an instance may rightly end; nil where that is not known, as with Options.Unjudged. There are
	// several where several branches fail with different errors.
	Ends []reference.End

	// Nodes is how many node runs of actions one instance makes, retries not counted, and Optional how many of them need not
	// be made, since they may be cancelled. Zero with Options.Unjudged.
	Nodes, Optional int

	Unchecked Unchecked
	Actions   []string           // names that must be registered, sorted
	Behaviour *behaviour.Actions // that the workflow calls; nil: those that need no description
	Answers   []Answer           // what all calls come to, of actions that are not run; nil: they are
	Warnings  []string           // of the trace, or of what cannot be known beforehand; one line each
	Bundle    *Bundle            // the scenario as text, of one that was read from a file; nil otherwise
}

// Unchecked says what of a run must not be compared with what is expected, since the scenario's file says so.
type Unchecked struct {
	Results bool // how instances end
	Nodes   bool // how many node runs they make
}

// Calls are the actions that the workflow calls.
func (w *Workload) Calls() *behaviour.Actions {
	if w.Behaviour == nil {
		return behaviour.Plain()
	}
	return w.Behaviour
}

// Differs says in one line how an instance's end differs from every one that is right, and gives "" where it agrees with
// one, or where nobody knows what is right.
func (w *Workload) Differs(end reference.End) string {
	first := ""
	for i, right := range w.Ends {
		o := reference.Outcome{Status: right.Status, Error: right.Error}
		if right.Status == reference.Completed {
			var err error
			if o.Result, err = expr.Decode(right.Result, expr.Unlimited); err != nil {
				return fmt.Sprintf("what is right cannot be read: %s", err)
			}
		}
		d := o.Differs(end)
		if d == "" {
			return ""
		}
		if i == 0 {
			first = d
		}
	}
	return first
}

// Mix is what a stream of instances runs: workloads that take turns.
type Mix struct {
	Name      string
	Size      int
	Workloads []Workload // at least one
	Order     []int      // the workload of each instance; after the last it begins again
}

// Alone is a mix of one workload.
func Alone(w Workload) *Mix {
	return &Mix{Name: w.Name, Size: w.Size, Workloads: []Workload{w}, Order: []int{0}}
}

// Of gives the workload of the i-th instance, from zero.
func (m *Mix) Of(i int) *Workload { return &m.Workloads[m.Order[i%len(m.Order)]] }

// Single gives the workload where all instances run the same.
func (m *Mix) Single() (Workload, bool) { return m.Workloads[0], len(m.Workloads) == 1 }

// Nodes gives how many node runs so many instances make, at least and at most.
func (m *Mix) Nodes(instances int) (least, most int) {
	turns, rest := instances/len(m.Order), instances%len(m.Order)
	for i, of := range m.Order {
		times := turns
		if i < rest {
			times++
		}
		w := &m.Workloads[of]
		least, most = least+times*(w.Nodes-w.Optional), most+times*w.Nodes
	}
	return least, most
}

// Mean is how many node runs an instance makes in the mean, at most, and at least 1 where any makes one.
func (m *Mix) Mean() int {
	_, most := m.Nodes(len(m.Order))
	return (most + len(m.Order) - 1) / len(m.Order)
}

// Warnings are those of all workloads, each once.
func (m *Mix) Warnings() []string {
	var all []string
	for i := range m.Workloads {
		for _, warning := range m.Workloads[i].Warnings {
			if !slices.Contains(all, warning) {
				all = append(all, warning)
			}
		}
	}
	return all
}

// Actions are the names of all actions that the workloads call, sorted.
func (m *Mix) Actions() []string {
	var all []string
	for i := range m.Workloads {
		all = append(all, m.Workloads[i].Actions...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// String names the mix: scenario and size.
func (m *Mix) String() string { return fmt.Sprintf("%s %d", m.Name, m.Size) }
