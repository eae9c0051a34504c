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

// Workers run a program's actions in processes that end with the engine's process, however it ends.
type Workers struct {
	Actions *worker.Registry
	Kill    func() bool // kills a process with attempts; false: there was none
	Close   func() error
}

// WorkersConfig says what workers are started for.
type WorkersConfig struct {
	Program cases.Program
	Actions []string
	AtOnce  int         // attempts in all of them together
	Problem func(error) // is called when workers die, from several goroutines
}

// startWorkers starts workers for the case's programs. The caller closes them, also after an error.
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

func (h *host) killWorker() bool {
	for _, w := range h.workers {
		if w.Kill() {
			return true
		}
	}
	return false
}

func (h *host) closeWorkers() error {
	var errs []error
	for _, w := range h.workers {
		errs = append(errs, w.Close())
	}
	return errors.Join(errs...)
}

// kills kills a worker that has attempts.
type kills struct {
	worker.Executor
	kill     func() bool
	onKilled func() // called when it did

	mu      sync.Mutex
	isArmed bool
}

func (k *kills) set(wanted bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.isArmed = wanted
}

// try kills a worker if ordered, and reports whether the order still stands.
func (k *kills) try() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.isArmed && k.kill() {
		k.isArmed = false
		k.onKilled()
	}
	return k.isArmed
}

const killEvery = time.Millisecond

// Execute implements worker.Executor. While a kill is ordered, an attempt is executed and kills are tried in parallel.
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
