package search

import (
	"slices"
	"strings"
	"time"

	"pulley/sim/cases"
	"pulley/sim/explore"
)

// shrinkSeeds is how many seeds a smaller case is tried with, because leaving something out changes what chance does after it.
const shrinkSeeds = 6

// Shrink looks for a smaller case with the same kind of violation: fewer faults, instances, engines, statements and steps. It
// stops after most and returns the smallest case found, with its violations.
func Shrink(c cases.Case, why []string, most time.Duration) (cases.Case, []string) {
	s := &shrinker{best: c, why: why, until: time.Now().Add(most)}
	if load, err := explore.Prepare(c); err == nil {
		s.kind, s.load = load.Play(c).Kind, load
	}
	for size := -1; size != s.size() && s.time(); {
		size = s.size()
		s.faults()
		s.arrivals()
		s.numbers()
		s.statements()
		s.steps()
	}
	s.best.Why = s.why[0]
	return s.best, s.why
}

type shrinker struct {
	best  cases.Case
	why   []string
	kind  string
	load  *explore.Prepared
	until time.Time
}

func (s *shrinker) time() bool { return time.Now().Before(s.until) }

func (s *shrinker) size() int {
	b := &s.best
	return len(b.Faults) + len(b.Arrivals) + len(b.Source) + b.Engines + b.Slots + b.Shards + b.Grain
}

// try accepts a case if it has the same kind of violation, with its seed or one of a few others.
func (s *shrinker) try(c cases.Case) bool {
	if !s.time() || c.Validate() != nil {
		return false
	}
	load := s.load
	if load == nil || load.Source() != c.Source {
		var err error
		if load, err = explore.Prepare(c); err != nil {
			return false
		}
	}
	for i := range uint64(shrinkSeeds) {
		c.Seed = s.best.Seed + i
		if r := load.Play(c); r.Kind != "" && r.Kind == s.kind {
			s.best, s.why, s.load = c, r.Violations, load
			return true
		}
	}
	return false
}

// faults leaves out faults: halves, then quarters, down to single ones.
func (s *shrinker) faults() {
	for n := len(s.best.Faults); n > 0; n /= 2 {
		for at := 0; at < len(s.best.Faults) && s.time(); {
			c := s.best
			c.Faults = slices.Delete(slices.Clone(c.Faults), at, min(at+n, len(c.Faults)))
			if !s.try(c) {
				at += n
			}
		}
	}
}

func (s *shrinker) arrivals() {
	for n := len(s.best.Arrivals) - 1; n > 0; n /= 2 {
		for at := len(s.best.Arrivals) - n; at > 0 && s.time(); at -= n {
			c := s.best
			c.Arrivals = slices.Delete(slices.Clone(c.Arrivals), at, min(at+n, len(c.Arrivals)))
			s.try(c)
		}
	}
	for i := range s.best.Arrivals {
		if c := s.best; c.Arrivals[i].CancelUS > 0 {
			c.Arrivals = slices.Clone(c.Arrivals)
			c.Arrivals[i].CancelUS = 0
			s.try(c)
		}
	}
}

func (s *shrinker) numbers() {
	for _, less := range []func(*cases.Case){
		func(c *cases.Case) { c.Shards = 1 }, func(c *cases.Case) { c.Engines-- }, func(c *cases.Case) { c.Slots = max(c.Slots/2, 1) },
		func(c *cases.Case) { c.Prefetch = 0 }, func(c *cases.Case) { c.Batch = 1 }, func(c *cases.Case) { c.Committers = 1 }, func(c *cases.Case) { c.Grain = 0 },
		func(c *cases.Case) { c.Fair = false },
	} {
		for s.time() {
			c := s.best
			less(&c)
			c.Arrivals = slices.Clone(c.Arrivals)
			for i := range c.Arrivals {
				c.Arrivals[i].Engine = min(c.Arrivals[i].Engine, c.Engines-1)
			}
			if same(&c, &s.best) || !s.try(c) {
				break
			}
		}
	}
}

func same(a, b *cases.Case) bool {
	return a.Shards == b.Shards && a.Engines == b.Engines && a.Slots == b.Slots && a.Prefetch == b.Prefetch && a.Batch == b.Batch &&
		a.Committers == b.Committers && a.Grain == b.Grain && a.Fair == b.Fair
}

// statements leaves out lines of the program, each with its block.
func (s *shrinker) statements() {
	for at := 0; s.best.Graph == nil && s.time(); {
		lines := strings.SplitAfter(strings.TrimRight(s.best.Source, "\n")+"\n", "\n")
		lines = lines[:len(lines)-1]
		if at >= len(lines) {
			return
		}
		end := at + 1
		for end < len(lines) && indent(lines[end]) > indent(lines[at]) {
			end++
		}
		c := s.best
		c.Source = strings.Join(slices.Delete(slices.Clone(lines), at, end), "")
		if !s.try(c) {
			at++
		}
	}
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func (s *shrinker) steps() {
	load, err := explore.Prepare(s.best)
	if err != nil {
		return
	}
	least := load.Play(s.best).Steps
	first := s.best.Seed
	for i := range uint64(100) {
		if !s.time() {
			return
		}
		c := s.best
		c.Seed = first + i
		if r := load.Play(c); r.Steps < least && r.Kind != "" && r.Kind == s.kind {
			s.best, s.why, least = c, r.Violations, r.Steps
		}
	}
}
