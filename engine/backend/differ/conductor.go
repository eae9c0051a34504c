package differ

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/oracle"
	"pulley/engine/plan"
	"pulley/engine/reference"
	"pulley/internal/pause"
)

// conductor runs one instance to its end, as an engine would, and records the history. It is one goroutine, so that the schedule
// determines everything.
type conductor struct {
	Schedule
	store   Store
	program *plan.Program
	actions *actions
	input   json.RawMessage
	rng     *rand.Rand

	id            uuid.UUID
	shard         int
	held          []backend.Task
	offered       []backend.Completion // and answered
	leaseReleased bool                 // a lease may have no holder
	ended         bool
	answerLost    bool
	fuse          int       // steps until the call crashes; below one: it does not
	idle          int       // empty claims in a row
	since         time.Time // of the first of them
	history       oracle.History

	advanced time.Duration // of the store's clock, if it is not real time
	sent     int64         // when the current call was made, on the history's clock
}

var errCrash = errors.New("crashed on purpose")

const (
	leaseLong  = time.Hour
	leaseShort = 20 * time.Millisecond // in real time, if a task is dropped
	idleMax    = 100                   // empty claims in a row before an instance counts as stuck
	idleMin    = time.Minute           // a busy machine may leave a call waiting for half of that
	idleWait   = 5 * time.Millisecond
)

func newConductor(c Case, s Store, p *plan.Program, a *actions) *conductor {
	d := &conductor{
		Schedule: c.Schedule, store: s, program: p, actions: a, input: c.Input,
		rng: rand.New(rand.NewPCG(c.Schedule.Seed, 1)),
		id:  uuid.New(),
	}
	d.shard = backend.ShardOf(d.id, s.Backend.Shards())
	return d
}

func (d *conductor) chance(percent int) bool { return percent > 0 && d.rng.IntN(100) < percent }

func (d *conductor) grant() backend.Grant {
	g := backend.Grant{Owner: "conductor", Max: 1 + d.Batch, Lease: d.lease()}
	if d.Seed != 0 {
		g.Max = d.rng.IntN(4)
	}
	return g
}

func (d *conductor) lease() time.Duration {
	if d.Losses > 0 && d.store.Advance == nil {
		return leaseShort
	}
	return leaseLong
}

// now returns the time on the history's clock: the store's, or one as fast. It advances with every event.
func (d *conductor) now() int64 {
	if d.store.Advance == nil {
		return oracle.MachineClock()
	}
	return 1 + int64(d.advanced) + int64(len(d.history))
}

func (d *conductor) run(ctx context.Context) error {
	if d.Crashes > 0 && d.store.Crash != nil {
		d.store.Crash(func(string) error {
			if d.fuse--; d.fuse == 0 {
				return errCrash
			}
			return nil
		})
		defer d.store.Crash(nil)
	}
	if err := d.submit(ctx); err != nil {
		return err
	}
	for !d.ended {
		var err error
		switch {
		case len(d.held) == 0 || d.Seed != 0 && d.chance(20):
			err = d.claim(ctx)
		default:
			err = d.complete(ctx)
		}
		if err != nil {
			d.cancel(ctx)
			return err
		}
	}
	return d.inspect(ctx)
}

