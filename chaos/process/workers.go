package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"pulley/chaos/cases"
	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/pause"
	"pulley/scenarios/behaviour"
)

// Workers run the actions of a program in processes that end with the engine's, however that ends.
type Workers struct {
	Actions *worker.Registry
	Kill    func() bool // kills a process that has attempts, and says whether there was one
	Close   func() error
}

// WorkersConfig says what workers are started for.
type WorkersConfig struct {
	Program cases.Program
	Actions []string    // that it calls
	AtOnce  int         // attempts in all of them together
	Problem func(error) // is told of workers that died; from several goroutines
}

// startWorkers starts what runs the actions of the case's programs. The caller closes them also where one cannot be started.
func (h *host) startWorkers(built *cases.Streams, start func(WorkersConfig) (*Workers, error)) error {
	for i, p := range built.Programs {
		if p == nil {
			continue
		}
		w := &built.Workloads[i]
		if start == nil {
			return fmt.Errorf("the actions of %s run in processes, and this program starts none", w.Name)
		}
		workers, err := start(WorkersConfig{Program: *p, Actions: w.Actions, AtOnce: h.Case.Slots, Problem: h.problem})
		if err != nil {
			return err
		}
		h.workers = append(h.workers, workers)
		w.Behaviour = behaviour.Of(workers.Actions)
	}
	return nil
}

// killWorker kills a process that has attempts, and says whether there was one.
func (h *host) killWorker() bool {
	for _, w := range h.workers {
		if w.Kill() {
			return true
		}
	}
	return false
}

// closeWorkers ends what runs the actions of the case's programs.
func (h *host) closeWorkers() error {
	var errs []error
	for _, w := range h.workers {
		errs = append(errs, w.Close())
	}
	return errors.Join(errs...)
}

// kills has a worker be killed while it has attempts.
type kills struct {
	worker.Executor
	kill     func() bool
	onKilled func() // that it was

	mu      sync.Mutex
	isArmed bool
}

func (k *kills) set(wanted bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.isArmed = wanted
}

// try kills a worker if that is wanted, and says whether it is wanted still.
func (k *kills) try() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.isArmed && k.kill() {
		k.isArmed = false
		k.onKilled()
	}
	return k.isArmed
}

// killEvery is between two looks for a worker that has attempts.
const killEvery = time.Millisecond

// Execute implements worker.Executor. An attempt that comes while a worker is to be killed has one be killed beside it.
func (k *kills) Execute(ctx context.Context, t backend.Task) (json.RawMessage, *plan.Failure) {
	if !k.try() {
		return k.Executor.Execute(ctx, t)
	}
	trying, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	beside.Go(func() {
		for range pause.Tries(trying, killEvery) {
			if !k.try() {
				return
			}
		}
	})
	return k.Executor.Execute(ctx, t)
}
