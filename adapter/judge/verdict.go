package judge

import (
	"fmt"
	"slices"

	"pulley/adapter/protocol"
)

// Result is a verdict in one word.
type Result string

// The results. Only Keeps is a pass.
const (
	Keeps        Result = "keeps"
	Breaks       Result = "breaks"
	Inconclusive Result = "inconclusive"
)

// Verdict is the judgement of a history.
type Verdict struct {
	Result     Result       `json:"result"`
	Violations []Violation  `json:"violations,omitempty"` // of each rule the first few, in the order of rules
	Totals     map[Rule]int `json:"totals,omitempty"`     // all violations, by rule
	Unjudged   []string     `json:"unjudged,omitempty"`   // what could not be judged, and why; one line each
	Counts     Counts       `json:"counts"`
}

// Violation is something that must not happen and did.
type Violation struct {
	Rule     Rule   `json:"rule"`
	Instance string `json:"instance,omitempty"`
	Task     string `json:"task,omitempty"`
	Round    int    `json:"round,omitempty"`
	What     string `json:"what"` // a sentence, with the values
	Lines    []Line `json:"lines,omitempty"`
}

// Line is an entry with its number in the history. Of batches it has the violation's instance only.
type Line struct {
	Number int   `json:"number"` // from 1
	Entry  Entry `json:"entry"`
}

// Bounds of what a verdict keeps. The totals count everything.
const (
	violationsMax = 20 // of a rule
	linesMax      = 200
)

// Judge judges a history.
func Judge(h *History) *Verdict {
	j := &judge{
		h: h, verdict: &Verdict{Totals: map[Rule]int{}},
		by: map[string]*instance{}, workloads: map[string]*workload{}, given: map[string]*run{}, reasons: map[string]int{},
	}
	for i := range h.Workloads {
		j.workloads[h.Workloads[i].Name] = newWorkload(&h.Workloads[i])
	}
	j.index()
	j.checkExecutions()
	for _, in := range j.instances {
		j.judgeSubmission(in)
		j.judgeExecution(in) // tells what was lost
		j.judgeInputs(in)    // tells which values counted
		j.judgeResults(in)   // tells whether there was a second instance
		j.judgeEnds(in)
		j.judgeAttempts(in)
		j.judgeOpen(in)
	}
	j.judgeOrder()
	j.count()
	return j.finish()
}

type judge struct {
	h         *History
	verdict   *Verdict
	workloads map[string]*workload
	by        map[string]*instance
	instances []*instance     // in the order of their submission
	given     map[string]*run // by a value with its token: the run that an execution gave it for
	waits     []int           // entries of waits that were long enough
	disturbed int             // the first entry of a death or a fault; none: len(entries)

	reasons  map[string]int // mistakes of the adapter or the history, by their text
	open     int            // instances that nobody waited for
	retrying int            // instances that failed a task and wait for its next attempt
	early    int            // instances that failed after a fault, with too few attempts
	unlooked int            // instances that nobody looked up
}

// tasks reports whether executions were reported.
func (j *judge) tasks() bool { return j.h.Report != protocol.ReportEnds }

// blame adds a violation. k names the task; a zero one names none.
func (j *judge) blame(rule Rule, in *instance, k runKey, format string, args ...any) {
	v := j.verdict
	if v.Totals[rule]++; v.Totals[rule] > violationsMax {
		return
	}
	v.Violations = append(v.Violations, Violation{
		Rule: rule, Instance: in.id, Task: k.task, Round: k.round, What: fmt.Sprintf(format, args...), Lines: j.lines(in),
	})
}

// lines are the entries of an instance; of many, the first and the last.
func (j *judge) lines(in *instance) []Line {
	entries := in.entries
	if len(entries) > linesMax {
		entries = slices.Concat(entries[:linesMax/2], entries[len(entries)-linesMax/2:])
	}
	lines := make([]Line, len(entries))
	for i, at := range entries {
		e := j.h.Entries[at]
		e.Instances = slices.DeleteFunc(slices.Clone(e.Instances), func(i protocol.Instance) bool { return i.ID != in.id })
		e.States = slices.DeleteFunc(slices.Clone(e.States), func(s protocol.State) bool { return s.ID != in.id })
		if e.IDs != nil {
			e.IDs = []string{in.id}
		}
		lines[i] = Line{Number: at + 1, Entry: e}
	}
	return lines
}

// finish orders the violations and adds up what was not judged.
func (j *judge) finish() *Verdict {
	v := j.verdict
	place := map[Rule]int{}
	for i, d := range Rules() {
		place[d.Rule] = i
	}
	slices.SortStableFunc(v.Violations, func(a, b Violation) int { return place[a.Rule] - place[b.Rule] })
	unjudged := func(n int, format string) {
		if n > 0 {
			v.Unjudged = append(v.Unjudged, fmt.Sprintf(format, n))
		}
	}
	if len(j.instances) == 0 {
		v.Unjudged = append(v.Unjudged, "no instance was submitted")
	}
	unjudged(j.unlooked, "%d instances were accepted or ended, and not looked up afterwards")
	unjudged(j.open, "%d instances are open, and nobody waited long enough to tell that they never continue")
	unjudged(j.retrying, "%d instances are open since a task failed; the system promises no time for its next attempt")
	unjudged(j.early, "%d instances failed with fewer attempts than promised; a fault may have hidden some")
	for _, text := range sorted(j.reasons) {
		v.Unjudged = append(v.Unjudged, fmt.Sprintf("%s (%d times)", text, j.reasons[text]))
	}
	switch {
	case len(v.Violations) > 0:
		v.Result = Breaks
	case len(v.Unjudged) > 0:
		v.Result = Inconclusive
	default:
		v.Result = Keeps
	}
	return v
}
