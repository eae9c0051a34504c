package record

import (
	"encoding/json"
	"fmt"
	"path/filepath"
)

// The files of a search in simulated worlds.
const (
	SimFile = "sim.json"
	// SimCoverageFile has how often each kind of fault met each state, as text.
	SimCoverageFile = "coverage.txt"
	// SimCaseFile is the smallest case that violates an invariant, SimDrawingFile and SimStepsFile its steps, drawn and as text.
	SimCaseFile    = "case.json"
	SimDrawingFile = "case.svg"
	SimStepsFile   = "case.txt"
)

// Sim is the content of sim.json: what a search in simulated worlds found.
type Sim struct {
	// set by WriteSim
	Schema  int      `json:"schema"`
	Command []string `json:"command"`
	Tool    Tool     `json:"tool"`
	// Searches have one entry for each design and planted bug. With Repeats, they are empty.
	Searches []SimSearch `json:"searches"`
	// Repeats are searches for a planted bug, many times over, each in seeds of its own.
	Repeats []SimRepeats `json:"repeats"`
}

// SimSearch is one search, seed by seed.
type SimSearch struct {
	Backend        string         `json:"backend"`
	Bug            string         `json:"bug,omitempty"` // planted
	Seeds          int            `json:"seeds"`
	Steps          int            `json:"steps"`
	VirtualSeconds float64        `json:"virtual_seconds"`
	Seconds        float64        `json:"seconds"`
	Faults         map[string]int `json:"faults"`
	Never          []string       `json:"never"` // kinds of steps and faults
	Violation      *SimViolation  `json:"violation"`
}

// SimViolation is a violated invariant.
type SimViolation struct {
	Seed uint64   `json:"seed"`
	Why  []string `json:"why"`
	Case string   `json:"case"`
}

// SimRepeats says how many seeds it took to find a planted bug.
type SimRepeats struct {
	Backend string `json:"backend"`
	Bug     string `json:"bug,omitempty"`
	Times   int    `json:"times"`
	Found   int    `json:"found"`
	// Median is the seeds until it was found.
	Median uint64 `json:"median"`
	// Wrong is empty if the bug was found by an invariant that it breaks, or nothing without a bug.
	Wrong string `json:"wrong,omitempty"`
}

// SimCase is what a page shows of a case; the file has more.
type SimCase struct {
	Why     string          `json:"why"`
	Backend string          `json:"backend"`
	Bug     string          `json:"bug"`
	Seed    uint64          `json:"seed"`
	Source  string          `json:"source"`
	Input   json.RawMessage `json:"input"`
	Engines int             `json:"engines"`
	// an entry for each instance
	Arrivals []struct {
		AtUS int64 `json:"at_us"`
	} `json:"arrivals"`
	Faults []struct {
		Kind  string `json:"kind"`
		After int    `json:"after"`
	} `json:"faults"`
}

// WriteSim writes sim.json in dir, which it creates if needed.
func WriteSim(dir string, s *Sim) error {
	out := *s
	out.Schema, out.Command, out.Searches, out.Repeats = SchemaVersion, nonNil(s.Command), nonNil(s.Searches), nonNil(s.Repeats)
	return writeJSON(filepath.Join(dir, SimFile), &out, func() error { return checkSchema(out.Schema) })
}

// ReadSim reads the sim.json in dir.
func ReadSim(dir string) (*Sim, error) {
	var s Sim
	return &s, readJSON(filepath.Join(dir, SimFile), &s, func() error { return checkSchema(s.Schema) })
}

// ReadSimCase reads the case.json in dir.
func ReadSimCase(dir string) (*SimCase, error) {
	var c SimCase
	path := filepath.Join(dir, SimCaseFile)
	if err := readLoosely(path, &c); err != nil {
		return nil, err
	}
	if c.Backend == "" {
		return nil, fmt.Errorf("read %s: it is no case of pulley sim: it names no backend", path)
	}
	return &c, nil
}
