package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for machines without zones; the system's are preferred

	"pulley/internal/nearest"
)

// Spec says when a schedule fires. Exactly one of Cron and Every is set.
type Spec struct {
	Cron  string        `json:"cron,omitempty"`
	Every time.Duration `json:"every_ns,omitempty"` // from EveryMin to SpanMax
	Zone  string        `json:"zone,omitempty"`     // an IANA name such as Europe/Berlin, in which Cron is read. Empty: UTC

	Jitter time.Duration `json:"jitter_ns,omitempty"` // up to SpanMax. Zero: none

	Overlap  Overlap `json:"overlap,omitempty"`   // Empty: Skip
	QueueMax int     `json:"queue_max,omitempty"` // ticks that wait, with Queue; later ones are skipped. Zero: 100. At most 10,000

	CatchUp    CatchUp       `json:"catch_up,omitempty"`     // Empty: Last
	CatchUpMax int           `json:"catch_up_max,omitempty"` // missed ticks that fire, with All. Zero: 100. At most 10,000
	Grace      time.Duration `json:"grace_ns,omitempty"`     // how late a tick is not missed yet. Zero: 1 minute. Up to SpanMax
}

// Bounds of a Spec.
const (
	EveryMin = 100 * time.Millisecond
	SpanMax  = 366 * 24 * time.Hour
	countMax = 10_000
)

// Overlap says what happens at a tick while the instance of an earlier one runs.
type Overlap string

// The policies for overlaps.
const (
	Skip   Overlap = "skip"   // the tick does not fire
	Queue  Overlap = "queue"  // the tick waits; those that wait fire one after the other
	Cancel Overlap = "cancel" // the earlier instance is canceled, and the tick fires
	Allow  Overlap = "allow"  // the tick fires
)

// CatchUp says which missed ticks fire.
type CatchUp string

// The policies for missed ticks.
const (
	None CatchUp = "none"
	Last CatchUp = "last" // the latest one
	All  CatchUp = "all"  // the latest CatchUpMax ones, oldest first
)

// Overlaps and CatchUps list the policies, the default first.
var (
	Overlaps = []Overlap{Skip, Queue, Cancel, Allow}
	CatchUps = []CatchUp{Last, None, All}
)

// Schedule is a checked Spec. It is immutable.
type Schedule struct {
	spec Spec // with defaults
	cron *cronFields
	zone *time.Location
}

// Compile checks a Spec. Errors are one line and say what to do.
func Compile(spec Spec) (*Schedule, error) {
	s := &Schedule{spec: spec.withDefaults()}
	if err := s.spec.validate(); err != nil {
		return nil, err
	}
	var err error
	if s.zone, err = loadZone(spec.Zone); err != nil {
		return nil, err
	}
	if spec.Cron == "" {
		return s, nil
	}
	if s.cron, err = parseCron(spec.Cron); err != nil {
		return nil, err
	}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return nil, fmt.Errorf("cron %q: it never fires, no date has that day and month; change them", spec.Cron)
	}
	return s, nil
}

// Spec returns what the schedule was made of, with defaults.
func (s *Schedule) Spec() Spec { return s.spec }

// Zone returns the schedule's time zone.
func (s *Schedule) Zone() *time.Location { return s.zone }

func (c Spec) withDefaults() Spec {
	c.Overlap = cmp.Or(c.Overlap, Skip)
	c.QueueMax = cmp.Or(c.QueueMax, 100)
	c.CatchUp = cmp.Or(c.CatchUp, Last)
	c.CatchUpMax = cmp.Or(c.CatchUpMax, 100)
	c.Grace = cmp.Or(c.Grace, time.Minute)
	return c
}

// validate expects a Spec with defaults.
func (c Spec) validate() error {
	switch {
	case c.Cron == "" && c.Every == 0:
		return errors.New("a schedule needs a cron expression or an interval; give one")
	case c.Cron != "" && c.Every != 0:
		return errors.New("a schedule has a cron expression or an interval, not both; leave one out")
	case c.Every != 0 && (c.Every < EveryMin || c.Every > SpanMax):
		return fmt.Errorf("the interval is %v; choose one from %v to %v", c.Every, EveryMin, SpanMax)
	case c.Jitter < 0 || c.Jitter > SpanMax:
		return fmt.Errorf("the jitter is %v; choose one from 0 to %v", c.Jitter, SpanMax)
	case c.Grace < 0 || c.Grace > SpanMax:
		return fmt.Errorf("the grace is %v; choose one from 1ns to %v", c.Grace, SpanMax)
	case c.QueueMax < 0 || c.QueueMax > countMax:
		return fmt.Errorf("%d ticks may wait; choose from 1 to %d", c.QueueMax, countMax)
	case c.CatchUpMax < 0 || c.CatchUpMax > countMax:
		return fmt.Errorf("%d missed ticks fire; choose from 1 to %d", c.CatchUpMax, countMax)
	}
	if err := known("policy for overlaps", c.Overlap, Overlaps); err != nil {
		return err
	}
	return known("policy for missed ticks", c.CatchUp, CatchUps)
}

func known[T ~string](kind string, value T, all []T) error {
	names := make([]string, len(all))
	for i, name := range all {
		if names[i] = string(name); name == value {
			return nil
		}
	}
	return &nearest.Unknown{Kind: kind, Name: string(value), Known: names}
}

// zones has the loaded ones by name: loading reads a file.
var zones sync.Map

func loadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || strings.EqualFold(name, "local") { // each machine has another
		return nil, fmt.Errorf("zone %q: there is no such time zone; give an IANA name, such as Europe/Berlin or UTC", name)
	}
	zones.Store(name, zone)
	return zone, nil
}
