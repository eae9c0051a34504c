package chaos

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pulley/chaos/check"
	"pulley/chaos/fault"
)

// Verdict is how a run ended.
type Verdict string

// The verdicts.
const (
	Pass         Verdict = "pass"
	Fail         Verdict = "fail"
	Inconclusive Verdict = "inconclusive"
)

// Result is what a run found.
type Result struct {
	Verdict    Verdict           `json:"verdict"`
	Why        []string          `json:"why"`        // it is inconclusive
	Faults     map[string]int    `json:"faults"`     // that happened, by kind
	Missed     map[string]int    `json:"missed"`     // tries of faults whose moment did not come, by kind
	LeftOut    map[string]string `json:"left_out"`   // kinds that were asked for and cannot be had here, and why
	Violations []Violation       `json:"violations"` // the first few of each invariant
	Messages   fault.Coverage    `json:"messages"`   // that were seen, and how many of them something happened at
	RecoveryMS Recovery          `json:"recovery_ms"`
	Seed       uint64            `json:"seed"`

	Backend     string         `json:"backend"`
	Workloads   []Workload     `json:"workloads"`
	Engines     int            `json:"engines"`
	Judged      map[string]int `json:"judged"`      // how much each oracle looked at
	Queue       check.Queue    `json:"queue"`       // what went in and came out, counted by itself
	Instances   int            `json:"instances"`   // that were submitted
	Completions int            `json:"completions"` // that were applied, as far as was heard
	Unknown     int            `json:"unknown"`     // calls whose outcome could not be found out at once
	Stale       int            `json:"stale"`       // completions that were turned down
	Events      int            `json:"events"`      // lines of the history
	LivenessMS  int64          `json:"liveness_ms"` // from the last fault's end until every instance had ended
	Warnings    []string       `json:"warnings"`
	Repeat      string         `json:"repeat,omitempty"` // the command that runs the case again

	Case    Case          `json:"-"`
	History check.History `json:"-"`
}

// Violation is one thing that must not happen and did.
type Violation struct {
	Invariant string       `json:"invariant"` // "process": an engine's process ended by itself; "queue": something was lost, or came out twice
	Message   string       `json:"message"`
	Lines     []check.Line `json:"lines,omitempty"` // of the history, around it
}

func newResult(c Case) *Result {
	return &Result{
		Why: []string{}, Faults: map[string]int{}, Missed: map[string]int{}, LeftOut: map[string]string{}, Judged: map[string]int{},
		Violations: []Violation{}, Warnings: []string{},
		Seed: c.Seed, Backend: c.Backend, Workloads: c.Workloads, Engines: c.Engines, Case: c,
	}
}

// doubt notes a reason for which the run shows less than was asked for.
func (r *Result) doubt(format string, args ...any) {
	r.Why = append(r.Why, fmt.Sprintf(format, args...))
}

func (r *Result) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// conclude gives the verdict that follows from what was noted.
func (r *Result) conclude() {
	switch {
	case len(r.Violations) > 0:
		r.Verdict = Fail
	case len(r.Why) > 0:
		r.Verdict = Inconclusive
	default:
		r.Verdict = Pass
	}
}

// Invariants lists those that are violated.
func (r *Result) Invariants() []string {
	var out []string
	for _, v := range r.Violations {
		out = append(out, v.Invariant)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Total is how many faults happened.
func (r *Result) Total() int {
	n := 0
	for _, count := range r.Faults {
		n += count
	}
	return n
}

// JSON is the result as one object.
func (r *Result) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return append(text, '\n'), err
}

// Text is the result for a person to read.
func (r *Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %d engines, seed %d: %d instances, %d completions, %d faults\n",
		r.Verdict, r.Backend, r.Engines, r.Seed, r.Instances, r.Completions, r.Total())
	for _, why := range r.Why {
		fmt.Fprintf(&b, "  inconclusive: %s\n", why)
	}
	shown := map[string]int{}
	for _, v := range r.Violations {
		if shown[v.Invariant]++; shown[v.Invariant] <= textMost {
			v.text(&b)
		}
	}
	for _, invariant := range r.Invariants() {
		if more := shown[invariant] - textMost; more > 0 {
			fmt.Fprintf(&b, "  %s: and %d more\n", invariant, more)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(&b, "  %-22s %d\n", kind, r.Faults[kind])
	}
	for _, kind := range slices.Sorted(maps.Keys(r.LeftOut)) {
		fmt.Fprintf(&b, "  %-22s left out: %s\n", kind, r.LeftOut[kind])
	}
	for _, way := range slices.Sorted(maps.Keys(r.Messages.Done)) {
		fmt.Fprintf(&b, "  %d of %d messages of %d kinds of transactions: %s\n", r.Messages.Done[way], r.Messages.Messages, r.Messages.Transactions, way)
	}
	b.WriteString(r.RecoveryMS.text())
	fmt.Fprintf(&b, "  after the last fault every instance had ended within %d ms; %d calls were of unknown outcome, %d completions stale\n", r.LivenessMS, r.Unknown, r.Stale)
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "  warning: %s\n", w)
	}
	if r.Repeat != "" {
		fmt.Fprintf(&b, "  again: %s\n", r.Repeat)
	}
	return b.String()
}

// textMost is how many violations of an invariant a text shows.
const textMost = 2

// text writes the violation with its lines of the history.
func (v Violation) text(b *strings.Builder) {
	fmt.Fprintf(b, "  %s: %s\n", v.Invariant, v.Message)
	for _, l := range v.Lines {
		mark := " "
		if l.Shows {
			mark = ">"
		}
		text, _ := json.Marshal(l.Event) // it was read from JSON
		fmt.Fprintf(b, "  %s %6d  %.200s\n", mark, l.Number, text)
	}
}
