package record

import (
	"fmt"
	"slices"
	"time"
)

// NightFile is the file of a night of our own tests.
const NightFile = "totals.json"

// The verdicts on a part of a night, and on all of it.
const (
	NightPass         = "pass"
	NightFail         = "fail"
	NightInconclusive = "inconclusive"
)

// Night is the content of totals.json, which is written after each part of a night.
type Night struct {
	Began    time.Time    `json:"began"`
	Night    string       `json:"night"` // how long it may take
	Seconds  float64      `json:"seconds"`
	Revision string       `json:"revision"`
	Machine  string       `json:"machine"`
	Verdict  string       `json:"verdict"`
	Ended    bool         `json:"ended"` // false: the night was interrupted, and the totals are partial
	Parts    []*NightPart `json:"parts"`
}

// NightPart is what a part of a night did.
type NightPart struct {
	Part     string         `json:"part"`
	About    string         `json:"about"`
	Verdict  string         `json:"verdict"`
	Budget   float64        `json:"budget_seconds"`
	Seconds  float64        `json:"seconds"`
	Counts   []NightCount   `json:"counts"`
	Problems []NightProblem `json:"problems"`
	Notes    []string       `json:"notes,omitempty"`
}

// NightCount is how much of something was done.
type NightCount struct {
	What string `json:"what"`
	N    int64  `json:"n"`
}

// NightProblem is a failure, or something undecided.
type NightProblem struct {
	What   string `json:"what"`
	Again  string `json:"again,omitempty"`
	Output string `json:"output,omitempty"`
}

// Add adds to how much of something was done.
func (p *NightPart) Add(what string, n int64) {
	if i := slices.IndexFunc(p.Counts, func(c NightCount) bool { return c.What == what }); i >= 0 {
		p.Counts[i].N += n
		return
	}
	p.Counts = append(p.Counts, NightCount{what, n})
}

// Fail adds a failure.
func (p *NightPart) Fail(x NightProblem) { p.Verdict, p.Problems = NightFail, append(p.Problems, x) }

// Doubt adds what is undecided.
func (p *NightPart) Doubt(x NightProblem) {
	if p.Verdict != NightFail {
		p.Verdict = NightInconclusive
	}
	p.Problems = append(p.Problems, x)
}

// ReadNight reads a totals.json.
func ReadNight(path string) (*Night, error) {
	var n Night
	if err := readLoosely(path, &n); err != nil {
		return nil, err
	}
	if n.Verdict == "" || n.Parts == nil {
		return nil, fmt.Errorf("read %s: it has no verdict or no parts: it is not what cmd/suite writes", path)
	}
	return &n, nil
}
