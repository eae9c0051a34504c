package chaos

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/chaos/recovery"
	"pulley/engine/oracle"
	"pulley/reports/record"
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
	LeftOut    map[string]string `json:"left_out"`   // requested kinds that are impossible here, with the reason
	Violations []Violation       `json:"violations"` // the first few of each invariant

	// States counts the server's errors that reached engines during a kind of fault, by SQLSTATE.
	States map[string]map[string]int `json:"states"`

	// Lost is how applied commits whose reply was lost were resolved.
	Lost LostReplies `json:"lost_replies"`

	Messages   fault.Coverage  `json:"messages"` // seen, and at how many something was done
	RecoveryMS record.Recovery `json:"recovery_ms"`
	Seed       uint64          `json:"seed"`

	Backend     string           `json:"backend"`
	Workloads   []cases.Workload `json:"workloads"`
	Engines     int              `json:"engines"`
	Judged      map[string]int   `json:"judged"` // how much each oracle judged
	Queue       oracle.Queue     `json:"queue"`  // what was submitted and what ended, counted separately
	Instances   int              `json:"instances"`
	Canceled    int              `json:"canceled"`    // of these, as far as known
	Completions int              `json:"completions"` // applied, as far as known
	Unknown     int              `json:"unknown"`     // calls with an outcome unknown at first
	Stale       int              `json:"stale"`
	Events      int              `json:"events"`
	RatePerS    float64          `json:"rate_per_s"` // instances submitted per second; 0: when another had ended
	KneePerS    float64          `json:"knee_per_s"` // the highest rate reached, in instances; 0: not searched
	Deadlocks   Deadlocks        `json:"deadlocks"`
	Joins       Joins            `json:"joins"`
	LivenessMS  int64            `json:"liveness_ms"` // from the last fault's end until every instance had ended
	Warnings    []string         `json:"warnings"`
	Repeat      string           `json:"repeat,omitempty"`

	Limit    *LimitUse       `json:"limit,omitempty"` // nil: there is none
	Timeline record.Timeline `json:"timeline"`
	Soak     *record.Soak    `json:"soak,omitempty"`

	Case    cases.Case     `json:"-"`
	Places  *fault.Places  `json:"-"` // what was done at which messages, including Config.Known
	History oracle.History `json:"-"`
}

// Violation is a violation of an invariant.
type Violation struct {
	Invariant string        `json:"invariant"` // "process": an engine's process ended by itself; "queue": something was lost or came out twice
	Message   string        `json:"message"`
	Lines     []oracle.Line `json:"lines,omitempty"`
}

func newResult(c cases.Case) *Result {
	named := slices.Clone(c.Workloads) // their texts are in the case
	for i := range named {
		named[i].Bundle, named[i].Program = nil, nil
	}
	return &Result{
		Why: []string{}, Faults: map[string]int{}, Missed: map[string]int{}, LeftOut: map[string]string{}, Judged: map[string]int{},
		Violations: []Violation{}, States: map[string]map[string]int{}, Warnings: []string{},
		Seed: c.Seed, Backend: c.Backend, Workloads: named, Engines: c.Engines, Case: c,
	}
}

// doubt notes why the run shows less than was asked for.
func (r *Result) doubt(format string, args ...any) {
	r.Why = append(r.Why, fmt.Sprintf(format, args...))
}

func (r *Result) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

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

// Invariants lists the violated invariants.
func (r *Result) Invariants() []string {
	var out []string
	for _, v := range r.Violations {
		out = append(out, v.Invariant)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Total counts the faults that happened.
func (r *Result) Total() int {
	n := 0
	for _, count := range r.Faults {
		n += count
	}
	return n
}

// JSON returns the result as one object.
func (r *Result) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return append(text, '\n'), err
}

// Text returns the result for people.
func (r *Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %d engines, seed %d: %d instances, %d completions, %d faults\n",
		r.Verdict, r.Backend, r.Engines, r.Seed, r.Instances, r.Completions, r.Total())
	for _, why := range r.Why {
		fmt.Fprintf(&b, "  inconclusive: %s\n", why)
	}
	shown := map[string]int{}
	for _, v := range r.Violations {
		if shown[v.Invariant]++; shown[v.Invariant] <= textMax {
			v.text(&b)
		}
	}
	for _, invariant := range r.Invariants() {
		if more := shown[invariant] - textMax; more > 0 {
			fmt.Fprintf(&b, "  %s: and %d more\n", invariant, more)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(&b, "  %-22s %d%s\n", kind, r.Faults[kind], statesText(r.States[kind]))
	}
	for _, kind := range slices.Sorted(maps.Keys(r.LeftOut)) {
		fmt.Fprintf(&b, "  %-22s left out: %s\n", kind, r.LeftOut[kind])
	}
	coverageText(&b, r.Messages)
	b.WriteString(r.Lost.text())
	b.WriteString(recovery.Text(r.RecoveryMS))
	fmt.Fprintf(&b, "  deadlocks: %d by the server, %d seen by the engines; %d joins, %d of them contended\n",
		r.Deadlocks.Server, r.Deadlocks.Engines, r.Joins.All, r.Joins.Contended)
	if text := r.limitText(); text != "" {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	if r.Soak != nil {
		soakText(&b, r.Soak)
	}
	fmt.Fprintf(&b, "  after the last fault every instance had ended within %d ms; %d calls were of unknown outcome, %d completions stale\n", r.LivenessMS, r.Unknown, r.Stale)
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "  warning: %s\n", w)
	}
	if r.Repeat != "" {
		fmt.Fprintf(&b, "  again: %s\n", r.Repeat)
	}
	return b.String()
}

func soakText(b *strings.Builder, s *record.Soak) {
	fmt.Fprintf(b, "  growth: %s\n", s.Method)
	for _, g := range s.Growth {
		if g.Judged {
			fmt.Fprintf(b, "  %-44s %.0f to %.0f %s (%+.1f %%)\n", g.Name, g.Begin, g.End, g.Unit, 100*(g.End/g.Begin-1))
		}
	}
}

const textMax = 2

func (v Violation) text(b *strings.Builder) {
	fmt.Fprintf(b, "  %s: %s\n", v.Invariant, v.Message)
	for _, l := range v.Lines {
		mark := " "
		if l.Shows {
			mark = ">"
		}
		text, _ := json.Marshal(l.Event)
		fmt.Fprintf(b, "  %s %6d  %.200s\n", mark, l.Number, text)
	}
}
