package bench

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"pulley/reports/record"
)

// Load is how instances arrive in the runs of a comparison: a number at once, the next whenever one ends.
type Load struct {
	// Mode is record.ModeAlone or record.ModeSaturated, the latter with @K appended if a case has several. Empty: alone if one
	// instance is in flight, else saturated.
	Mode string
	// InFlight is the number of instances at once. Zero: 1.
	InFlight int
	// NodesInFlight bounds InFlight for large instances: together they have at most so many node runs, but at least
	// instancesLeast instances are in flight. With a RunTime, a slow scheduler has at most the instances in flight that it ends
	// in longestRun times the RunTime. Zero: no bound.
	NodesInFlight int
	// Workers is the number of actions that an engine runs at once. Zero: 16.
	Workers int
	// Engines on the store. Zero: the comparison's.
	Engines int
	// MinNodes is the least number of node runs in a run, for which instances are repeated. Zero: 2,000.
	MinNodes int
	// RunTime is the approximate duration of a run: an uncounted pilot run finds the number of instances. A run has at least as
	// many as are in flight and may take longestRun times the RunTime for them. MinNodes is ignored. Zero: MinNodes decides.
	RunTime time.Duration
}

const (
	instancesLeast = 8  // at least, as far as InFlight allows
	instancesOnce  = 16 // at most, before a pilot run has measured the rate
	longestRun     = 4  // in RunTimes, at the pilot's rate
)

// AloneLoad has one instance at a time: it shows the cost of an unshared hop.
func AloneLoad() Load {
	return Load{Mode: record.ModeAlone, InFlight: 1, Workers: 16, RunTime: 500 * time.Millisecond}
}

// SaturatedLoad has more instances in flight than make a small machine faster: it shows an engine's capacity.
func SaturatedLoad() Load {
	return Load{Mode: record.ModeSaturated, InFlight: 500, NodesInFlight: 50_000, Workers: 2000, RunTime: 2 * time.Second}
}

func (l Load) withDefaults() Load {
	l.InFlight = cmp.Or(l.InFlight, 1)
	l.Workers = cmp.Or(l.Workers, 16)
	l.MinNodes = cmp.Or(l.MinNodes, 2000)
	if l.Mode == "" {
		if l.Mode = record.ModeSaturated; l.InFlight == 1 {
			l.Mode = record.ModeAlone
		}
	}
	return l
}

func (l Load) validate() error {
	switch {
	case l.Mode != record.ModeAlone && l.Mode != record.ModeSaturated && !strings.HasPrefix(l.Mode, record.ModeSaturated+"@"):
		return fmt.Errorf("compare: the mode is %q; choose %s or %s", l.Mode, record.ModeAlone, record.ModeSaturated)
	case l.Mode == record.ModeAlone && l.InFlight != 1:
		return fmt.Errorf("compare: an instance that is alone is one, not %d", l.InFlight)
	case l.Workers < 1 || l.Workers > 10_000:
		return fmt.Errorf("compare: %d workers; choose from 1 to 10000", l.Workers)
	case l.InFlight < 1 || l.InFlight > 1_000_000:
		return fmt.Errorf("compare: %d instances in flight; choose from 1 to 1000000", l.InFlight)
	case l.Engines < 0 || l.Engines > 64:
		return fmt.Errorf("compare: %d engines; choose from 1 to 64", l.Engines)
	case l.NodesInFlight < 0:
		return errors.New("compare: the node runs in flight must not be negative")
	case l.MinNodes < 1:
		return fmt.Errorf("compare: at least %d nodes a run; choose 1 or more", l.MinNodes)
	case l.RunTime < 0 || l.RunTime > time.Hour:
		return fmt.Errorf("compare: %v for a run; choose up to an hour", l.RunTime)
	}
	return nil
}

// loadsOf returns the scenario's own modes, if they are used and it has any; else the comparison's.
func (c CompareConfig) loadsOf(k *Case) []Load {
	run := k.Run
	if !c.OwnLoads || len(run.InFlight) == 0 && run.Workers == 0 && run.Engines == 0 && run.Measure == 0 {
		return c.Loads
	}
	loads := slices.Clone(c.Loads)
	if len(run.InFlight) > 0 {
		loads = nil
		for _, n := range run.InFlight {
			loads = append(loads, c.loadWith(n, len(run.InFlight) > 2 || !slices.Contains(run.InFlight, 1) && len(run.InFlight) > 1))
		}
	}
	for i := range loads {
		l := &loads[i]
		l.Workers, l.Engines = cmp.Or(run.Workers, l.Workers), cmp.Or(run.Engines, l.Engines)
		if l.RunTime > 0 && l.Mode != record.ModeAlone {
			l.RunTime = cmp.Or(run.Measure, l.RunTime)
		}
	}
	return loads
}

