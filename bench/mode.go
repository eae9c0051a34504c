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

// Load is how instances come to the engines in the runs of a comparison: so many at once, the next whenever one ends.
type Load struct {
	// Mode is record.ModeAlone or record.ModeSaturated; the latter with @K behind it where a case has several, of K instances.
	// Empty: alone where one instance is in flight, else saturated.
	Mode string
	// InFlight is how many instances are there at once. Zero: 1.
	InFlight int
	// NodesInFlight bounds InFlight where instances are large: together they have so many node runs, unless there would be
	// fewer than instancesLeast of them. With a RunTime, InFlight is bounded where schedulers are slow, too: there are at most
	// as many instances as end in longestRun times the RunTime. Zero: there are InFlight instances, whatever they take.
	NodesInFlight int
	// Workers is how many actions an engine runs at once. Zero: 16.
	Workers int
	// Engines are on the store. Zero: what the comparison says.
	Engines int
	// MinNodes is how many node runs a run has at least: instances are repeated until then. Zero: 2,000.
	MinNodes int
	// RunTime is how long a run takes, about: a pilot run, which does not count, tells how many instances that are. It has
	// at least as many as are in flight, and may take longestRun times the RunTime for that; MinNodes is not looked at. Zero:
	// MinNodes decides.
	RunTime time.Duration
}

// What bounds the instances in flight of a Load with NodesInFlight.
const (
	instancesLeast = 8  // in flight at least, as far as InFlight allows
	instancesOnce  = 16 // in flight at most before a pilot run told how many a scheduler ends in a second
	longestRun     = 4  // times the RunTime are the instances in flight to be ended in, by the pilot run
)

// AloneLoad has one instance at a time, and shows what a hop costs where nothing shares it.
func AloneLoad() Load {
	return Load{Mode: record.ModeAlone, InFlight: 1, Workers: 16, RunTime: 500 * time.Millisecond}
}

// SaturatedLoad has so many instances in flight that more would not be faster on a small machine, and shows what an engine
// can do.
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

// loadsOf are the modes in which a case is run: its scenario's own, where they count and it has any.
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

// loadWith is the load that most resembles one of so many instances in flight. several says that the mode must tell it from
// others.
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

// inFlight is how many instances of so many node runs are there at once. perS is how many end in a second, by the pilot;
// zero before that.
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

// runPlan is how a run is made.
type runPlan struct {
	load      Load
	instances int // of the run
	inFlight  int // at once
}

// plan makes the plan of a run whose instances have so many node runs. perS is how many instances end in a second, by the
// pilot; zero before that.
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

// A pilot run is repeated while it tells too little.
const (
	pilotTries = 4
	// pilotGrows is how many times as many instances the next one has at most, in the run and in flight.
	pilotGrows = 8
	// pilotShare is how long it goes on at least, as a part of a run's time: a shorter one only measured how an engine starts.
	pilotShare = 0.1
	// pilotLong is how many times a run's time the first one takes to be believed at once. Otherwise a second one is made,
	// since connections, caches and statements of the first were cold.
	pilotLong = 10
)

// afterPilot is the plan of what comes after a pilot run with the plan p, which took so long: done says that it is that of the runs that
// count, else it is the next pilot's. next is what the rate of this one would give.
func (l Load) afterPilot(try int, p, next runPlan, took time.Duration) (_ runPlan, done bool) {
	switch {
	case try == pilotTries || try == 1 && took > pilotLong*l.RunTime:
		return next, true
	case next.inFlight > p.inFlight: // few were in flight: a scheduler is faster with more
		p.inFlight = min(p.inFlight*pilotGrows, next.inFlight)
		p.instances = p.inFlight
	case try > 1 && took.Seconds() >= pilotShare*l.RunTime.Seconds():
		return next, true
	default: // no more than runs that count have: a slow scheduler takes long for these already
		p.instances, p.inFlight = min(p.instances*pilotGrows, next.instances), next.inFlight
	}
	return p, false
}

// What a comparison takes besides its runs, on a machine of today.
const (
	runOverhead   = 350 * time.Millisecond // a schema, sessions and engines that come and go
	pilotsForARun = 0.6                    // what the pilots of a row take, in runs
	ceilingPoints = 27                     // measured for each shape of a way, before and after, with what belongs to them
	idlePoints    = 12                     // the same of the durations on an idle connection
)

// Estimate says how long Compare will take, about, if the schedulers are fast enough for their instances in flight; where they
// are slow, runs adopt to longestRun times as long. It is not known where runs have a number of nodes and no time.
func (c CompareConfig) Estimate() (took time.Duration, known bool) {
	c = c.withDefaults()
	for i := range c.Cases {
		for _, l := range c.loadsOf(&c.Cases[i]) {
			if l.RunTime == 0 {
				return 0, false
			}
			row := (float64(c.Runs) + pilotsForARun) * float64(l.RunTime+runOverhead)
			took += time.Duration(row * float64(len(c.Backends)))
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

// Rows says how many rows Compare will find.
func (c CompareConfig) Rows() (n int) {
	c = c.withDefaults()
	for i := range c.Cases {
		n += len(c.loadsOf(&c.Cases[i])) * len(c.Backends)
	}
	return n
}
