package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"pulley/engine/backend"
	"pulley/scenarios/dist"
	"pulley/scenarios/wfformat"
)

// Distribution draws a duration, which must not be negative.
type Distribution = dist.Times

// longest bounds each step of the clock, so that a run cannot overflow time.Duration.
const longest = dist.Longest

// Service returns how long an attempt takes.
type Service func(r *rand.Rand, task backend.Task) (time.Duration, error)

// Each draws every attempt's time from one distribution.
func Each(d Distribution) Service {
	return func(r *rand.Rand, _ backend.Task) (time.Duration, error) { return d(r), nil }
}

// Recorded returns the scaled run time in the arguments of a trace's task. Other actions are an error.
func Recorded(_ *rand.Rand, task backend.Task) (time.Duration, error) {
	if task.Action != wfformat.ActionTask {
		return 0, fmt.Errorf("action %s is no task of a trace, and has no recorded time", task.Action)
	}
	args, err := wfformat.ParseTask(task.Args)
	if err != nil {
		return 0, err
	}
	return args.Wait(), nil
}

// Keyed draws for each attempt a time that depends only on the seed, the instance, the node run and the attempt. The work is
// therefore the same for any number of workers, and runs can be compared. The action selects the distribution.
func Keyed(seed uint64, of func(action string) Distribution) Service {
	return KeyedBy(seed, func(r *rand.Rand, task backend.Task) (time.Duration, error) {
		d := of(task.Action)
		if d == nil {
			return 0, fmt.Errorf("there is no service time for action %s", task.Action)
		}
		return d(r), nil
	})
}

// KeyedBy is Keyed with a service that draws from the generator it is given.
func KeyedBy(seed uint64, draw Service) Service {
	source := rand.NewPCG(0, 0)
	r := rand.New(source)
	return func(_ *rand.Rand, task backend.Task) (time.Duration, error) {
		source.Seed(seed, keyOf(task))
		return draw(r, task)
	}
}

func keyOf(task backend.Task) uint64 {
	key := task.Lease.Key
	k := dist.NewKey().Bytes(key.Instance[:])
	for i := range 4 {
		k = k.Byte(byte(key.Run.Node >> (8 * i))).Byte(byte(task.Attempt >> (8 * i)))
	}
	for i := range len(key.Run.Path) {
		k = k.Byte(key.Run.Path[i])
	}
	return k.Sum()
}
