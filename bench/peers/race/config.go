package race

import (
	"errors"
	"fmt"
	"time"

	"pulley/bench/peers/peer"
)

// Config configures a race.
type Config struct {
	Entries   []peer.Entry    // at least one
	Workloads []peer.Workload // at least one
	Runs      int             // of each workload on each system; at least 1

	InFlight int           // instances at once. Zero: 1,000
	RunFor   time.Duration // intended length of a run, without its start. Zero: 5 s
	Timeout  time.Duration // a longer run is invalid. Zero: 2 min

	DSN string // of a server on which databases may be created
	Way string // how the server was obtained, for the record

	Command  []string
	Progress func(line string) // called before and after every run, and with the systems' warnings; may be nil
}

func (c Config) withDefaults() Config {
	if c.InFlight == 0 {
		c.InFlight = 1000
	}
	if c.RunFor == 0 {
		c.RunFor = 5 * time.Second
	}
	if c.Timeout == 0 {
		c.Timeout = 2 * time.Minute
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	return c
}

func (c Config) validate() error {
	switch {
	case len(c.Entries) == 0:
		return errors.New("peers: no system; name one")
	case len(c.Workloads) == 0:
		return errors.New("peers: no workload; name one")
	case c.Runs < 1 || c.Runs > 100:
		return fmt.Errorf("peers: %d runs; choose from 1 to 100", c.Runs)
	case c.InFlight < 1 || c.InFlight > 10_000:
		return fmt.Errorf("peers: %d instances in flight; choose from 1 to 10000", c.InFlight)
	case c.RunFor < 10*time.Millisecond || c.RunFor > 10*time.Minute:
		return fmt.Errorf("peers: runs of %v; choose from 10ms to 10m", c.RunFor)
	case c.Timeout < c.RunFor:
		return fmt.Errorf("peers: a timeout of %v for runs of %v; choose a longer one", c.Timeout, c.RunFor)
	case c.DSN == "":
		return errors.New("peers: no DSN")
	}
	for _, w := range c.Workloads {
		if err := w.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Bounds of one run.
const (
	backlogMost = 100_000   // instances of a backlog
	singleMost  = 2_000     // instances one at a time
	singleLeast = 10        //
	tasksMost   = 5_000_000 // bounds the counters' memory
	overtime    = 3         // times RunFor, for a system too slow for the intended number in flight
)

type load struct {
	instances, inFlight int
	warmUp              int // earlier instances
}

// pace is a system's ended instances per second, and the number in flight.
type pace struct {
	perSecond float64
	inFlight  int
}

// plan sizes a run for a system's pace.
func (c Config) plan(w peer.Workload, p pace) load {
	fits := p.perSecond * c.RunFor.Seconds()
	most := max(1, tasksMost/w.Tasks()/2)
	var l load
	switch w.Load {
	case peer.Single:
		l = load{instances: clamp(fits, singleLeast, singleMost), inFlight: 1}
	case peer.Backlog:
		l.instances = clamp(fits, 1, min(most, backlogMost))
		l.inFlight = l.instances
	default:
		if fits < float64(c.InFlight) {
			fits = max(min(fits*overtime, float64(c.InFlight)), float64(p.inFlight))
		}
		l.instances = clamp(fits, 1, most)
		l.inFlight = min(c.InFlight, l.instances)
	}
	l.warmUp = max(1, min(l.instances/10, l.inFlight))
	return l
}

// inFlight bounds a workload's open instances.
func (c Config) inFlight(w peer.Workload) int {
	switch w.Load {
	case peer.Single:
		return 1
	case peer.Backlog:
		return backlogMost
	default:
		return c.InFlight
	}
}

// rounds are the numbers of instances of the trial rounds.
func (c Config) rounds(w peer.Workload) []int {
	first := max(roundLeast, roundTasks/w.Tasks())
	if w.Load == peer.Single {
		first = roundLeast
	}
	sizes := []int{first}
	for n := first * roundGrowth; len(sizes) < roundsMost && n*w.Tasks() <= tasksMost/4; n *= roundGrowth {
		if n > roundGrowth*c.inFlight(w) || n > backlogMost/2 {
			break
		}
		sizes = append(sizes, n)
	}
	return sizes
}

func clamp(x float64, least, most int) int { return int(min(max(x, float64(least)), float64(most))) }
