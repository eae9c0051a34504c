package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Workload is a graph of tasks that instances run.
type Workload struct {
	Name   string `json:"name"`
	Tasks  []Task `json:"tasks"`  // each after those that it needs; at least one
	Result string `json:"result"` // the task whose value is the instance's

	// Repeat is how often the graph is executed; zero: once. Tasks without needs get the last round's result as the input "".
	Repeat int `json:"repeat,omitempty"`
}

// Task is a task of a workload.
type Task struct {
	Name  string   `json:"name"`
	Needs []string `json:"needs,omitempty"`
	MS    float64  `json:"ms,omitempty"`    // how long it sleeps
	Add   int64    `json:"add,omitempty"`   // part of its value; below Modulus
	Bytes int      `json:"bytes,omitempty"` // least length of its value
	Fails int      `json:"fails,omitempty"` // so many first attempts fail
}

// Previous is the input of a round's first tasks: the last round's result.
const Previous = ""

// Executions is the number of tasks that an instance executes, without retries.
func (w *Workload) Executions() int { return len(w.Tasks) * max(1, w.Repeat) }

// Shapes are what a system must be able to run.
func (w *Workload) Shapes() []Shape {
	shapes := []Shape{ShapeSingle}
	if len(w.Tasks) > 1 {
		shapes = []Shape{ShapeGraph}
	}
	if w.Repeat > 1 {
		shapes = append(shapes, ShapeRepeat)
	}
	if slices.ContainsFunc(w.Tasks, func(t Task) bool { return t.Fails > 0 }) {
		shapes = append(shapes, ShapeRetries)
	}
	return shapes
}

// Validate returns all mistakes of the workload, one per line.
func (w *Workload) Validate() error {
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("workload %q: "+format, append([]any{w.Name}, args...)...))
	}
	if w.Name == "" {
		wrong("it has no name")
	}
	if len(w.Tasks) == 0 {
		wrong("it has no task")
	}
	if w.Repeat < 0 {
		wrong("repeat is %d; the least is 0", w.Repeat)
	}
	seen := map[string]bool{}
	for _, t := range w.Tasks {
		switch {
		case t.Name == "":
			wrong("a task has no name")
		case seen[t.Name]:
			wrong("two tasks have the name %q", t.Name)
		}
		for i, need := range t.Needs {
			if !seen[need] {
				wrong("task %q needs %q, which does not come before it", t.Name, need)
			}
			if slices.Contains(t.Needs[:i], need) {
				wrong("task %q needs %q twice", t.Name, need)
			}
		}
		if t.MS < 0 || t.Add < 0 || t.Add >= Modulus || t.Bytes < 0 || t.Fails < 0 {
			wrong("task %q: ms, add, bytes and fails are at least 0, and add is below %d", t.Name, Modulus)
		}
		seen[t.Name] = true
	}
	if !seen[w.Result] {
		wrong("the result is that of a task %q, which is not there", w.Result)
	}
	return errors.Join(errs...)
}

// Task returns the task of a name; nil: there is none.
func (w *Workload) Task(name string) *Task {
	if i := slices.IndexFunc(w.Tasks, func(t Task) bool { return t.Name == name }); i >= 0 {
		return &w.Tasks[i]
	}
	return nil
}

// Unroll returns the workload with its rounds written one after another: tasks are named NAME#ROUND from the second round on,
// and those without needs need the last round's result.
func (w *Workload) Unroll() Workload {
	out := *w
	out.Repeat = 0
	if w.Repeat <= 1 {
		return out
	}
	out.Tasks = make([]Task, 0, w.Executions())
	for round := 1; round <= w.Repeat; round++ {
		for _, t := range w.Tasks {
			var needs []string
			for _, need := range t.Needs {
				needs = append(needs, inRound(need, round))
			}
			if needs == nil && round > 1 {
				needs = []string{inRound(w.Result, round-1)}
			}
			t.Name, t.Needs = inRound(t.Name, round), needs
			out.Tasks = append(out.Tasks, t)
		}
	}
	out.Result = inRound(w.Result, w.Repeat)
	return out
}

func inRound(name string, round int) string {
	if round == 1 {
		return name
	}
	return fmt.Sprintf("%s#%d", name, round)
}

// Missing lists the shapes of the workload that a system does not have. A system that runs graphs runs single tasks.
func (w *Workload) Missing(have []Shape) []Shape {
	return slices.DeleteFunc(w.Shapes(), func(s Shape) bool {
		return slices.Contains(have, s) || s == ShapeSingle && slices.Contains(have, ShapeGraph)
	})
}

// Sum returns the SUM of an instance's value.
func (w *Workload) Sum() int64 {
	previous := int64(0)
	for range max(1, w.Repeat) {
		sums := map[string]int64{}
		for _, t := range w.Tasks {
			sum := t.Add
			if len(t.Needs) == 0 {
				sum += previous
			}
			for _, need := range t.Needs {
				sum += sums[need]
			}
			sums[t.Name] = sum % Modulus
		}
		previous = sums[w.Result]
	}
	return previous
}

// String lists the workload's name and size, for messages.
func (w *Workload) String() string {
	var shapes []string
	for _, s := range w.Shapes() {
		shapes = append(shapes, string(s))
	}
	return fmt.Sprintf("%s (%d tasks, %s)", w.Name, w.Executions(), strings.Join(shapes, " and "))
}
