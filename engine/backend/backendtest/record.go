package backendtest

import (
	"encoding/json"
	"sync"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/plan"
)

// StepKind is the kind of a step.
type StepKind string

// The kinds.
const (
	Submitted StepKind = "submitted" // answered submission
	Leased    StepKind = "leased"    // node run handed out
	Answered  StepKind = "answered"  // answered completion
	Ended     StepKind = "ended"     // end of an instance, reported by a call
	Lost      StepKind = "lost"      // call with a lost answer, which may have been applied
)

// Step is one observation of a drive.
type Step struct {
	Kind StepKind

	// Begin and End are instants on the drive's counter, around the call that reported the step: what it reports happened between
	// them. One step certainly follows another if its Begin is greater than the other's End.
	Begin, End int64

	Instance uuid.UUID
	Lease    backend.Lease   // of Leased and Answered
	Attempt  int             // of Leased and Answered
	Action   string          // of Leased
	Args     json.RawMessage // of Leased
	Answer   backend.Answer  // of Submitted and Answered
	Err      error           // of Answered and Lost
	Failed   bool            // of Answered: the attempt was a failure

	Outcome backend.Instance // of Ended
}

// Recording has what a drive saw, in the order of its calls' returns.
type Recording struct {
	Steps []Step

	Programs map[uuid.UUID]*plan.Program

	// Instances is the final Lookup.
	Instances map[uuid.UUID]backend.Instance
}

// Runs counts the node runs of an instance that were handed out, by the node's name. Attempts of one run count once.
func (r *Recording) Runs(instance uuid.UUID) map[string]int {
	seen := map[backend.Key]bool{}
	runs := map[string]int{}
	g := r.Programs[instance].Graph()
	for _, s := range r.Steps {
		if s.Kind == Leased && s.Instance == instance && !seen[s.Lease.Key] {
			seen[s.Lease.Key] = true
			runs[g.Nodes[s.Lease.Key.Run.Node].Name]++
		}
	}
	return runs
}

type recorder struct {
	mu    sync.Mutex
	clock int64
	rec   Recording
}

func newRecorder() *recorder {
	return &recorder{rec: Recording{
		Programs:  map[uuid.UUID]*plan.Program{},
		Instances: map[uuid.UUID]backend.Instance{},
	}}
}

func (r *recorder) begin() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	return r.clock
}

func (r *recorder) committed(begin int64, own []Step, out backend.Committed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	note := func(s Step) {
		s.Begin, s.End = begin, r.clock
		r.rec.Steps = append(r.rec.Steps, s)
	}
	for _, s := range own {
		note(s)
	}
	for _, task := range out.Tasks {
		note(Step{
			Kind: Leased, Instance: task.Lease.Key.Instance, Lease: task.Lease,
			Attempt: task.Attempt, Action: task.Action, Args: task.Args,
		})
	}
	for _, inst := range out.Ended {
		note(Step{Kind: Ended, Instance: inst.ID, Outcome: inst})
	}
}

func (r *recorder) lost(begin int64, err error) {
	r.committed(begin, []Step{{Kind: Lost, Err: err}}, backend.Committed{})
}
