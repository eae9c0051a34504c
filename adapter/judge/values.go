package judge

import (
	"fmt"

	"pulley/adapter/protocol"
)

// checkExecutions collects which execution gave which value, and the adapter's mistakes: those make values say nothing.
func (j *judge) checkExecutions() {
	if !j.tasks() {
		return
	}
	for _, in := range j.instances {
		for _, r := range in.runs {
			for _, at := range r.finishes {
				j.checkFinished(r, at)
			}
		}
	}
}

func (j *judge) checkFinished(r *run, at int) {
	e := &j.h.Entries[at]
	value := text(e.Value)
	parsed, err := protocol.ParseValue(value)
	switch {
	case err != nil:
		j.reasons["the adapter finished a task with a value of another form than SUM:TOKEN"]++
		return
	case parsed.Token == "":
		j.reasons["the adapter finished a task with a value that has no token"]++
		return
	}
	if j.given[value] != nil {
		j.reasons["the adapter used a token twice"]++
	}
	j.given[value] = r
	started, right := false, false
	for _, start := range r.starts {
		s := &j.h.Entries[start]
		if s.Incarnation != e.Incarnation || start > at {
			continue
		}
		started = true
		sum, err := sumOf(r.in.workload.tasks[r.key.task], s.Inputs)
		right = right || err == nil && sum == parsed.Sum
	}
	switch {
	case !started:
		j.reasons["the adapter finished a task that it had not started"]++
	case !right:
		j.reasons["the adapter finished a task with a sum that is not that of its inputs"]++
	}
}

// sumOf is the sum of an execution with these inputs.
func sumOf(t *protocol.Task, inputs map[string]string) (int64, error) {
	sum := t.Add
	for _, input := range inputs {
		v, err := protocol.ParseValue(input)
		if err != nil {
			return 0, err
		}
		sum += v.Sum
	}
	return sum % protocol.Modulus, nil
}

// judgeInputs compares the inputs of all executions with what executions gave.
func (j *judge) judgeInputs(in *instance) {
	for _, k := range in.workload.keys {
		r := in.runs[k]
		if r == nil {
			continue
		}
		blamed := false
		for _, at := range r.starts {
			blamed = j.judgeStart(in, r, at, blamed) || blamed
		}
	}
}

// judgeStart judges one execution's inputs, and notes which values counted. Of a run it blames one execution. A task that was
// lost altogether is the reason for inputs that lack its value, and it is blamed already.
func (j *judge) judgeStart(in *instance, r *run, at int, blamed bool) bool {
	e := &j.h.Entries[at]
	for _, input := range in.inputs(r.key) {
		source := in.run(in.source(r.key, input))
		value := text(e.Inputs[input])
		_, there := source.values[value]
		switch {
		case there:
			source.use(value, at)
		case blamed:
		case value != "":
			j.blame(RuleValue, in, source.key, "%s started with the value %s of %s, %s", r.key, short(value), source.key, j.origin(source, value))
			blamed = true
		case !in.lost[source.key]:
			j.blame(RuleNeeds, in, r.key, "%s started without a value of %s, which it needs%s", r.key, source.key, whenFinished(source, at))
			blamed = true
		}
	}
	return blamed
}

func whenFinished(r *run, at int) string {
	switch {
	case len(r.finishes) == 0:
		return " and which never finished"
	case r.finishes[0] > at:
		return " and which finished later"
	}
	return ""
}

// origin tells where a value comes from that no execution of a run gave.
func (j *judge) origin(r *run, value string) string {
	other := j.given[value]
	switch {
	case other == nil:
		return "which no execution has given"
	case other.in == r.in:
		return fmt.Sprintf("which is a value of %s", other.key)
	}
	return fmt.Sprintf("which is a value of %s of instance %s", other.key, other.in.id)
}

// judgeResults looks for two values of one task that counted. Of a second instance all values differ, and that is one
// violation.
func (j *judge) judgeResults(in *instance) {
	if !j.tasks() {
		return
	}
	in.useEnd()
	if k, first, second, is := j.secondInstance(in); is {
		in.second = true
		j.blame(RuleResubmit, in, k, "the value %s of %s counted, and so did %s, which was computed from the first task on after the instance was submitted again",
			short(first), k, short(second))
	}
	for _, k := range in.workload.keys {
		r := in.runs[k]
		if r == nil || len(r.used) < 2 {
			continue
		}
		j.verdict.Counts.ValuesDiffered++
		if first, second := r.used[0], r.used[1]; j.h.Promises.Results == protocol.Once && !in.second {
			j.blame(RuleResults, in, k, "two values of %s counted: %s in entry %d, and %s in entry %d",
				k, short(first), r.usedBy[first]+1, short(second), r.usedBy[second]+1)
		}
	}
}

// useEnd notes that the value counted with which the instance completed, if there is one.
func (in *instance) useEnd() {
	result := in.run(in.result())
	if value, one := in.oneEnd(); one {
		if _, there := result.values[value]; there {
			result.use(value, in.firstEnd())
		}
	}
}

// secondInstance reports whether two values of a run show a second instance. Both counted, or both were an end. All executions
// that led to the one, from the first task on, began after the instance was submitted again; those of the other did not. Among
// values that counted that says something only if the system promises one value for each task.
func (j *judge) secondInstance(in *instance) (k runKey, first, second string, is bool) {
	if j.h.Promises.Resubmit != protocol.Once || len(in.sent) < 2 {
		return k, "", "", false
	}
	known := map[string]bool{}
	differs := func(r *run, values []string) bool {
		for _, value := range values {
			if k, first, second = r.key, values[0], value; j.anew(in, r, first, known) != j.anew(in, r, second, known) {
				return true
			}
		}
		return false
	}
	var ends []string
	for _, e := range in.ends {
		if e.status == protocol.Completed {
			ends = append(ends, e.value)
		}
	}
	if differs(in.run(in.result()), ends) {
		return k, first, second, true
	}
	for _, of := range in.workload.keys {
		if r := in.runs[of]; r != nil && j.h.Promises.Results == protocol.Once && differs(r, r.used) {
			return k, first, second, true
		}
	}
	return k, "", "", false
}

// anew reports whether a value was computed from the first task on after the instance was submitted again.
func (j *judge) anew(in *instance, r *run, value string, known map[string]bool) bool {
	if is, told := known[value]; told {
		return is
	}
	known[value] = false
	finished, given := r.values[value]
	if !given {
		return false
	}
	incarnation, start := j.h.Entries[finished].Incarnation, none
	for _, at := range r.starts {
		if at < finished && j.h.Entries[at].Incarnation == incarnation {
			start = at
		}
	}
	if start < in.sent[1] { // also if there is none
		return false
	}
	for _, input := range in.inputs(r.key) {
		if !j.anew(in, in.run(in.source(r.key, input)), text(j.h.Entries[start].Inputs[input]), known) {
			return false
		}
	}
	known[value] = true
	return true
}

// String names the run for people.
func (k runKey) String() string {
	if k.round == 0 {
		return "task " + k.task
	}
	return fmt.Sprintf("task %s of round %d", k.task, k.round)
}

// short is a value for a sentence.
func short(value string) string {
	if value == "" {
		return "(none)"
	}
	if len(value) > 40 {
		return value[:40] + "…"
	}
	return value
}
