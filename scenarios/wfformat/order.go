package wfformat

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Check verifies what the trace's fields promise. Traces of Parse and Generate pass.
func (t *Trace) Check() error {
	if len(t.Tasks) == 0 {
		return errors.New("trace: no tasks")
	}
	seen := make(map[string]bool, len(t.Tasks))
	for i := range t.Tasks {
		if err := t.checkTask(i); err != nil {
			return err
		}
		id := t.Tasks[i].ID
		if seen[id] {
			return fmt.Errorf("trace: task id %s stands twice", shown(id))
		}
		seen[id] = true
	}
	if _, cycle := t.order(); cycle != nil {
		return fmt.Errorf("trace: %s", t.cycleMessage(cycle))
	}
	return nil
}

func (t *Trace) checkTask(i int) error {
	task := &t.Tasks[i]
	if task.ID == "" || task.Name == "" {
		return fmt.Errorf("trace: task %d has no id or no name", i)
	}
	if msg := secondsProblem("run time", task.RuntimeSeconds); msg != "" {
		return fmt.Errorf("trace: task %s: %s", shown(task.ID), msg)
	}
	before := -1
	for _, p := range task.Parents {
		if p <= before || p >= len(t.Tasks) {
			return fmt.Errorf("trace: task %s: parents must be indices of tasks, ascending", shown(task.ID))
		}
		before = p
	}
	return nil
}

func secondsProblem(what string, seconds float64) string {
	switch {
	case math.IsNaN(seconds) || math.IsInf(seconds, 0):
		return "the " + what + " is not a finite number; give seconds"
	case seconds < 0:
		return fmt.Sprintf("the %s %v is negative; give seconds, 0 if it is not known", what, seconds)
	case seconds > RuntimeSecondsMax:
		return fmt.Sprintf("the %s %v is over %v seconds; is it in another unit?", what, seconds, float64(RuntimeSecondsMax))
	}
	return ""
}

// Order returns a checked trace's tasks so that each follows its parents.
func (t *Trace) Order() []int {
	order, _ := t.order()
	return order
}

// order returns the tasks so that each follows its parents, as they become free in file order. If that is impossible it returns
// one cycle: each task must run before the next, and the last before the first.
func (t *Trace) order() (order, cycle []int) {
	children := t.children()
	missing := make([]int, len(t.Tasks))
	order = make([]int, 0, len(t.Tasks))
	for i := range t.Tasks {
		if missing[i] = len(t.Tasks[i].Parents); missing[i] == 0 {
			order = append(order, i)
		}
	}
	for next := 0; next < len(order); next++ {
		for _, c := range children[order[next]] {
			if missing[c]--; missing[c] == 0 {
				order = append(order, c)
			}
		}
	}
	if len(order) == len(t.Tasks) {
		return order, nil
	}
	return nil, t.findCycle(missing)
}

func (t *Trace) children() [][]int {
	count := make([]int, len(t.Tasks))
	for i := range t.Tasks {
		for _, p := range t.Tasks[i].Parents {
			count[p]++
		}
	}
	lists := make([][]int, len(t.Tasks))
	for i, n := range count {
		lists[i] = make([]int, 0, n)
	}
	for i := range t.Tasks {
		for _, p := range t.Tasks[i].Parents {
			lists[p] = append(lists[p], i)
		}
	}
	return lists
}

// findCycle walks from an unordered task to an unordered parent, until it meets a task again. Every unordered task has such a
// parent.
func (t *Trace) findCycle(missing []int) []int {
	at := 0
	for missing[at] == 0 {
		at++
	}
	step := make(map[int]int)
	var walk []int
	for {
		if first, met := step[at]; met {
			walk = walk[first:]
			break
		}
		step[at] = len(walk)
		walk = append(walk, at)
		for _, p := range t.Tasks[at].Parents {
			if missing[p] > 0 {
				at = p
				break
			}
		}
	}
	// The walk went from child to parent; the cycle is reported in running order.
	for i, j := 0, len(walk)-1; i < j; i, j = i+1, j-1 {
		walk[i], walk[j] = walk[j], walk[i]
	}
	return walk
}

// cycleMessage names all of a short cycle, both ends of a long one.
func (t *Trace) cycleMessage(cycle []int) string {
	if len(cycle) == 1 {
		return fmt.Sprintf("task %s depends on itself; take it out of its own list", shown(t.Tasks[cycle[0]].ID))
	}
	const most = 8
	names := make([]string, 0, most+2)
	for i, task := range cycle {
		if len(cycle) > most && i == most-1 {
			names = append(names, fmt.Sprintf("(%d more)", len(cycle)-most+1))
			break
		}
		names = append(names, shown(t.Tasks[task].ID))
	}
	names = append(names, shown(t.Tasks[cycle[0]].ID))
	return "tasks depend on each other in a circle: " + strings.Join(names, " → ") + "; one of these edges must go"
}
