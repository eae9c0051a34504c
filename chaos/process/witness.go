package process

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"pulley/chaos/fault"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/oracle"
	"pulley/engine/plan"
	"pulley/engine/reference"
)

// witness is a store that writes the history of all that is asked of it and answered: every event is in the
// pipe before the call goes on, or its answer is acted upon.
type witness struct {
	Store
	recorder *oracle.Recorder
	calls    atomic.Int64
	lease    time.Duration
	graphs   sync.Map // by instance, of what was leased here: leases name nodes by number
}

// newWitness makes that of an engine whose leases are so long.
func newWitness(s Store, lease time.Duration, out *lines, source string) *witness {
	return &witness{Store: s, lease: lease, recorder: oracle.NewRecorder(out, oracle.Recording{Source: source})}
}

// observer tells of what happens between calls.
func (w *witness) observer(problem func(error)) engine.Observer {
	return engine.Observer{
		Started: func(t backend.Task, _ time.Time) {
			e := attempt(oracle.Started, t.Program, t.Lease, t.Attempt)
			e.Action, e.Args = t.Action, t.Args
			w.recorder.Record(e)
		},
		Problem: problem,
	}
}

// Submit implements backend.Backend.
func (w *witness) Submit(ctx context.Context, subs []backend.Submission, grant backend.Grant) (backend.Committed, error) {
	c := w.begin()
	ctx = c.withConnUse(ctx, "submit", 0)
	var events []oracle.Event
	for _, s := range subs {
		events = append(events, c.event(oracle.Submitting, s.ID))
	}
	w.recorder.Record(events...)
	out, err := w.Store.Submit(ctx, subs, grant)
	events = events[:0]
	for i, s := range subs {
		e := c.event(oracle.Submitted, s.ID)
		e.Answer = answerOf(out.Outcomes, i, err)
		events = append(events, e)
	}
	w.recorder.Record(append(events, w.brought(c, out)...)...)
	return out, err
}

// Claim implements backend.Backend.
func (w *witness) Claim(ctx context.Context, shard int, grant backend.Grant) (backend.Committed, error) {
	c := w.begin()
	ctx = c.withConnUse(ctx, fault.Claiming, shard)
	w.recorder.Record(c.event(oracle.Claiming, uuid.Nil))
	out, err := w.Store.Claim(ctx, shard, grant)
	e := c.event(oracle.Claimed, uuid.Nil)
	if e.Answer = oracle.AnswerApplied; err != nil {
		e.Answer = answerOf(nil, 0, err)
	}
	w.recorder.Record(append([]oracle.Event{e}, w.brought(c, out)...)...)
	return out, err
}

// Complete implements backend.Backend.
func (w *witness) Complete(ctx context.Context, shard int, done []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	c := w.begin()
	ctx = c.withConnUse(ctx, completing(done), shard)
	var events []oracle.Event
	for _, d := range done {
		e := attempt(oracle.Offered, d.Program, d.Lease, d.Attempt)
		e.Call, e.Error = c.number, errorOf(d.Failure)
		events = append(events, e)
	}
	w.recorder.Record(events...)
	out, err := w.Store.Complete(ctx, shard, done, grant)
	events = events[:0]
	for i, d := range done {
		e := attempt(oracle.Answered, d.Program, d.Lease, d.Attempt)
		e.Call, e.SinceNS, e.Answer = c.number, c.since, answerOf(out.Outcomes, i, err)
		if d.Failure != nil && e.Answer == oracle.AnswerApplied {
			if e.Again = retried(d); !e.Again {
				e.Error = errorOf(d.Failure)
			}
		}
		events = append(events, e)
	}
	w.recorder.Record(append(events, w.brought(c, out)...)...)
	return out, err
}

// Renew implements backend.Backend.
func (w *witness) Renew(ctx context.Context, shard int, leases []backend.Lease, grant backend.Grant) ([]bool, error) {
	c := w.begin()
	asking, answering, operation := oracle.Renewing, oracle.Renewed, "renew"
	if grant.Lease < w.lease { // they are returned, or are to end since their workers died: nobody believes in them from here on
		asking, answering, operation = oracle.Released, "", "release"
	}
	ctx = c.withConnUse(ctx, operation, shard)
	w.recorder.Record(w.leases(c, asking, leases)...)
	held, err := w.Store.Renew(ctx, shard, leases, grant)
	if answering == "" {
		return held, err
	}
	events := w.leases(c, answering, leases)
	for i := range events {
		e := &events[i]
		switch {
		case err != nil:
			e.Answer = answerOf(nil, i, err)
		case held[i]:
			e.Answer, e.UntilNS = oracle.AnswerApplied, c.since+int64(grant.Lease)
		default:
			e.Answer = oracle.AnswerStale
		}
	}
	w.recorder.Record(events...)
	return held, err
}

// Cancel implements backend.Canceler.
func (w *witness) Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
	c := w.begin()
	ctx = c.withConnUse(ctx, "cancel", 0)
	var events []oracle.Event
	for _, id := range ids {
		events = append(events, oracle.Event{Kind: oracle.Canceling, Instance: id.String()})
	}
	w.recorder.Record(events...)
	found, err := w.Store.Cancel(ctx, ids, reason)
	events = events[:0]
	for i, in := range found {
		in.ID = ids[i] // of an unknown one too
		events = append(events, InstanceEvent(oracle.LookedUp, in))
	}
	w.recorder.Record(events...)
	return found, err
}

