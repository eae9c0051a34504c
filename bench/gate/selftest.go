package gate

import (
	"fmt"
	"strings"
)

// Planted is how often the gate found one thing that was planted.
type Planted struct {
	// Planted is its name: a share by which the candidate is slower, as in "10%", "row" for an extra row read per node, or "none".
	Planted string `json:"planted"`
	// Planned is the number of tries intended when a signal ended them. Zero: all were made.
	Planned      int     `json:"planned,omitempty"`
	Tries        int     `json:"tries"`
	Found        int     `json:"found"`
	Inconclusive int     `json:"inconclusive"`
	Needed       string  `json:"needed"` // of Found, in words
	OK           bool    `json:"ok"`
	SecondsATry  float64 `json:"seconds_a_try"`
}

// SelfTest is what a gate's test of itself found.
type SelfTest struct {
	Command []string `json:"command,omitempty"`
	OK      bool     `json:"ok"`
	// Interrupted: not all tries were made.
	Interrupted bool      `json:"interrupted,omitempty"`
	Pairs       int       `json:"pairs"` // of turns in a try
	Disturbed   bool      `json:"disturbed"`
	Seed        uint64    `json:"seed"`
	Results     []Planted `json:"results"`
}

// Tries counts them over all results.
func (s *SelfTest) Tries() (n int) {
	for _, x := range s.Results {
		n += x.Tries
	}
	return n
}

// Sentence reports whether the gate found what it should.
func (s *SelfTest) Sentence() string {
	switch {
	case s.Interrupted:
		return "Interrupted before all tries were made"
	case !s.OK:
		return "Not everything is as it must be"
	}
	return "Everything planted was found as often as it must be"
}

// FalseAlarms returns the tries in which nothing was planted, and the regressions that were found in them.
func (s *SelfTest) FalseAlarms() (found, tries int) {
	for _, x := range s.Results {
		if x.Planted == NothingPlanted {
			found, tries = found+x.Found, tries+x.Tries
		}
	}
	return found, tries
}

// NothingPlanted names the tries in which both sides are the same.
const NothingPlanted = "none"

// Text is the test as a table for a terminal.
func (s *SelfTest) Text() string {
	var b strings.Builder
	disturbed := ""
	if s.Disturbed {
		disturbed = ", other work coming and going"
	}
	fmt.Fprintf(&b, "%s: %d pairs a try%s, seed %d.\n\n  planted  tries  found  needed        inconclusive  s/try\n", s.Sentence(), s.Pairs, disturbed, s.Seed)
	for _, x := range s.Results {
		mark := ""
		if !x.OK {
			mark = "  FAILED"
		}
		fmt.Fprintf(&b, "  %-7s  %5d  %5d  %-12s  %12d  %5.1f%s\n", x.Planted, x.Tries, x.Found, x.Needed, x.Inconclusive, x.SecondsATry, mark)
	}
	if found, tries := s.FalseAlarms(); tries > 0 {
		fmt.Fprintf(&b, "\nFalse alarms where nothing was planted: %d of %d, %.1f %%.\n", found, tries, 100*float64(found)/float64(tries))
	}
	return b.String()
}
