package cases

import (
	"fmt"
	"slices"
	"time"

	"pulley/chaos/fault"
)

// What a soak goes by.
const (
	// SoakLeastMS is how long a soak lasts at least.
	SoakLeastMS = 10_000

	soakSamplesMax = 400_000
	soakEvents     = 6000             // in a second, at most, about: of these so many are kept
	soakRetained   = 10 * time.Second // how long an instance stays that has ended, but no longer than
	soakStays      = 5                // the fifth part of it
	soakWarmUp     = 6                // the sixth part of it is left out before the first window: engines fill their pools, tables their pages
	soakWindow     = 10               // the tenth part of it is a window, if that is not shorter than a round of the faults
)

// Share is of how many instances one is in the history: of a long run all would be too many.
func (c Case) Share() uint32 {
	if !c.Soak {
		return 1
	}
	return uint32(max(1, time.Duration(c.LastMS)*time.Millisecond/time.Second*soakEvents/soakSamplesMax))
}

// A soak stands for a day of load. The server's vacuum comes round once a minute; in a soak it does so as often as in
// that day, as far as the server's setting goes: with a fault every few seconds, of which many have it begin anew, it
// would hardly come round at all.
const (
	soakStandsFor      = 24 * time.Hour
	vacuumPauseDefault = time.Minute
	vacuumPauseMin     = time.Second
)

// VacuumPause is the time between two rounds of the server's vacuum; zero: its own.
func (c Case) VacuumPause() time.Duration {
	length := time.Duration(c.LastMS) * time.Millisecond
	if !c.Soak || length >= soakStandsFor {
		return 0
	}
	return max(vacuumPauseMin, time.Duration(float64(vacuumPauseDefault)*float64(length)/float64(soakStandsFor)).Truncate(vacuumPauseMin))
}

// Windows are the seconds in which what may grow begins and ends: at the end of the settling, and before the end of the
// soak. Each has every kind of fault once if there is the time, since what they leave differs.
func (c Case) Windows() (isSteady, window float64) {
	length := float64(c.LastMS) / 1000
	isSteady = length / soakWarmUp
	kinds := map[string]bool{}
	for _, f := range c.Faults {
		kinds[f.Kind] = true
	}
	round := float64(len(kinds)) * c.Every().Seconds()
	return isSteady, min(max(length/soakWindow, round), (length-isSteady)/2)
}

// ends are the kinds that end an engine's process. The first engine is spared by them in a soak: what grows in a
// process is seen in one that lives long.
var ends = []string{"process.kill", "process.edge", "process.stop", "host.kill"}

// SoakPlan draws faults for a soak of so long, with EveryMS between two. The first of each kind is a long one: files do not
// become smaller, and how large they are goes by the longest time in which work has piled up. It is to have come before
// what grows is measured.
func (c Case) SoakPlan(kinds []fault.Kind, length time.Duration) []fault.Fault {
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(k fault.Kind) bool { return k.Name == "process.every" })
	n := int(length/max(c.Every(), time.Second)) - 1
	n = max(0, min(n, faultsMax))
	plan := fault.Longest(c.Seed, kinds, c.Engines, c.Timing())
	plan = append(plan, fault.Draw(c.Seed, kinds, max(0, n-len(plan)), c.Engines, c.Timing())...)[:n]
	for i, f := range plan {
		if f.Engine == 0 && c.Engines > 1 && slices.Contains(ends, f.Kind) {
			plan[i].Engine = 1 + i%(c.Engines-1)
		}
	}
	return plan
}

// Retained is how long an instance stays that has ended.
func (c Case) Retained() time.Duration {
	return min(soakRetained, time.Duration(c.LastMS)*time.Millisecond/soakStays)
}

// VacuumPauseText says how often the server's vacuum came round, where that is not as usual.
func (c Case) VacuumPauseText() string {
	if c.VacuumPause() == 0 {
		return ""
	}
	return fmt.Sprintf("The server's vacuum came round every %v instead of every %v, since the run stands for %v.", c.VacuumPause(), vacuumPauseDefault, soakStandsFor)
}
