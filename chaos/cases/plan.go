package cases

import (
	"time"

	"pulley/chaos/fault"
)

// faultCost is what a fault takes beside its own time, about: until its moment comes, and to repair things.
const faultCost = 400 * time.Millisecond

// Plan draws the case's faults from its seed: as many of the kinds as take about so long, each once at least.
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
