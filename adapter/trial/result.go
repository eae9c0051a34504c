package trial

import (
	"fmt"
	"sync"

	"pulley/adapter/judge"
	"pulley/adapter/protocol"
	"pulley/chaos/fault"
)

// Result is what a run showed.
type Result struct {
	Case     Case            `json:"case"`
	Hello    *protocol.Hello `json:"hello"`
	Verdict  *judge.Verdict  `json:"verdict"`
	Faults   map[string]int  `json:"faults"`           // how often each kind happened
	Missed   map[string]int  `json:"missed,omitempty"` // tries in which it did not
	Coverage *fault.Coverage `json:"coverage,omitempty"`
	LastedMS int64           `json:"lasted_ms"`
	Before   *Quiet          `json:"before,omitempty"` // the first fault; nil: not measured
	After    *Quiet          `json:"after,omitempty"`  // the last one
	Warnings []string        `json:"warnings,omitempty"`
	Doubts   []string        `json:"doubts,omitempty"` // why a run that violated nothing shows nothing

	History *judge.History `json:"-"`

	mu sync.Mutex
}

func newResult(c Case) *Result {
	return &Result{Case: c, Faults: map[string]int{}, Missed: map[string]int{}}
}

func (r *Result) warn(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

func (r *Result) doubt(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Doubts = append(r.Doubts, fmt.Sprintf(format, args...))
}

// Outcome returns the verdict, which is inconclusive if there are doubts and no violation.
func (r *Result) Outcome() judge.Result {
	if r.Verdict.Result == judge.Keeps && len(r.Doubts) > 0 {
		return judge.Inconclusive
	}
	return r.Verdict.Result
}

// Rules returns the rules that were violated.
func (r *Result) Rules() (rules []judge.Rule) {
	for _, d := range judge.Rules() {
		if r.Verdict.Totals[d.Rule] > 0 {
			rules = append(rules, d.Rule)
		}
	}
	return rules
}