func (d *conductor) call(ctx context.Context, what string, f func() (backend.Committed, error)) (backend.Committed, error) {
	for tries := 0; ; tries++ {
		d.light(tries)
		d.sent = d.now()
		out, err := f()
		switch {
		case err == nil:
			d.note(out)
			return out, nil
		case backend.IsUnknown(err):
			d.answerLost, d.leaseReleased = true, true
		case errors.Is(err, errCrash):
		default:
			return out, fmt.Errorf("%s: %w", what, err)
		}
		if ctx.Err() != nil {
			return out, fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
	}
}

// light sometimes makes a call crash at one of its steps, of which it has six to hundreds. A call that has crashed twice is left
// alone.
func (d *conductor) light(tries int) {
	d.fuse = 0
	if tries < 2 && d.chance(d.Crashes) {
		d.fuse = 1 + d.rng.IntN(20)
	}
}

func (d *conductor) submit(ctx context.Context) error {
	sub := []backend.Submission{{ID: d.id, Program: d.program, Input: d.input}}
	d.event(oracle.Event{Kind: oracle.Submitted})
	for {
		out, err := d.call(ctx, "submit", func() (backend.Committed, error) {
			return d.store.Backend.Submit(ctx, sub, d.grant())
		})
		if err != nil {
			return err
		}
		switch o := out.Outcomes[0]; {
		case o.Answer == backend.Again:
		case o.Answer == backend.Applied, o.Answer == backend.Duplicate && d.answerLost:
			return nil
		default:
			return fmt.Errorf("the submission is answered %s: %v", o.Answer, o.Err)
		}
	}
}

func (d *conductor) claim(ctx context.Context) error {
	grant := d.grant()
	grant.Max = max(grant.Max, 1)
	before := len(d.held)
	out, err := d.call(ctx, "claim", func() (backend.Committed, error) {
		return d.store.Backend.Claim(ctx, d.shard, grant)
	})
	if err != nil || len(d.held) > before || before > 0 {
		d.idle = 0
		return err
	}
	// The end may have been in a lost answer. And a shard that this backend had not adopted yet when the instance was submitted is the
	// journal's to continue: no call of ours reports what ended there.
	if d.answerLost || d.store.Advance == nil && d.idle >= idleMax {
		if err := d.readInstance(ctx); err != nil || d.ended {
			return err
		}
	}
	if d.idle++; d.idle == 1 {
		d.since = time.Now()
	}
	if d.idle > idleMax && (d.store.Advance != nil || time.Since(d.since) > idleMin) {
		return fmt.Errorf("I9: nothing is ready and the instance has not ended")
	}
	d.wait(ctx, out.NextDue)
	return nil
}

func (d *conductor) wait(ctx context.Context, due time.Time) {
	if d.store.Advance == nil {
		_ = pause.For(ctx, min(max(time.Until(due), time.Millisecond), idleWait)) // the next call reports an ended ctx
		return
	}
	step := time.Minute
	if d.leaseReleased && due.IsZero() {
		step = leaseLong
	}
	d.store.Advance(step)
	d.advanced += step
}

func (d *conductor) complete(ctx context.Context) error {
	var batch []backend.Completion
	for range 1 + d.size() {
		if len(d.held) == 0 {
			break
		}
		t := d.removeHeld()
		if d.chance(d.Losses) {
			d.leaseReleased = true
			continue
		}
		batch = append(batch, d.perform(t))
	}
	if len(d.offered) > 0 && d.chance(d.Duplicates) {
		batch = append(batch, d.offered[d.rng.IntN(len(d.offered))])
	}
	if len(batch) > 0 && d.chance(d.Duplicates) {
		batch = append(batch, batch[0])
	}
	for len(batch) > 0 {
		again, err := d.offer(ctx, batch)
		if err != nil {
			return err
		}
		batch = again
	}
	return nil
}

// size draws how many completions beyond one a call has.
func (d *conductor) size() int {
	switch {
	case d.Batch < 2:
		return 0
	case d.Seed == 0:
		return d.Batch - 1
	}
	return d.rng.IntN(d.Batch)
}

func (d *conductor) removeHeld() backend.Task {
	at := 0
	if d.Seed != 0 {
		at = d.rng.IntN(len(d.held))
	}
	t := d.held[at]
	d.held = slices.Delete(d.held, at, at+1)
	return t
}

func (d *conductor) perform(t backend.Task) backend.Completion {
	c := backend.Completion{Lease: t.Lease, Program: t.Program, Attempt: t.Attempt, Result: json.RawMessage("null")}
	if t.Action != "" {
		d.attempt(oracle.Started, t.Lease, t.Attempt, func(e *oracle.Event) { e.Action, e.Args = t.Action, t.Args })
		c.Result, c.Failure = d.actions.run(t.Action, t.Args, t.Attempt)
	}
	return c
}

// offer makes one call, and returns what is to be offered again.
func (d *conductor) offer(ctx context.Context, batch []backend.Completion) (again []backend.Completion, err error) {
	for _, c := range batch {
		d.attempt(oracle.Offered, c.Lease, c.Attempt, nil)
	}
	lost := d.answerLost
	out, err := d.call(ctx, "complete", func() (backend.Committed, error) {
		out, err := d.store.Backend.Complete(ctx, d.shard, batch, d.grant())
		if backend.IsUnknown(err) {
			for _, c := range batch {
				d.attempt(oracle.Answered, c.Lease, c.Attempt, func(e *oracle.Event) { e.Answer = oracle.AnswerUnknown })
			}
		}
		if err == nil {
			d.answers(batch, out.Outcomes)
		}
		return out, err
	})
	if err != nil {
		return nil, err
	}
	if !lost && d.answerLost { // the answers may have been lost with the first call
		err = d.readInstance(ctx)
	}
	for i, o := range out.Outcomes {
		if o.Answer == backend.Refused {
			return nil, fmt.Errorf("the completion of %s is refused: %w", d.program.RunName(batch[i].Lease.Key.Run), o.Err)
		}
		if o.Answer == backend.Again {
			again = append(again, batch[i])
		} else {
			d.offered = append(d.offered, batch[i])
		}
	}
	return again, err
}

func (d *conductor) answers(batch []backend.Completion, outcomes []backend.Outcome) {
	for i, o := range outcomes {
		if o.Answer == backend.Again {
			continue
		}
		c := batch[i]
		d.attempt(oracle.Answered, c.Lease, c.Attempt, func(e *oracle.Event) {
			e.Answer = oracle.Answer(o.Answer)
			if c.Failure == nil || o.Answer != backend.Applied {
				return
			}
			if e.Again = d.retried(c); !e.Again {
				e.Error = errorOf(c.Failure)
			}
		})
	}
}

func (d *conductor) retried(c backend.Completion) bool {
	return oracle.Retried(d.program.Graph().Nodes[c.Lease.Key.Run.Node], c.Failure.Type, c.Attempt)
}

func (d *conductor) note(out backend.Committed) {
	for _, t := range out.Tasks {
		if t.Lease.Key.Instance != d.id {
			continue
		}
		d.held = append(d.held, t)
		d.attempt(oracle.Leased, t.Lease, t.Attempt, func(e *oracle.Event) {
			e.Owner, e.UntilNS = "conductor", d.sent+int64(d.lease())
		})
	}
	for _, inst := range out.Ended {
		if inst.ID == d.id {
			d.end(oracle.Ended, inst)
			d.ended = true
		}
	}
}

func (d *conductor) readInstance(ctx context.Context) error {
	found, err := d.store.Backend.Lookup(ctx, []uuid.UUID{d.id})
	if err != nil {
		return fmt.Errorf("lookup: %w", err)
	}
	d.end(oracle.LookedUp, found[0])
	over := found[0].Status != backend.Running && found[0].Status != ""
	if over && !d.ended && d.answerLost { // the answer with the end was lost
		d.end(oracle.Ended, found[0])
	}
	d.ended = over
	return nil
}

func (d *conductor) inspect(ctx context.Context) error {
	if d.store.Crash != nil {
		d.store.Crash(nil)
	}
	if err := d.late(ctx); err != nil {
		return err
	}
	if err := d.readInstance(ctx); err != nil {
		return err
	}
	for more := true; more; {
		swept, err := d.store.Backend.Sweep(ctx, d.shard)
		if err != nil {
			return fmt.Errorf("sweep: %w", err)
		}
		more = swept.More
	}
	rows, err := d.store.Leftovers(ctx)
	if err != nil {
		return fmt.Errorf("leftovers: %w", err)
	}
	d.event(oracle.Event{Kind: oracle.Inspected, Rows: rows})
	return nil
}

func (d *conductor) late(ctx context.Context) error {
	if d.Duplicates == 0 || len(d.held) == 0 {
		return nil
	}
	c := d.perform(d.held[0])
	_, err := d.offer(ctx, []backend.Completion{c})
	return err
}

func (d *conductor) cancel(ctx context.Context) {
	if c, ok := d.store.Backend.(backend.Canceler); ok {
		_, _ = c.Cancel(context.WithoutCancel(ctx), []uuid.UUID{d.id}, "the case has failed") // the case's error is reported
	}
}

func (d *conductor) event(e oracle.Event) {
	e.Instance, e.AtNS = d.id.String(), d.now()
	d.history = append(d.history, e)
}

func (d *conductor) attempt(k oracle.Kind, l backend.Lease, attempt int, change func(*oracle.Event)) {
	e := runEvent(k, d.program, l.Key.Run)
	e.Token, e.Attempt = l.Token, attempt
	if change != nil {
		change(&e)
	}
	d.event(e)
}

func runEvent(k oracle.Kind, p *plan.Program, run graph.Run) oracle.Event {
	return oracle.Event{Kind: k, Node: p.Graph().Nodes[run.Node].Name, Path: string(run.Path)}
}

func (d *conductor) end(k oracle.Kind, inst backend.Instance) {
	d.event(oracle.Event{Kind: k, Status: reference.Status(inst.Status), Result: inst.Result, Error: errorOf(inst.Failure)})
}

func errorOf(f *plan.Failure) *reference.Error {
	if f == nil {
		return nil
	}
	return &reference.Error{Type: f.Type, Message: f.Message, Action: f.Action, Pos: f.Pos}
}
