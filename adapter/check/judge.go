package check

import (
	"fmt"
	"maps"
	"slices"

	"pulley/adapter/protocol"
)

// judge finds what all reports of a run together may not be. Nothing is at work any more.
func (l *ledger) judge() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(l.instances)) {
		i := l.instances[id]
		if i.ended == nil || i.quiet {
			continue
		}
		l.judgeInputs(i)
		l.judgeRetries(i)
		if i.ended.Status == protocol.Completed {
			l.judgeEnd(i)
		}
	}
}

// judgeInputs holds inputs against the values that were finished.
func (l *ledger) judgeInputs(i *instance) {
	seen := map[taskKey]string{} // a value of each task that others have received
	for _, t := range i.tasks {
		for _, e := range t.executions {
			for name, from := range inputsOf(i.workload, e.key) {
				value, there := e.inputs[name]
				if !there {
					continue // started has it
				}
				where := fmt.Sprintf("task %s of %s has %q from %s", e.key, i.id, shorten(value), from)
				if source := i.tasks[from]; source == nil || !source.values[value] {
					l.find(Finding{
						Check: "inputs", Expected: "inputs that are values of finished executions, byte for byte", Came: where + ", which no finished reported",
						Advice: "write finished before the system gets the value, and in inputs the value as the system handed it to the task",
					})
					continue
				}
				l.judgeOnce(seen, from, value, where)
			}
		}
	}
	if i.ended.Status == protocol.Completed {
		l.judgeOnce(seen, lastOf(i.workload), i.ended.Value, fmt.Sprintf("the end of %s has %q", i.id, shorten(i.ended.Value)))
	}
}

func (l *ledger) judgeOnce(seen map[taskKey]string, from taskKey, value, where string) {
	other, received := seen[from]
	if received && other != value && l.kit.hello.Promises.Results == protocol.Once {
		l.find(Finding{
			Check: "results", Expected: "one value of a task for all that need it, as the promise results once says", Came: fmt.Sprintf("%s, and another has %q", where, shorten(other)),
			Advice: "let the first stored value count, or promise any",
		})
	}
	seen[from] = value
}

// judgeEnd holds an instance's end against the values that were finished.
func (l *ledger) judgeEnd(i *instance) {
	for k := range i.sums {
		if t := i.tasks[k]; t == nil || len(t.values) == 0 {
			l.find(Finding{
				Check: "ends", Expected: "ended after every task has finished", Came: fmt.Sprintf("the end of %s (%s), and nothing of its task %s", i.id, i.workload.Name, k),
				Advice: "write started and finished for every execution, and end an instance when all its tasks have finished",
			})
			return
		}
	}
	last := lastOf(i.workload)
	if !i.tasks[last].values[i.ended.Value] {
		l.find(Finding{
			Check: "ends", Expected: "as an instance's value that of its workload's result, byte for byte", Came: fmt.Sprintf("%q at the end of %s (%s), which no finished of its task %s reported", shorten(i.ended.Value), i.id, i.workload.Name, last),
			Advice: "give ended the value that the system stored",
		})
	}
}

// judgeRetries counts the failed attempts of tasks with fails.
func (l *ledger) judgeRetries(i *instance) {
	for k, t := range i.tasks {
		spec := i.workload.Task(k.name)
		if spec.Fails == 0 {
			continue
		}
		failed, attempts := 0, map[int]bool{}
		for _, e := range t.executions {
			attempts[e.attempt] = true
			if e.failed {
				failed++
			}
		}
		if failed < spec.Fails {
			l.find(Finding{
				Check: "retries", Expected: "as many failed attempts of a task as its fails says", Came: fmt.Sprintf("%d of task %s of %s, instead of %d", failed, k, i.id, spec.Fails),
				Advice: "let the first so many attempts fail, and write failed for each",
			})
		}
		if counts := !attempts[0]; counts && !attempts[spec.Fails] {
			l.find(Finding{
				Check: "attempts", Expected: "the attempts 1, 2 and so on of a task that fails", Came: fmt.Sprintf("those of task %s of %s are %v", k, i.id, slices.Sorted(maps.Keys(attempts))),
				Advice: "write the number of the attempt, from 1, as the system counts, or 0 if it does not",
			})
		}
	}
}
