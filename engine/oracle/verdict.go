package oracle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulley/internal/clip"

	"pulley/engine/graph"
	"pulley/engine/reference"
)

// Result is the result of an oracle.
type Result string

// The results. Only Holds is a pass.
const (
	Holds        Result = "holds"
	Violated     Result = "violated"
	Inconclusive Result = "inconclusive" // nothing in the history could have violated it
)

// Rules tell how to judge a history. The zero value judges what the history alone shows.
type Rules struct {
	// Invariants names the oracles to ask, such as "I3". None means all of them.
	Invariants []string

	// Graph returns an instance's workflow, for I5, or nil. The history names nodes as the graph does. A nil function knows
	// none.
	Graph func(instance string) *graph.Graph

	// Outcomes returns the possible outcomes of an instance by the reference interpreter, for I4 and I7 (see
	// reference.Interpreter.Possible), or none without a reference. A nil function knows none.
	Outcomes func(instance string) []reference.Outcome

	// Partial means that events may be missing, because a recorder was killed with lines unwritten or a claim's answer was
	// lost. Then nothing is concluded from a missing event.
	Partial bool

	// CommitOrder means that answered, leased and started are in the order of the commits, as in a simulation. Otherwise an
	// answer may be recorded later than what it made possible, and only the moment of the offer counts.
	CommitOrder bool

	// Revokes means that the store may revoke a lease without granting another, such as one whose leases end with the owner of
	// a shard. Then a completion with the newest token may be stale.
	Revokes bool

	// SearchTime bounds the whole search for orders in which the deliveries of node runs can have happened (I3). What is
	// undecided by then is inconclusive. Zero: 20 s.
	SearchTime time.Duration
}

// Verdict is one oracle's judgement of a history.
type Verdict struct {
	Invariant  string      `json:"invariant"`
	Result     Result      `json:"result"`
	Judged     int         `json:"judged"`               // node runs, counters, lists, instances or inspections
	Violations []Violation `json:"violations,omitempty"` // the first few
	Total      int         `json:"total,omitempty"`
	Why        string      `json:"why,omitempty"` // what the history of an Inconclusive lacks
}

// Violation is something that must not happen and did.
type Violation struct {
	Message string `json:"message"`
	Lines   []Line `json:"lines"` // of the instance: the evidence, and a few around it
}

// Line is an event with the number of its line in the history.
type Line struct {
	Number int   `json:"number"` // from 1
	Shows  bool  `json:"shows"`  // evidence, not a neighbour
	Event  Event `json:"event"`
}

// Report has the verdicts of all requested oracles, in the order of their numbers.
type Report []Verdict

// Result is Violated if any verdict is, otherwise Inconclusive if any is or none was requested.
func (r Report) Result() Result {
	result := Holds
	for _, v := range r {
		if v.Result == Violated {
			return Violated
		}
		if v.Result == Inconclusive {
			result = Inconclusive
		}
	}
	if len(r) == 0 {
		return Inconclusive
	}
	return result
}

// String prints the verdicts for people, violations with their lines.
func (r Report) String() string {
	var b strings.Builder
	for _, v := range r {
		b.WriteString(v.String())
	}
	return b.String()
}

// String prints the verdict for people.
func (v Verdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s (%d judged)", v.Invariant, v.Result, v.Judged)
	if v.Why != "" {
		b.WriteString(": " + v.Why)
	}
	b.WriteByte('\n')
	for _, x := range v.Violations {
		fmt.Fprintf(&b, "  %s: %s\n", v.Invariant, x.Message)
		for _, l := range x.Lines {
			mark := " "
			if l.Shows {
				mark = ">"
			}
			fmt.Fprintf(&b, "  %s %6d  %s\n", mark, l.Number, l.Event.brief())
		}
	}
	if more := v.Total - len(v.Violations); more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return b.String()
}

func (e *Event) brief() string {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Sprintf("%s (%s)", e.Kind, err)
	}
	return clip.Runes(string(text), quotedMax)
}

type oracle struct {
	invariant string
	needs     []Kind // a history without one of them is inconclusive
	judge     func(*judgement)
}

func oracles() []oracle {
	return []oracle{
		{"I1", []Kind{Leased}, judgeEnqueues},
		{"I2", []Kind{Arrived, Enqueued}, judgeCounters},
		{"I3", []Kind{Leased, Offered, Answered}, judgeDeliveries},
		{"I4", []Kind{Started}, judgeArguments},
		{"I5", []Kind{Started, Offered, Answered}, judgeOrder},
		{"I6", []Kind{Element, Gathered}, judgeLists},
		{"I7", []Kind{Submitted, Ended}, judgeEnds},
		{"I8", []Kind{Submitted, Answered}, judgeDurability},
		{"I9", []Kind{Submitted}, judgeLiveness},
		{"I10", []Kind{Ended, Inspected}, judgeLeftovers},
		{"I11", []Kind{Leased}, judgeOwners},
		{"I12", []Kind{Submitted}, judgeHarm},
	}
}

// Invariants lists those that Check can judge, in order.
func Invariants() []string {
	var out []string
	for _, o := range oracles() {
		out = append(out, o.invariant)
	}
	return out
}

// Check judges a history by the rules, in linear time. The error reports an invalid event, or an invariant without an oracle.
func Check(h History, rules Rules) (Report, error) {
	for i := range h {
		if err := h[i].Validate(); err != nil {
			return nil, fmt.Errorf("history line %d: %w", i+1, err)
		}
	}
	for _, name := range rules.Invariants {
		if !slices.Contains(Invariants(), name) {
			return nil, fmt.Errorf("no oracle judges %s; there are %s", name, strings.Join(Invariants(), ", "))
		}
	}
	x := newIndex(h)
	var report Report
	for _, o := range oracles() {
		if len(rules.Invariants) == 0 || slices.Contains(rules.Invariants, o.invariant) {
			report = append(report, o.verdict(x, rules))
		}
	}
	return report, nil
}

func (o oracle) verdict(x *index, rules Rules) Verdict {
	j := &judgement{index: x, rules: rules, Verdict: Verdict{Invariant: o.invariant}}
	for _, kind := range o.needs {
		if !x.has[kind] {
			j.Result = Inconclusive
			j.Why = fmt.Sprintf("the history has no event %q", kind)
			return j.Verdict
		}
	}
	o.judge(j)
	switch {
	case j.Total > 0:
		j.Result, j.Why = Violated, ""
	case j.undecided > 0:
		j.Result = Inconclusive
		j.Why = fmt.Sprintf("the deliveries of %d node runs could not be decided in the time for it", j.undecided)
	case j.Judged == 0:
		j.Result = Inconclusive
		j.Why = cmp.Or(j.Why, "nothing in the history bears on it")
	default:
		j.Result, j.Why = Holds, ""
	}
	return j.Verdict
}

type judgement struct {
	*index
	rules Rules
	Verdict
	undecided int
}

const (
	violationsMax = 10
	evidenceMax   = 6 // lines that show one violation
	around        = 2 // lines of the same instance before and after each of them
)

// violate takes the lines that show the violation.
func (j *judgement) violate(lines []int, format string, args ...any) {
	j.Total++
	if len(j.Violations) >= violationsMax {
		return
	}
	j.Violations = append(j.Violations, Violation{Message: fmt.Sprintf(format, args...), Lines: j.context(lines[:min(len(lines), evidenceMax)])})
}
