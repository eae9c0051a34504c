package cases

import (
	"fmt"
	"slices"
	"time"

	"pulley/chaos/fault"
)

// Parameters of a soak.
const (
	// SoakLeastMS is the minimum length of a soak.
	SoakLeastMS = 10_000

	soakSamplesMax = 400_000
	soakEvents     = 6000             // maximum per second, about; soakSamplesMax of them are kept
	soakRetained   = 10 * time.Second // how long an ended instance stays, at most
	soakStays      = 5                // and at most this part of the soak
	soakWarmUp     = 6                // the first sixth is warm-up: engines fill their pools, tables their pages
	soakWindow     = 10               // a window is a tenth, or a round of the faults if that is longer
)

// Share returns one in how many instances is in the history, which would otherwise be too large.
func (c Case) Share() uint32 {
	if !c.Soak {
		return 1
	}
	return uint32(max(1, time.Duration(c.LastMS)*time.Millisecond/time.Second*soakEvents/soakSamplesMax))
}

// A soak stands for a day of load. The server's autovacuum runs once a minute; in a soak it runs as often as in that day, as far
// as the setting allows. Otherwise the many faults that restart its pause would hardly let it run.
const (
	soakStandsFor      = 24 * time.Hour
	vacuumPauseDefault = time.Minute
	vacuumPauseMin     = time.Second
)

// VacuumPause returns the pause between two runs of autovacuum; zero: the server's default.
func (c Case) VacuumPause() time.Duration {
	length := time.Duration(c.LastMS) * time.Millisecond
	if !c.Soak || length >= soakStandsFor {
		return 0
	}
	return max(vacuumPauseMin, time.Duration(float64(vacuumPauseDefault)*float64(length)/float64(soakStandsFor)).Truncate(vacuumPauseMin))
}

// Windows returns, in seconds, the end of the warm-up and the length of the windows in which growth is measured: after the
// warm-up and at the end. If there is time, a window has every kind of fault once, since each leaves something else.
func (c Case) Windows() (steadyFrom, window float64) {
	length := float64(c.LastMS) / 1000
	steadyFrom = length / soakWarmUp
	kinds := map[string]bool{}
	for _, f := range c.Faults {
		kinds[f.Kind] = true
	}
	round := float64(len(kinds)) * c.Every().Seconds()
	return steadyFrom, min(max(length/soakWindow, round), (length-steadyFrom)/2)
}

// ends are the kinds that end an engine's process. In a soak they spare the first engine, because growth shows in a process that
// lives long.
var ends = []string{"process.kill", "process.edge", "process.stop", "host.kill"}

// SoakPlan draws faults for a soak, with EveryMS between two. The first of each kind is a long one, because the longest backlog
// determines the size of files, which never shrink, and should come before growth is measured.
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

// Retained returns how long an ended instance stays.
func (c Case) Retained() time.Duration {
	return min(soakRetained, time.Duration(c.LastMS)*time.Millisecond/soakStays)
}

// VacuumPauseText says how often autovacuum ran; "": as usual.
func (c Case) VacuumPauseText() string {
	if c.VacuumPause() == 0 {
		return ""
	}
	return fmt.Sprintf("The server's vacuum came round every %v instead of every %v, since the run stands for %v.", c.VacuumPause(), vacuumPauseDefault, soakStandsFor)
}
