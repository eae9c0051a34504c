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

// Workload is one workflow with its input and its right result.
type Workload struct {
	Name   string          // the scenario's; for a read trace, "trace:" and its label
	Size   int             // as requested; for a read trace, its number of tasks
	Graph  *graph.Graph    // shared and immutable
	Source string          // empty if the graph was built in Go
	Input  json.RawMessage // every instance's, an object

	// every instance's result; nil if an instance may end in another way
	Expected json.RawMessage

	// Ends are all right ends of an instance; nil if unknown, as with Options.Unjudged. There are several if branches fail with
	// different errors.
	Ends []reference.End

	// Nodes is the number of node runs of actions per instance, without retries. Optional is how many of them may be omitted,
	// since they may be cancelled. Zero with Options.Unjudged.
	Nodes, Optional int

	Unchecked Unchecked
	Actions   []string           // names that must be registered, sorted
	Behaviour *behaviour.Actions // the workflow's; nil: those without a description
	Answers   []Answer           // to all calls, instead of running actions; nil: actions run
	Warnings  []string           // on the trace, or on what cannot be known beforehand; one line each
	Bundle    *Bundle            // scenario as text if read from a file; nil otherwise
}

// Unchecked is what must not be compared with the expectation, by the scenario's file.
type Unchecked struct {
	Results bool
	Nodes   bool
}

// Calls returns the actions that the workflow calls.
func (w *Workload) Calls() *behaviour.Actions {
	if w.Behaviour == nil {
		return behaviour.Plain()
	}
	return w.Behaviour
}

// Differs describes in one line how an instance's end differs from every right one; "" if it is right, or if the right ends are
// unknown.
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

// Mix is the workloads of a stream of instances, in turn.
type Mix struct {
	Name      string
	Size      int
	Workloads []Workload // at least one
	Order     []int      // the workload of each instance, repeated
}

// Alone is a mix of one workload.
func Alone(w Workload) *Mix {
	return &Mix{Name: w.Name, Size: w.Size, Workloads: []Workload{w}, Order: []int{0}}
}

// Of returns the workload of the i-th instance, from zero.
func (m *Mix) Of(i int) *Workload { return &m.Workloads[m.Order[i%len(m.Order)]] }

// Single returns the workload if all instances run the same.
func (m *Mix) Single() (Workload, bool) { return m.Workloads[0], len(m.Workloads) == 1 }

// Nodes returns the least and the greatest number of node runs of so many instances.
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

// Mean is the mean of the greatest number of node runs of an instance, rounded up.
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

// Actions are the sorted names of all called actions.
func (m *Mix) Actions() []string {
	var all []string
	for i := range m.Workloads {
		all = append(all, m.Workloads[i].Actions...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// String formats the mix: scenario and size.
func (m *Mix) String() string { return fmt.Sprintf("%s %d", m.Name, m.Size) }
