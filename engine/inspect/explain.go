package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
)

// Reason is a kind of thing that an instance waits for.
type Reason string

// The reasons. Of several, that with the nearest end comes first, in this order.
const (
	Lease      Reason = "lease"       // an engine has it leased, and is at work
	Worker     Reason = "worker"      // it is ready, and no engine has taken it
	LostEngine Reason = "lost_engine" // the lease has expired: the engine has exited, or is cut off
	Elsewhere  Reason = "elsewhere"   // an engine that has the action: others have returned it
	Limit      Reason = "limit"       // its action's limit, which all engines share
	Signal     Reason = "signal"      // a signal that has not come
	Retry      Reason = "retry"       // an attempt failed, and the next begins later
	Sleep      Reason = "sleep"       // of the workflow's own
	Barrier    Reason = "barrier"     // more arrivals
	Adoption   Reason = "adoption"    // the owner of its shard, or any, to take it into memory
	Owner      Reason = "owner"       // the owner of its shard to answer, or another to take over
	Evicted    Reason = "evicted"     // it left the owner's memory until it is due
	Broken     Reason = "broken"      // nothing: what is stored of it cannot be applied
	Nothing    Reason = "nothing"     // nothing of it is under way
	Ended      Reason = "ended"       // nothing: it has ended
	Unknown    Reason = "unknown"     // there is no such instance
)

var order = []Reason{Ended, Unknown, Broken, Lease, Limit, Worker, Elsewhere, LostEngine, Retry, Sleep, Signal, Evicted, Adoption, Owner, Barrier, Nothing}

// Wait is one thing that an instance waits for.
type Wait struct {
	Reason Reason     `json:"reason"`
	Node   string     `json:"node,omitempty"`   // the node run's name, with its path
	Action string     `json:"action,omitempty"` // without @; empty: a sleep or a barrier
	Since  *time.Time `json:"since,omitempty"`
	Until  *time.Time `json:"until,omitempty"`

	// Engine has, or had, the lease; empty: the store does not keep it.
	Engine string `json:"engine,omitempty"`

	Attempt    int `json:"attempt,omitempty"`    // the current or next one, from 1
	Attempts   int `json:"attempts,omitempty"`   // at most, by the policies of the node
	Deliveries int `json:"deliveries,omitempty"` // of the attempt so far

	Completed *int `json:"completed,omitempty"` // arrivals at a barrier
	Required  *int `json:"required,omitempty"`  // null: not known yet

	Limit  string `json:"limit,omitempty"`  // its name
	Signal string `json:"signal,omitempty"` // its name
	Detail string `json:"detail,omitempty"` // an error or a reason in words
}

// Explanation says what an instance waits for.
type Explanation struct {
	ID       uuid.UUID      `json:"id"`
	Status   backend.Status `json:"status"` // empty: unknown
	Sentence string         `json:"sentence"`
	Waits    []Wait         `json:"waits"` // the first decides
	Cut      bool           `json:"cut"`   // there is more than was read
}

// Explain finds what the instance of a snapshot waits for.
func Explain(s backend.Snapshot) Explanation {
	e := Explanation{ID: s.ID, Status: s.Status, Cut: s.Cut}
	switch s.Status {
	case "":
		e.Waits = []Wait{{Reason: Unknown}}
	case backend.Running:
		e.Waits = append(runs(s), append(barriers(s), owner(s)...)...)
		if len(e.Waits) == 0 {
			e.Waits = []Wait{{Reason: Nothing, Since: &s.Submitted}}
		}
	default:
		e.Waits = []Wait{{Reason: Ended, Since: &s.Ended, Detail: failure(s)}}
	}
	slices.SortStableFunc(e.Waits, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Reason), slices.Index(order, b.Reason)), byTime(a.Until, b.Until))
	})
	e.Sentence = sentence(s, e.Waits)
	return e
}

func byTime(a, b *time.Time) int {
	if a == nil || b == nil {
		return 0
	}
	return a.Compare(*b)
}

func failure(s backend.Snapshot) string {
	if s.Failure == nil {
		return ""
	}
	return s.Failure.String()
}

func runs(s backend.Snapshot) []Wait {
	waits := make([]Wait, len(s.Runs))
	for i, r := range s.Runs {
		waits[i] = run(s, r)
	}
	return waits
}

