package check

import (
	"fmt"
	"slices"

	"pulley/adapter/protocol"
)

// The names of workloads. Which there are depends on the adapter's shapes.
const (
	wlOne   = "one"   // a task
	wlSlow  = "slow"  // takes slowMS, in one task or in three
	wlLong  = "long"  // a task that takes longMS, so that tasks overlap on a busy machine, too
	wlLarge = "large" // values of largeBytes
)

const (
	slowMS     = 100
	longMS     = 500
	largeBytes = 1 << 20
	fails      = 2 // attempts of the task that fails, at most
)

// workloads returns the workloads that an adapter can run.
func workloads(h *protocol.Hello) []protocol.Workload {
	has := func(s protocol.Shape) bool { return slices.Contains(h.Shapes, s) }
	task := func(name string, add int64, needs ...string) protocol.Task {
		return protocol.Task{Name: name, Add: add, Needs: needs, MS: 1}
	}
	slow := func(name string, needs ...string) protocol.Task {
		return protocol.Task{Name: name, Add: 3, Needs: needs, MS: slowMS}
	}
	large := func(name string, needs ...string) protocol.Task {
		return protocol.Task{Name: name, Add: 4, Needs: needs, Bytes: largeBytes}
	}
	list := []protocol.Workload{
		{Name: wlOne, Tasks: []protocol.Task{task("only", 5)}, Result: "only"},
		{Name: wlSlow, Tasks: []protocol.Task{slow("a")}, Result: "a"},
		{Name: wlLong, Tasks: []protocol.Task{{Name: "a", Add: 6, MS: longMS}}, Result: "a"},
	}
	values := protocol.Workload{Name: wlLarge, Tasks: []protocol.Task{large("a")}, Result: "a"}
	if has(protocol.ShapeGraph) {
		list[1].Tasks, list[1].Result = []protocol.Task{slow("a"), slow("b", "a"), slow("c", "b")}, "c"
		values.Tasks, values.Result = []protocol.Task{large("a"), large("b", "a")}, "b"
		list = append(list,
			protocol.Workload{Name: "chain", Tasks: []protocol.Task{task("a", protocol.Modulus-1), task("b", 2, "a"), task("c", 0, "b")}, Result: "c"},
			protocol.Workload{Name: "diamond", Tasks: []protocol.Task{task("a", 7), task("b", 10, "a"), task("c", 20, "a"), task("d", 1, "b", "c")}, Result: "d"},
			fan(8),
			protocol.Workload{Name: "ends", Tasks: []protocol.Task{task("a", 1), task("b", 2, "a"), task("c", 3, "a"), task("d", 4), task("e", 5, "c", "d")}, Result: "b"},
		)
	}
	list = append(list, values)
	if has(protocol.ShapeRepeat) {
		w := protocol.Workload{Name: "rounds", Tasks: []protocol.Task{task("a", 3)}, Result: "a", Repeat: 3}
		if has(protocol.ShapeGraph) {
			w.Tasks, w.Result = append(w.Tasks, task("b", 4, "a"), task("c", 6)), "b"
		}
		list = append(list, w)
	}
	if n := failing(h); n > 0 {
		t := task("a", 9)
		t.Fails = n
		w := protocol.Workload{Name: "retries", Tasks: []protocol.Task{t}, Result: "a"}
		if has(protocol.ShapeGraph) {
			w.Tasks, w.Result = append(w.Tasks, task("b", 1, "a")), "b"
		}
		list = append(list, w)
	}
	if most := h.Promises.Attempts; has(protocol.ShapeRetries) && most > 0 {
		t := task("a", 9)
		t.Fails = most
		list = append(list, protocol.Workload{Name: "gives up", Tasks: []protocol.Task{t}, Result: "a"})
	}
	return list
}

// failing is how many attempts of a task may fail so that the next one succeeds; 0: none.
func failing(h *protocol.Hello) int {
	switch most := h.Promises.Attempts; {
	case !slices.Contains(h.Shapes, protocol.ShapeRetries):
		return 0
	case most > 0:
		return min(fails, most-1)
	}
	return fails
}

// fan is a task, n that need it, and one that needs those.
func fan(n int) protocol.Workload {
	w := protocol.Workload{Name: "fan", Tasks: []protocol.Task{{Name: "a", Add: 1, MS: 1}}, Result: "z"}
	last := protocol.Task{Name: "z", Add: 1}
	for i := range n {
		name := fmt.Sprintf("m%d", i)
		w.Tasks = append(w.Tasks, protocol.Task{Name: name, Add: int64(i), Needs: []string{"a"}, MS: 1})
		last.Needs = append(last.Needs, name)
	}
	w.Tasks = append(w.Tasks, last)
	return w
}

// givesUp reports whether instances of a workload must fail.
func givesUp(w *protocol.Workload, h *protocol.Hello) bool {
	most := h.Promises.Attempts
	return most > 0 && slices.ContainsFunc(w.Tasks, func(t protocol.Task) bool { return t.Fails >= most })
}

// taskKey is a task of a round. Workloads without rounds have round 1.
type taskKey struct {
	name  string
	round int
}

func (k taskKey) String() string {
	if k.round > 1 {
		return fmt.Sprintf("%s of round %d", k.name, k.round)
	}
	return k.name
}

// inputsOf returns which task each input of a task comes from, by the input's name.
func inputsOf(w *protocol.Workload, k taskKey) map[string]taskKey {
	from := map[string]taskKey{}
	needs := w.Task(k.name).Needs
	for _, need := range needs {
		from[need] = taskKey{need, k.round}
	}
	if len(needs) == 0 && k.round > 1 {
		from[protocol.Previous] = taskKey{w.Result, k.round - 1}
	}
	return from
}

// sums returns the SUM of each task's value.
func sums(w *protocol.Workload) map[taskKey]int64 {
	all := map[taskKey]int64{}
	for round := 1; round <= max(1, w.Repeat); round++ {
		for _, t := range w.Tasks {
			k := taskKey{t.Name, round}
			sum := t.Add
			for _, from := range inputsOf(w, k) {
				sum += all[from]
			}
			all[k] = sum % protocol.Modulus
		}
	}
	return all
}

// lastOf is the task whose value is an instance's.
func lastOf(w *protocol.Workload) taskKey { return taskKey{w.Result, max(1, w.Repeat)} }
