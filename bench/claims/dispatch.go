package claims

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"pulley/bench"
	"pulley/bench/stats"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
	"pulley/scenarios"
)

// pollEvery stands for the 5 s of the claim, which would be long to wait for.
const pollEvery = 250 * time.Millisecond

// dispatch is about the time from pending to dispatched: with an engine that hears of work only by polling, and with one that is
// handed it by the commit.
func dispatch(ctx context.Context, l *lab) ([]Claim, error) {
	bed, err := newBed(ctx, l)
	if err != nil {
		return nil, err
	}
	defer bed.close(ctx)
	tasks := l.pick(5, 10)
	var longest, mean, handed []float64
	for run := range l.cfg.Runs {
		polled, pushed, err := bed.run(ctx, tasks, uint64(run))
		if err != nil {
			return nil, err
		}
		longest = append(longest, inPolls(slices.Max(polled)))
		mean = append(mean, inPolls(sum(polled)/time.Duration(tasks)))
		handed = append(handed, stats.Median(milliseconds(pushed)))
		l.say("run %d of %d: polled up to %v, pushed %.2g ms", run+1, l.cfg.Runs, slices.Max(polled), handed[run])
	}
	return []Claim{{
		ID: "dispatch", Source: sourceTech + ", Latency Breakdown",
		Text: "From pending to dispatched a task waits 0 to 5 s: at most the interval of polling.",
		Method: fmt.Sprintf("an idle engine on push that polls every %v, standing for the 5 s, and instances of one action: stored by a process that tells nobody, "+
			"at random moments, from the commit to the start; and submitted to the engine itself, from the call of Submit to the start. %d of each in a run.", pollEvery, tasks),
		Figures: []Figure{
			Figure{Name: "polled, longest wait in intervals", Bound: AtMost, Claimed: 1.1}.measure(longest),
			Figure{Name: "polled, mean wait in intervals", Bound: About, Claimed: 0.5, Tolerance: 0.25}.measure(mean),
			Figure{Name: "pushed, median wait", Unit: "ms", Bound: Beside}.measure(handed),
		},
		Why: "It binds who polls for work; a commit that hands over what it made ready leaves no interval to wait for",
	}}, nil
}

func inPolls(d time.Duration) float64 { return float64(d) / float64(pollEvery) }

func sum(list []time.Duration) time.Duration {
	var total time.Duration
	for _, d := range list {
		total += d
	}
	return total
}

func milliseconds(list []time.Duration) []float64 {
	out := make([]float64, len(list))
	for i, d := range list {
		out[i] = float64(d) / float64(time.Millisecond)
	}
	return out
}

// bed is an engine on push, and another handle on its store.
type bed struct {
	dsn, schema string
	own, other  backend.Backend
	engine      *engine.Engine
	program     *plan.Program
	input       []byte
	started     chan time.Time // of the one task that is under way
}

func newBed(ctx context.Context, l *lab) (_ *bed, err error) {
	b := &bed{dsn: l.cfg.DSN, schema: "pulley_claims_" + uuid.NewString()[:8], started: make(chan time.Time, 1)}
	defer func() {
		if err != nil {
			b.close(ctx)
		}
	}()
	one, err := scenarios.Find("chain")
	if err != nil {
		return nil, err
	}
	workload, err := one.Build(1, scenarios.Options{})
	if err != nil {
		return nil, err
	}
	if b.program, err = plan.Compile(workload.Graph); err != nil {
		return nil, err
	}
	b.input = workload.Input
	spec, err := bench.ParseBackend(push)
	if err != nil {
		return nil, err
	}
	for _, handle := range []*backend.Backend{&b.own, &b.other} {
		if *handle, err = spec.Open(ctx, bench.OpenOptions{DSN: b.dsn, Schema: b.schema, Application: "pulley claims"}); err != nil {
			return nil, err
		}
	}
	actions, err := bench.Actions()
	if err != nil {
		return nil, err
	}
	e, err := engine.New(engine.Config{Backend: b.own, Workers: actions, Poll: pollEvery, Observer: engine.Observer{
		Started: func(_ backend.Task, at time.Time) {
			select {
			case b.started <- at:
			default: // a second attempt, which is not waited for
			}
		},
	}})
	if err != nil {
		return nil, err
	}
	if err := e.Start(ctx); err != nil {
		return nil, err
	}
	b.engine = e
	return b, nil
}

// close ends the engine and removes what it wrote. What fails there leaves a schema, which its name explains.
func (b *bed) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if b.engine != nil {
		_ = b.engine.Stop(ctx)
	}
	for _, handle := range []backend.Backend{b.own, b.other} {
		if handle != nil {
			handle.Close()
		}
	}
	_ = postgres.DropSchema(ctx, b.dsn, b.schema)
}

// run gives the waits of so many tasks of both kinds, taking turns.
func (b *bed) run(ctx context.Context, tasks int, seed uint64) (polled, pushed []time.Duration, err error) {
	random := rand.New(rand.NewPCG(seed, 1))
	for range tasks {
		if err := pause(ctx, time.Duration(random.Int64N(int64(pollEvery)))); err != nil {
			return nil, nil, err
		}
		wait, err := b.task(ctx, func(id uuid.UUID) (time.Time, error) {
			_, err := b.other.Submit(ctx, []backend.Submission{{ID: id, Program: b.program, Input: b.input}}, backend.Grant{Owner: "nobody", Lease: time.Second})
			return time.Now(), err
		})
		if err != nil {
			return nil, nil, err
		}
		polled = append(polled, wait)
		if wait, err = b.task(ctx, func(id uuid.UUID) (time.Time, error) {
			from := time.Now()
			_, err := b.engine.Submit(ctx, engine.SubmitRequest{ID: id, Program: b.program, Input: b.input})
			return from, err
		}); err != nil {
			return nil, nil, err
		}
		pushed = append(pushed, wait)
	}
	return polled, pushed, nil
}

// task has an instance stored, and gives how long its task waited for its start and was waited for to its end.
func (b *bed) task(ctx context.Context, submit func(uuid.UUID) (time.Time, error)) (time.Duration, error) {
	id := uuid.Must(uuid.NewV7())
	from, err := submit(id)
	if err != nil {
		return 0, err
	}
	var at time.Time
	select {
	case at = <-b.started:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	in, err := b.engine.Wait(ctx, id)
	if err != nil {
		return 0, err
	}
	if in.Status != backend.Completed {
		return 0, fmt.Errorf("instance %s %s: %s", id, in.Status, in.Failure)
	}
	return max(at.Sub(from), 0), nil
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
