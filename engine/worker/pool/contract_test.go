package pool_test

import (
	"testing"

	"pulley/engine/worker"
	"pulley/engine/worker/pool"
	"pulley/engine/worker/workertest"
)

// An orphan only ends with its worker, which continues after a result.
func TestContract(t *testing.T) {
	t.Parallel()
	workertest.Run(t, workertest.Harness{
		Func: func(t *testing.T, b workertest.Behaviour) worker.Func {
			p, _ := start(t, pool.Config{Processes: 2, MaxDeliveries: 5}, workerPlan{Slots: 16, Beat: 1000})
			return p.Func(string(b))
		},
		Lacks: map[workertest.Behaviour]string{
			workertest.Orphan: "what an attempt starts ends with its worker, which serves further attempts",
		},
		Types: map[workertest.Behaviour]string{
			workertest.ActionDie: pool.TypeWorkerDied,
			workertest.Half:      pool.TypeWorkerDied,
			workertest.Garbage:   workertest.NoFailure,
		},
	})
}
