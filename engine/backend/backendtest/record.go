package backendtest

import (
	"encoding/json"
	"sync"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/plan"
)

// StepKind says what a step notes.
type StepKind string

// The kinds.
const (
	Submitted StepKind = "submitted" // a submission was answered
	Leased    StepKind = "leased"    // a node run was handed out
	Answered  StepKind = "answered"  // a completion was answered
	Ended     StepKind = "ended"     // a call reported that it ended an instance
	Lost      StepKind = "lost"      // a call's answer was lost, but it may have happened
)

// Step is one thing that a drive saw.
type Step struct {
	Kind StepKind

	// Begin and End are instants on the drive's own counter, around the call that told of the step: what
	// it tells of happened between them. Of two steps, one is certainly after the other if its Begin is
	// greater than the other's End.
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

// Recording is what a drive saw, in the order in which its calls came back.
type Recording struct {
	Steps []Step

	// Programs are the submitted programs, by instance.
	Programs map[uuid.UUID]*plan.Program

	// Instances is what Lookup said when all had ended.
	Instances map[uuid.UUID]backend.Instance
}

// Runs counts the node runs of an instance that were handed out, by the node's name. Attempts of one
// run count once.
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

// recorder makes a Recording from many goroutines.
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

// begin gives the instant before a call.
func (r *recorder) begin() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	return r.clock
}

// committed notes what a call brought: steps of its own, the tasks, and the instances that ended.
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

// lost notes a call that may have happened.
func (r *recorder) lost(begin int64, err error) {
	r.committed(begin, []Step{{Kind: Lost, Err: err}}, backend.Committed{})
}
