package cases

import (
	"time"

	"pulley/chaos/fault"
)

// faultCost is what a fault takes besides its own duration: waiting for its moment, and repairs.
const faultCost = 400 * time.Millisecond

// Plan draws faults from the case's seed: each kind at least once, and as many as fit into length.
func (c Case) Plan(kinds []fault.Kind, length time.Duration) []fault.Fault {
	most := len(kinds) + int(length/faultCost)
	plan := fault.Draw(c.Seed, kinds, min(most, faultsMax), c.Engines, c.Timing())
	took := time.Duration(0)
	for i, f := range plan {
		took += max(c.Every(), faultCost+f.Hold()+time.Duration(f.When.AfterMS)*time.Millisecond)
		if took > length && i+1 >= len(kinds) {
			return plan[:i+1]
		}
	}
	return plan
}