func run(s backend.Snapshot, r backend.OpenRun) Wait {
	w := Wait{Node: NameOf(s, r.Run), Attempt: r.Attempt, Deliveries: r.Deliveries, Engine: r.Engine}
	sleeps := false
	if n := nodeOf(s, r.Run); n != nil {
		w.Action, sleeps = n.Action, n.Kind == graph.Sleep
		for _, policy := range n.Retries {
			w.Attempts = max(w.Attempts, policy.Count+1)
		}
	}
	due := r.Due
	switch later := due.After(s.Now); {
	case r.Leased && later:
		w.Reason, w.Until = Lease, &due
	case r.Leased:
		w.Reason, w.Since = LostEngine, &due
	case !later:
		w.Reason, w.Since = Worker, &due
	case r.Attempt > 1 && !sleeps:
		w.Reason, w.Until = Retry, &due
	default:
		w.Reason, w.Until = Sleep, &due
	}
	switch wait := signalWait(s, r); {
	case wait != nil:
		w.Reason, w.Signal, w.Since, w.Until = Signal, wait.Name, &wait.Since, nil
		if !wait.Deadline.IsZero() {
			w.Until = &wait.Deadline
		}
	case w.Action != "":
		returned(s, r, &w)
	}
	return w
}

// signalWait returns the wait of a node run for a signal that has not come; nil: there is none.
func signalWait(s backend.Snapshot, r backend.OpenRun) *backend.SignalWait {
	for i, w := range s.Waits {
		if w.Lease.Key.Run == r.Run && w.State == backend.Waiting && w.Attempt == r.Attempt {
			return &s.Waits[i]
		}
	}
	return nil
}

// returned finds that a node run waits for a limit: no engine has it leased, for as long as engines hold enough others ready; or one
// has, and the limit is used up. Whether that engine has begun it is not in the store. Without a limit, engines only return what they
// do not have the action of.
func returned(s backend.Snapshot, r backend.OpenRun, w *Wait) {
	returned := w.Reason == Sleep // an engine has returned it
	i := slices.IndexFunc(s.Limits, func(l backend.StoredLimit) bool { return slices.Contains(l.Actions, w.Action) })
	if i < 0 {
		if returned {
			w.Reason = Elsewhere
		}
		return
	}
	l := s.Limits[i]
	if !returned && (w.Reason != Lease && w.Reason != Worker || !usedUp(l, s.Now)) {
		return
	}
	w.Reason, w.Limit, w.Detail = Limit, l.Name, useOf(l, s.Now)
	if !r.Leased {
		w.Since, w.Until = nil, nil
	}
}

func usedUp(l backend.StoredLimit, now time.Time) bool {
	permits, waiting := sums(l, now)
	return waiting > 0 && (l.Concurrency > 0 && permits >= l.Concurrency || l.Rate.Starts > 0)
}

func sums(l backend.StoredLimit, now time.Time) (permits, waiting int) {
	for _, share := range l.State.Current(now) {
		permits += share.Permits
		waiting += share.Waiting
	}
	return permits, waiting
}

func barriers(s backend.Snapshot) []Wait {
	waits := make([]Wait, len(s.Barriers))
	for i, b := range s.Barriers {
		completed := b.Completed
		waits[i] = Wait{Reason: Barrier, Node: NameOf(s, b.Run), Completed: &completed}
		if b.Required > 0 {
			required := b.Required
			waits[i].Required = &required
		}
	}
	return waits
}

// owner finds what only the owner of the instance's shard can do.
func owner(s backend.Snapshot) []Wait {
	o := s.Owner
	if o == nil {
		return nil
	}
	w := Wait{Engine: o.Name, Detail: o.Silence}
	unowned := o.Name == "" || !o.Expires.After(s.Now)
	switch {
	case o.Broken != "":
		w.Reason, w.Detail = Broken, o.Broken
	case !o.EvictedUntil.IsZero():
		w.Reason, w.Until = Evicted, &o.EvictedUntil
	case !o.Adopted:
		w.Reason, w.Since = Adoption, &s.Submitted
		if unowned {
			w.Engine = ""
		}
	case !o.Answered && unowned:
		w.Reason, w.Since = Owner, &o.Expires
	case !o.Answered:
		w.Reason, w.Until = Owner, &o.Expires
	default:
		return nil
	}
	return []Wait{w}
}

func nodeOf(s backend.Snapshot, r graph.Run) *graph.Node {
	if s.Program == nil || r.Node < 0 || int(r.Node) >= len(s.Program.Graph().Nodes) {
		return nil
	}
	return s.Program.Graph().Nodes[r.Node]
}
