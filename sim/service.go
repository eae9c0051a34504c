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

// longest bounds what the world adds to its clock at once: that a run cannot reach the end of time.Duration.
const longest = dist.Longest

// Service gives how long an attempt takes.
type Service func(r *rand.Rand, task backend.Task) (time.Duration, error)

// Each draws every attempt's time from one distribution.
func Each(d Distribution) Service {
	return func(r *rand.Rand, _ backend.Task) (time.Duration, error) { return d(r), nil }
}

// Recorded is the run time that a trace's task carries in its arguments, times the scale that its
// graph was built with. Other actions have none, which is an error.
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

// Keyed draws a time for each attempt that depends only on the seed, the instance, the node run and the attempt, and
// not on when it starts: so the same work is done whatever the number of workers, and runs that differ in
// it can be compared. The distribution is chosen by action.
func Keyed(seed uint64, of func(action string) Distribution) Service {
	return KeyedBy(seed, func(r *rand.Rand, task backend.Task) (time.Duration, error) {
		d := of(task.Action)
		if d == nil {
			return 0, fmt.Errorf("there is no service time for action %s", task.Action)
		}
		return d(r), nil
	})
}

// KeyedBy is Keyed where another service chooses and draws, from the generator that it is given.
func KeyedBy(seed uint64, draw Service) Service {
	source := rand.NewPCG(0, 0)
	r := rand.New(source)
	return func(_ *rand.Rand, task backend.Task) (time.Duration, error) {
		source.Seed(seed, keyOf(task))
		return draw(r, task)
	}
}

// keyOf hashes what names an attempt.
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