// If several, the mode names the number.
func (c CompareConfig) loadWith(inFlight int, several bool) Load {
	alone := func(l Load) bool { return l.Mode == record.ModeAlone }
	like := c.Loads[len(c.Loads)-1]
	if i := slices.IndexFunc(c.Loads, alone); inFlight == 1 && i >= 0 {
		like = c.Loads[i]
	}
	like.InFlight, like.NodesInFlight, like.Mode = inFlight, 0, record.ModeSaturated
	switch {
	case inFlight == 1:
		like.Mode = record.ModeAlone
	case several:
		like.Mode = fmt.Sprintf("%s@%d", record.ModeSaturated, inFlight)
	}
	return like
}

// inFlight returns the number of instances at once. perS is the pilot's rate of ended instances; zero before the pilot.
func (l Load) inFlight(nodes int, perS float64) int {
	if l.NodesInFlight == 0 {
		return l.InFlight
	}
	most := min(l.InFlight, max(l.NodesInFlight/max(nodes, 1), instancesLeast))
	switch {
	case l.RunTime == 0:
		return most
	case perS == 0:
		return min(most, instancesOnce)
	}
	return min(most, max(int(math.Ceil(min(perS*l.RunTime.Seconds()*longestRun, instancesMax))), instancesLeast))
}

type runPlan struct {
	load      Load
	instances int
	inFlight  int
}

func (l Load) plan(nodes int, perS float64) runPlan {
	p := runPlan{load: l, inFlight: l.inFlight(nodes, perS)}
	switch {
	case l.RunTime == 0:
		p.instances = (l.MinNodes + max(nodes, 1) - 1) / max(nodes, 1)
	case perS == 0:
		p.instances = p.inFlight
	default:
		p.instances = int(min(math.Ceil(perS*l.RunTime.Seconds()), instancesMax))
		p.instances = max(p.instances, p.inFlight)
	}
	p.instances = max(p.instances, 1)
	p.inFlight = min(p.inFlight, p.instances)
	return p
}

// instancesMax bounds the instances of a run: each has a page in the run's ledger.
const instancesMax = 2_000_000

const (
	pilotTries = 4
	// pilotGrows bounds the growth from one pilot to the next, of instances in the run and in flight.
	pilotGrows = 8
	// pilotShare is a pilot's least duration, as a share of a run's time: a shorter pilot only measures an engine's start.
	pilotShare = 0.1
	// pilotLong is the duration, in run times, that makes a first pilot final. After a shorter one a second is made:
	// connections, caches and statements of the first were cold.
	pilotLong = 10
)

// afterPilot returns the plan that follows a pilot with plan p and duration took: the plan of the counted runs if done, else
// the next pilot's. next is what this pilot's rate suggests.
func (l Load) afterPilot(try int, p, next runPlan, took time.Duration) (_ runPlan, done bool) {
	switch {
	case try == pilotTries || try == 1 && took > pilotLong*l.RunTime:
		return next, true
	case next.inFlight > p.inFlight: // more in flight make a scheduler faster
		p.inFlight = min(p.inFlight*pilotGrows, next.inFlight)
		p.instances = p.inFlight
	case try > 1 && took.Seconds() >= pilotShare*l.RunTime.Seconds():
		return next, true
	default: // never more than a counted run: a slow scheduler takes long enough for these
		p.instances, p.inFlight = min(p.instances*pilotGrows, next.instances), next.inFlight
	}
	return p, false
}

// What a comparison takes besides its runs, on a current machine.
const (
	runOverhead   = 350 * time.Millisecond // setup and removal of schema, sessions and engines
	pilotsForARun = 0.6                    // a row's pilots, in runs
	ceilingPoints = 27                     // per shape of a way, before and after, with overhead
	idlePoints    = 12                     // the same for durations on an idle connection
)

// Estimate returns the approximate duration of Compare. Schedulers that are slow for their instances in flight can take at most
// longestRun times as long. It is not known for runs with a number of nodes and no time.
func (c CompareConfig) Estimate() (took time.Duration, known bool) {
	c = c.withDefaults()
	for i := range c.Cases {
		for _, l := range c.loadsOf(&c.Cases[i]) {
			if l.RunTime == 0 {
				return 0, false
			}
			row := (float64(c.Runs) + pilotsForARun) * float64(l.RunTime+runOverhead)
			took += time.Duration(row * float64(len(c.Backends)+len(c.Systems)))
		}
	}
	points := idlePoints
	for _, way := range ceilingWays(c.Backends) {
		if way == record.CeilingPacked {
			points += ceilingPoints * len(shapes(c.Cases))
		} else {
			points += ceilingPoints * min(len(c.Cases), maxGraphs)
		}
	}
	if points == idlePoints {
		return took, true
	}
	return took + time.Duration(points)*c.Ceilings, true
}

// Rows returns the number of rows of the comparison.
func (c CompareConfig) Rows() (n int) {
	c = c.withDefaults()
	for i := range c.Cases {
		n += len(c.loadsOf(&c.Cases[i])) * (len(c.Backends) + len(c.Systems))
	}
	return n
}