// Sweep implements backend.Backend.
func (w *witness) Sweep(ctx context.Context, shard int) (backend.Swept, error) {
	return w.Store.Sweep(call{}.withConnUse(ctx, "sweep", shard), shard)
}

// Lookup implements backend.Backend.
func (w *witness) Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	return w.Store.Lookup(call{}.withConnUse(ctx, "lookup", 0), ids)
}

// Notify implements backend.Listener.
func (w *witness) Notify(ctx context.Context) error {
	return w.Store.Notify(call{}.withConnUse(ctx, "notify", 0))
}

// completing names the operation of a call.
func completing(done []backend.Completion) string {
	switch {
	case slices.ContainsFunc(done, func(d backend.Completion) bool { return d.Failure != nil && retried(d) }):
		return "retry"
	case len(done) > 1:
		return "group commit"
	}
	return "complete"
}

// connUseKey is of what a context says is done on the connections that are acquired with it.
type connUseKey struct{}

// withConnUse notes what the call does.
func (c call) withConnUse(ctx context.Context, operation string, shard int) context.Context {
	return context.WithValue(ctx, connUseKey{}, fault.ConnUse{Operation: operation, Shard: shard, Call: c.number})
}

func connUseOf(ctx context.Context) fault.ConnUse {
	if m, ok := ctx.Value(connUseKey{}).(fault.ConnUse); ok {
		return m
	}
	return fault.ConnUse{Operation: fault.Background}
}

// call is a call of the store under way.
type call struct{ number, since int64 }

func (w *witness) begin() call { return call{number: w.calls.Add(1), since: oracle.MachineClock()} }

// event is one of the call's; of none of the instances where id is zero.
func (c call) event(k oracle.Kind, id uuid.UUID) oracle.Event {
	e := oracle.Event{Kind: k, Call: c.number}
	if id != uuid.Nil {
		e.Instance = id.String()
	}
	return e
}

// brought tells of the tasks that a call leased, and the instances that it ended.
func (w *witness) brought(c call, out backend.Committed) []oracle.Event {
	var events []oracle.Event
	for _, t := range out.Tasks {
		w.graphs.Store(t.Lease.Key.Instance, t.Program.Graph())
		e := attempt(oracle.Leased, t.Program, t.Lease, t.Attempt)
		e.Call, e.UntilNS = c.number, oracle.Clock(oracle.MachineClock).At(t.Expires)
		events = append(events, e)
	}
	for _, in := range out.Ended {
		e := InstanceEvent(oracle.Ended, in)
		e.Call = c.number
		events = append(events, e)
	}
	return events
}

// leases tells of a call about leases. All of them were leased here.
func (w *witness) leases(c call, k oracle.Kind, leases []backend.Lease) []oracle.Event {
	var events []oracle.Event
	for _, l := range leases {
		g, known := w.graphs.Load(l.Key.Instance)
		if !known { // it was not
			panic(fmt.Sprintf("chaos: a lease of instance %s is renewed that was not given here", l.Key.Instance))
		}
		e := runEvent(k, g.(*graph.Graph), l)
		e.Call, e.SinceNS = c.number, c.since
		events = append(events, e)
	}
	return events
}

// answerOf is the answer to the i-th of a call.
func answerOf(outcomes []backend.Outcome, i int, err error) oracle.Answer {
	switch {
	case backend.IsUnknown(err), err == nil && i < len(outcomes) && backend.IsUnknown(outcomes[i].Err):
		return oracle.AnswerUnknown
	case err != nil || i >= len(outcomes) || outcomes[i].Answer == backend.Again:
		return oracle.AnswerNone
	}
	return oracle.Answer(outcomes[i].Answer)
}

// retried says whether the program has a failed attempt tried again.
func retried(c backend.Completion) bool {
	return oracle.Retried(c.Program.Graph().Nodes[c.Lease.Key.Run.Node], c.Failure.Type, c.Attempt)
}

// InstanceEvent tells how an instance stands.
func InstanceEvent(k oracle.Kind, in backend.Instance) oracle.Event {
	return oracle.Event{
		Kind: k, Instance: in.ID.String(), Status: reference.Status(in.Status), Result: in.Result, Error: errorOf(in.Failure),
	}
}

// attempt is an event of an attempt.
func attempt(k oracle.Kind, p *plan.Program, l backend.Lease, attempt int) oracle.Event {
	e := runEvent(k, p.Graph(), l)
	e.Attempt = attempt
	return e
}

func runEvent(k oracle.Kind, g *graph.Graph, l backend.Lease) oracle.Event {
	return oracle.Event{
		Kind: k, Instance: l.Key.Instance.String(), Node: g.Nodes[l.Key.Run.Node].Name, Path: string(l.Key.Run.Path), Token: l.Token,
	}
}

func errorOf(f *plan.Failure) *reference.Error {
	if f == nil {
		return nil
	}
	return &reference.Error{Type: f.Type, Message: f.Message, Action: f.Action, Pos: f.Pos}
}
