package chaos

import (
	"fmt"
	"slices"
	"strings"

	"pulley/chaos/cases"
	"pulley/chaos/recovery"
	"pulley/engine/graph"
	"pulley/engine/oracle"
	"pulley/engine/reference"
)

// The invariants that a history can show. A run is inconclusive if a needed one has nothing to judge; the others need not occur
// in each run.
var (
	needed = []string{"I3", "I4", "I5", "I7", "I8", "I9", "I10"}
	judged = append(slices.Clone(needed), "I1", "I11", "I12")
)

func (r *run) judge() error {
	h, err := r.watch.history()
	if err != nil {
		return err
	}
	res := r.result
	res.History, res.Events = h, len(h)
	for i := range h {
		if h[i].Kind == oracle.Answered {
			switch h[i].Answer {
			case oracle.AnswerApplied:
				res.Completions++
			case oracle.AnswerStale:
				res.Stale++
			case oracle.AnswerUnknown:
				res.Unknown++
			}
		}
	}
	res.Instances = len(r.load.ids())
	res.Messages = r.ledger.Places.Coverage()
	res.Messages.Unvisited = append(res.Messages.Unvisited, r.unreachedMessages...)
	r.times(h)
	r.deadlocked()
	for _, text := range r.world.Unasked() {
		res.Violations = append(res.Violations, Violation{Invariant: "process", Message: text})
	}
	for i, p := range r.watch.problems {
		if res.Total() == 0 && i < 3 { // faults cause problems, too
			res.warn("%s", p)
		}
	}
	if err := r.oracles(h); err != nil {
		return err
	}
	if res.Queue = oracle.CountQueue(h, false); res.Queue.Result() == oracle.Violated {
		examples := slices.Concat(res.Queue.Instances.Examples, res.Queue.Runs.Examples)
		res.Violations = append(res.Violations, Violation{Invariant: "queue", Message: strings.Join(examples, "; ")})
	}
	r.excuseUnended()
	r.judgeLimit()
	res.Lost = lostReplies(r.ledger.Lost(), h, badInstances(res.Violations))
	r.missing(h)
	if r.cutShort && !r.isLive {
		res.doubt("not all instances ended after a fault that was cut short")
	}
	res.conclude()
	return nil
}

func (r *run) times(h oracle.History) {
	applied := recovery.Completions(h)
	if r.watch.share > 1 {
		applied = r.watch.applied
		r.result.Completions = len(applied)
	}
	if r.soak != nil {
		r.result.Soak = r.soak.judge()
	}
	found := recovery.Run{
		History: h, Applied: applied, Spans: r.spans, Since: r.steady, Closed: r.closed, Takeover: r.Takeover(), Stalls: &r.stalls,
	}
	r.result.Timeline, r.result.RecoveryMS = found.Timeline(), found.Judge()
	if r.observer != nil && len(applied) > 0 {
		r.result.Timeline.Samples = samplesOf(r.observer.seen, applied[0])
	}
}

// excuseUnended drops violations by instances that have not ended, if a fault or phase itself failed before they could.
func (r *run) excuseUnended() {
	if r.broken && !r.isLive {
		r.result.Violations = slices.DeleteFunc(r.result.Violations, func(v Violation) bool { return v.Invariant == "I9" || v.Invariant == "queue" })
	}
}

// missing doubts a run in which no instance was cancelled although some should have been. How instances ended counts, because a
// cancel's answer may be lost.
func (r *run) missing(h oracle.History) {
	canceled := map[string]bool{}
	for i := range h {
		if h[i].Kind == oracle.LookedUp && h[i].Status == reference.Canceled {
			canceled[h[i].Instance] = true
		}
	}
	if r.result.Canceled = len(canceled); len(canceled) == 0 && r.Cancel > 0 {
		r.result.doubt("no instance was canceled")
	}
}

func (r *run) oracles(h oracle.History) error {
	truth, err := newTruth(r.Case, r.load.workloadOf())
	if err != nil {
		return err
	}
	for _, text := range r.Doubts() {
		r.result.doubt("%s", text)
	}
	r.result.Joins = contention(h, truth.graph)
	report, err := oracle.Check(h, oracle.Rules{
		Invariants: judged, Graph: truth.graph, Outcomes: truth.outcome,
		Revokes: r.revokes, // every call is recorded before it is made, so nothing is missing
	})
	if err != nil {
		return fmt.Errorf("the history is not valid: %w", err)
	}
	for _, v := range report {
		r.result.Judged[v.Invariant] = v.Judged
		for _, x := range v.Violations {
			r.result.Violations = append(r.result.Violations, Violation{Invariant: v.Invariant, Message: x.Message, Lines: x.Lines})
		}
		if v.Result == oracle.Inconclusive && (slices.Contains(needed, v.Invariant) || v.Judged > 0) {
			r.result.doubt("%s was not judged: %s", v.Invariant, v.Why)
		}
	}
	return nil
}

type truth struct {
	of       map[string]int // by instance: its workload
	graphs   []*graph.Graph
	outcomes [][]reference.Outcome
}

func newTruth(c cases.Case, of map[string]int) (*truth, error) {
	built, err := c.Build(true)
	if err != nil {
		return nil, err
	}
	t := &truth{of: of}
	for i, w := range built.Workloads {
		var outcomes []reference.Outcome
		if p := built.Programs[i]; p == nil || len(p.Unsteady) == 0 {
			outcomes, err = w.Possible()
		}
		if err != nil {
			return nil, err
		}
		t.graphs, t.outcomes = append(t.graphs, w.Graph), append(t.outcomes, outcomes)
	}
	return t, nil
}

func (t *truth) graph(instance string) *graph.Graph {
	if i, known := t.of[instance]; known {
		return t.graphs[i]
	}
	return nil
}

func (t *truth) outcome(instance string) []reference.Outcome {
	if i, known := t.of[instance]; known {
		return t.outcomes[i]
	}
	return nil
}
