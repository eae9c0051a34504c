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

// witness is a store that records a history. Every event is in the pipe before the call continues or its answer is used.
type witness struct {
	Store
	recorder *oracle.Recorder
	calls    atomic.Int64
	lease    time.Duration
	graphs   sync.Map // by instance with leases from here: leases name nodes by number
}

func newWitness(s Store, lease time.Duration, out *lines, source string) *witness {
	return &witness{Store: s, lease: lease, recorder: oracle.NewRecorder(out, oracle.Recording{Source: source})}
}

// observer records what happens between calls.
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

func (w *witness) Renew(ctx context.Context, shard int, leases []backend.Lease, grant backend.Grant) ([]bool, error) {
	c := w.begin()
	asking, answering, operation := oracle.Renewing, oracle.Renewed, "renew"
	if grant.Lease < w.lease { // returned, or shortened since their workers died: from here on they do not count
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
		in.ID = ids[i] // of an unknown one, too
		events = append(events, InstanceEvent(oracle.LookedUp, in))
	}
	w.recorder.Record(events...)
	return found, err
}

func (w *witness) Sweep(ctx context.Context, shard int) (backend.Swept, error) {
	return w.Store.Sweep(call{}.withConnUse(ctx, "sweep", shard), shard)
}

func (w *witness) Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	return w.Store.Lookup(call{}.withConnUse(ctx, "lookup", 0), ids)
}

func (w *witness) Notify(ctx context.Context) error {
	return w.Store.Notify(call{}.withConnUse(ctx, "notify", 0))
}

func completing(done []backend.Completion) string {
	switch {
	case slices.ContainsFunc(done, func(d backend.Completion) bool { return d.Failure != nil && retried(d) }):
		return "retry"
	case len(done) > 1:
		return "group commit"
	}
	return "complete"
}

type connUseKey struct{}

func (c call) withConnUse(ctx context.Context, operation string, shard int) context.Context {
	return context.WithValue(ctx, connUseKey{}, fault.ConnUse{Operation: operation, Shard: shard, Call: c.number})
}

func connUseOf(ctx context.Context) fault.ConnUse {
	if m, ok := ctx.Value(connUseKey{}).(fault.ConnUse); ok {
		return m
	}
	return fault.ConnUse{Operation: fault.Background}
}

type call struct{ number, since int64 }

func (w *witness) begin() call { return call{number: w.calls.Add(1), since: oracle.MachineClock()} }

func (c call) event(k oracle.Kind, id uuid.UUID) oracle.Event {
	e := oracle.Event{Kind: k, Call: c.number}
	if id != uuid.Nil {
		e.Instance = id.String()
	}
	return e
}

// brought returns events of what a call leased and ended.
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

// leases returns events of a call about leases, all of which were granted here.
func (w *witness) leases(c call, k oracle.Kind, leases []backend.Lease) []oracle.Event {
	var events []oracle.Event
	for _, l := range leases {
		g, known := w.graphs.Load(l.Key.Instance)
		if !known {
			panic(fmt.Sprintf("chaos: a lease of instance %s is renewed that was not given here", l.Key.Instance))
		}
		e := runEvent(k, g.(*graph.Graph), l)
		e.Call, e.SinceNS = c.number, c.since
		events = append(events, e)
	}
	return events
}

func answerOf(outcomes []backend.Outcome, i int, err error) oracle.Answer {
	switch {
	case backend.IsUnknown(err), err == nil && i < len(outcomes) && backend.IsUnknown(outcomes[i].Err):
		return oracle.AnswerUnknown
	case err != nil || i >= len(outcomes) || outcomes[i].Answer == backend.Again:
		return oracle.AnswerNone
	}
	return oracle.Answer(outcomes[i].Answer)
}

func retried(c backend.Completion) bool {
	return oracle.Retried(c.Program.Graph().Nodes[c.Lease.Key.Run.Node], c.Failure.Type, c.Attempt)
}

// InstanceEvent makes an event with an instance's state.
func InstanceEvent(k oracle.Kind, in backend.Instance) oracle.Event {
	return oracle.Event{
		Kind: k, Instance: in.ID.String(), Status: reference.Status(in.Status), Result: in.Result, Error: errorOf(in.Failure),
	}
}

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
