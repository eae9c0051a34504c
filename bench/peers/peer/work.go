package peer

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Work is one workload on one system: it counts the runs of tasks and checks the ends of instances. It is safe for concurrent
// use.
type Work struct {
	Workload Workload

	most    int            // instances
	tasks   []atomic.Int32 // runs of each, by instance
	ends    []atomic.Int32 // of each instance
	ended   func(instance int, at time.Time)
	failed  chan struct{} // closed at the first problem
	mu      sync.Mutex
	problem error // the first
	problems,
	repeats int
}

// NewWork makes the work of at most so many instances, numbered from 0. ended is called at the first end of each, right or
// wrong, from any goroutine; it must be quick.
func NewWork(w Workload, most int, ended func(instance int, at time.Time)) *Work {
	return &Work{
		Workload: w, most: most, ended: ended, failed: make(chan struct{}),
		tasks: make([]atomic.Int32, most*w.Tasks()), ends: make([]atomic.Int32, most),
	}
}

// Step is a task of a chain, or the first of a fan-out: it returns the next payload.
func (w *Work) Step(text string) (string, error) {
	instance, step, err := w.ran(text, -1)
	if err != nil {
		return "", err
	}
	return payload(instance, step+1), nil
}

// Member is a parallel task, with the first one's payload.
func (w *Work) Member(text string, element int) (int64, error) {
	if element < 0 || element >= w.Workload.Width {
		return 0, w.wrong(fmt.Errorf("there is no element %d", element))
	}
	instance, _, err := w.ran(text, 1+element)
	return member(instance, element), err
}

// Join is the last task of a fan-out, with the first one's payload and the sum of the members' results.
func (w *Work) Join(text string, sum int64) (int64, error) {
	_, _, err := w.ran(text, w.Workload.Tasks()-1)
	return sum, err
}

// ran counts a run of the payload's task or, if as is not negative, of task as.
func (w *Work) ran(text string, as int) (instance, step int, err error) {
	instance, step, err = readPayload(text)
	if err != nil {
		return 0, 0, w.wrong(err)
	}
	task := step
	if as >= 0 {
		if task = as; step != 1 {
			return 0, 0, w.wrong(fmt.Errorf("instance %d: task %d was given what task %d gives", instance, as, step-1))
		}
	}
	if instance >= w.most || task >= w.Workload.Tasks() {
		return 0, 0, w.wrong(fmt.Errorf("there is no task %d of an instance %d", task, instance))
	}
	if w.tasks[instance*w.Workload.Tasks()+task].Add(1) > 1 {
		w.mu.Lock()
		w.repeats++
		w.mu.Unlock()
	}
	return instance, step, nil
}

// Ended reports an instance's durable end and its result: the last payload, or the joined sum in decimal.
func (w *Work) Ended(instance int, result string, err error) {
	at := time.Now()
	if instance < 0 || instance >= w.most {
		_ = w.wrong(fmt.Errorf("there is no instance %d to end", instance))
		return
	}
	want := w.Workload.want(instance)
	switch {
	case w.ends[instance].Add(1) > 1:
		_ = w.wrong(fmt.Errorf("instance %d ended twice", instance))
		return
	case err != nil:
		_ = w.wrong(fmt.Errorf("instance %d: %w", instance, err))
	case result != want:
		_ = w.wrong(fmt.Errorf("instance %d: the result is %.100q, not %q", instance, result, want))
	}
	w.ended(instance, at)
}

// wrong records an error and returns it.
func (w *Work) wrong(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.problems++; w.problem == nil {
		w.problem = err
		close(w.failed)
	}
	return err
}

// Failed is closed at the first error: continuing is pointless.
func (w *Work) Failed() <-chan struct{} { return w.failed }

// Problem returns the first error, with the number of errors.
func (w *Work) Problem() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.problems > 1 {
		return fmt.Errorf("%w (and %d more)", w.problem, w.problems-1)
	}
	return w.problem
}

// Verdict checks that the first so many instances all ended, correctly, and every task of them ran. repeats counts repeated
// task runs, which at-least-once systems allow.
func (w *Work) Verdict(instances int) (repeats int, err error) {
	if err := w.Problem(); err != nil {
		return 0, err
	}
	for i := range instances {
		if w.ends[i].Load() == 0 {
			return 0, fmt.Errorf("instance %d of %d has not ended", i, instances)
		}
		for t := range w.Workload.Tasks() {
			if w.tasks[i*w.Workload.Tasks()+t].Load() == 0 {
				return 0, fmt.Errorf("instance %d ended, but its task %d did not run", i, t)
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.repeats, nil
}
