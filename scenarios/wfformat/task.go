package wfformat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// ActionTask is the action of a trace's nodes. Its arguments are those of TaskArgs, its result is TaskArgs.Value. An engine
// that runs traces registers it: parse the arguments with ParseTask, wait for Wait, return Value.
const ActionTask = "task"

// valuePrime is a Mersenne prime that every JSON reader holds exactly.
const valuePrime = 1<<31 - 1

// valueBase is a primitive root modulo valuePrime.
const valueBase = 48271

// TaskArgs are a task's arguments.
type TaskArgs struct {
	ID      string  `json:"id"`
	Seconds float64 `json:"seconds"` // run time times time scale; zero: no wait
	Inputs  []int64 `json:"inputs"`  // the parents' values, in trace order
}

// ParseTask parses and checks the arguments of ActionTask. The error is one line that names the wrong argument.
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

// Wait is the task's duration.
func (t TaskArgs) Wait() time.Duration {
	return time.Duration(t.Seconds * float64(time.Second))
}

// Value is the task's result.
func (t TaskArgs) Value() int64 { return TaskValue(t.ID, t.Inputs) }

// TaskValue is the result of the task with the given id whose parents' results are inputs, each between 0 and 2³¹−2. With h₀
// the FNV-1a hash of the id, it is hₙ of
//
//	hᵢ = (48271 · hᵢ₋₁ + inputᵢ + 1) mod (2³¹ − 1)
//
// so every input counts with its position, and so does their number. Two runs that differ in any value end alike by chance once
// in two thousand million.
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

// Values computes every task's result directly.
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

// Expected is an instance's result: the values of the tasks without children, as a JSON list in trace order.
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
