package fault

import (
	"context"
	"math/rand/v2"
)

// processClock has an engine's clock jump. The engine goes by readings that include the monotonic one, which no setting
// of a wall clock moves: so both jump here, as both do in a machine that stood still and then says so.
var processClock = Kind{
	Name: "process.clock",
	Doc:  "the clock of an engine's process jumps ahead by up to two leases, back, behind, and back again",
	Draw: func(r *rand.Rand, t Timing, f *Fault) {
		f.K, f.HoldMS = between(r, t.Lease/2, 2*t.Lease), between(r, t.Lease/2, 2*t.Lease)
	},
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		half := f
		half.HoldMS /= 2
		for _, jump := range []int{f.K, -f.K} {
			if err := misbehave(ctx, w.Engine(f.Engine), Order{JumpMS: jump}, half, over); err != nil {
				return err
			}
		}
		return nil
	},
}
