package wfformat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// ActionTask is the action that the nodes of a trace run. Its arguments are those of TaskArgs; its
// result is TaskArgs.Value. An engine that runs traces registers it: parse the arguments with
// ParseTask, wait for Wait, return Value.
const ActionTask = "task"

// valuePrime bounds the values of tasks. It is a Mersenne prime, small enough that every JSON reader
// in any language holds the values exactly.
const valuePrime = 1<<31 - 1

// valueBase is a primitive root modulo valuePrime.
const valueBase = 48271

// TaskArgs is what the action of a task is called with.
type TaskArgs struct {
	ID      string  `json:"id"`
	Seconds float64 `json:"seconds"` // how long to wait: the run time times the time scale; zero: not at all
	Inputs  []int64 `json:"inputs"`  // the values of the parents, in the order of the trace
}

// ParseTask reads and checks the arguments of ActionTask. The error is one line and says which
// argument is wrong.
func ParseTask(args json.RawMessage) (TaskArgs, error) {
	var t struct {
		ID      *string  `json:"id"`
		Seconds *float64 `json:"seconds"`
		Inputs  *[]int64 `json:"inputs"`
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return TaskArgs{}, fmt.Errorf("%s takes id, seconds and inputs (whole numbers): %w", ActionTask, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return TaskArgs{}, fmt.Errorf("%s takes one object of arguments", ActionTask)
	}
	if t.ID == nil || t.Seconds == nil || t.Inputs == nil {
		return TaskArgs{}, fmt.Errorf("%s takes id, seconds and inputs; one of them is missing", ActionTask)
	}
	if *t.Seconds < 0 || *t.Seconds > RuntimeSecondsMax {
		return TaskArgs{}, fmt.Errorf("%s: seconds is %v, and must be between 0 and %v", ActionTask, *t.Seconds, float64(RuntimeSecondsMax))
	}
	for i, v := range *t.Inputs {
		if v < 0 || v >= valuePrime {
			return TaskArgs{}, fmt.Errorf("%s: inputs[%d] is %d, which is no task's value", ActionTask, i, v)
		}
	}
	return TaskArgs{ID: *t.ID, Seconds: *t.Seconds, Inputs: *t.Inputs}, nil
}

// Wait is how long the task takes.
func (t TaskArgs) Wait() time.Duration {
	return time.Duration(t.Seconds * float64(time.Second))
}

// Value is the task's result.
func (t TaskArgs) Value() int64 { return TaskValue(t.ID, t.Inputs) }

// TaskValue is the result of the task with the given id whose parents' results are inputs, each
// between 0 and 2³¹−2. With h₀ the FNV-1a hash of the id, it is hₙ of
//
//	hᵢ = (48271 · hᵢ₋₁ + inputᵢ + 1) mod (2³¹ − 1)
//
// so every input counts with its place, and so does their number. Two runs that differ in any value
// along the way end alike by chance once in two thousand million.
func TaskValue(id string, inputs []int64) int64 {
	h := uint64(0xcbf29ce484222325)
	for i := 0; i < len(id); i++ {
		h = (h ^ uint64(id[i])) * 0x100000001b3
	}
	h %= valuePrime
	for _, v := range inputs {
		h = (h*valueBase + uint64(v) + 1) % valuePrime
	}
	return int64(h)
}

// Values computes what every task returns, directly and in no one's order but the trace's own.
func (t *Trace) Values() []int64 {
	order, _ := t.order()
	values := make([]int64, len(t.Tasks))
	for _, i := range order {
		inputs := make([]int64, len(t.Tasks[i].Parents))
		for k, p := range t.Tasks[i].Parents {
			inputs[k] = values[p]
		}
		values[i] = TaskValue(t.Tasks[i].ID, inputs)
	}
	return values
}

// Expected is the result of an instance of the trace's workflow: the values of the tasks that are
// nobody's parent, as a JSON list in the order of the trace.
func (t *Trace) Expected() json.RawMessage {
	values := t.Values()
	out := []byte{'['}
	for i, sink := range t.Sinks() {
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, "%d", values[sink])
	}
	return append(out, ']')
}
