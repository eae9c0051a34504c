package claims

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"pulley/bench/claim"
	"pulley/bench/stats"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/internal/pause"
)

// pollEvery stands in for the claim's 5 s, to save time.
const pollEvery = 250 * time.Millisecond

// dispatch measures the time from pending to dispatched: on an engine that finds work only by polling, and on one that receives
// it from the commit.
func dispatch(ctx context.Context, l *lab) ([]claim.Claim, error) {
	bed, err := newBed(ctx, l)
	if err != nil {
		return nil, err
	}
	defer bed.close(ctx)
	tasks := l.pick(5, 10)
	var longest, mean, handed []float64
	for run := range l.runs {
		polled, pushed, err := bed.run(ctx, tasks, uint64(run))
		if err != nil {
			return nil, err
		}
		longest = append(longest, inPolls(slices.Max(polled)))
		mean = append(mean, inPolls(sum(polled)/time.Duration(tasks)))
		handed = append(handed, stats.Median(milliseconds(pushed)))
		l.printf("run %d of %d: polled up to %v, pushed %.2g ms", run+1, l.runs, slices.Max(polled), handed[run])
	}
	return []claim.Claim{{
		ID: "dispatch", Source: sourceTech + ", Latency Breakdown",
		Text: "From pending to dispatched a task waits 0 to 5 s: at most the interval of polling.",
		Method: fmt.Sprintf("an idle engine on push that polls every %v, standing for the 5 s, and instances of one action: stored by a process that tells nobody, "+
			"at random moments, from the commit to the start; and submitted to the engine itself, from the call of Submit to the start. %d of each in a run.", pollEvery, tasks),
		Figures: []claim.Figure{
			claim.Figure{Name: "polled, longest wait in intervals", Bound: claim.AtMost, Claimed: 1.1}.Measure(longest),
			claim.Figure{Name: "polled, mean wait in intervals", Bound: claim.About, Claimed: 0.5, Tolerance: 0.25}.Measure(mean),
			claim.Figure{Name: "pushed, median wait", Unit: "ms", Bound: claim.Alongside}.Measure(handed),
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

type bed struct {
	*stage
	other   backend.Backend
	one     workload
	started chan time.Time
}

func newBed(ctx context.Context, l *lab) (*bed, error) {
	b := &bed{started: make(chan time.Time, 1)}
	var err error
	if b.one, err = newWorkload("chain", 1); err != nil {
		return nil, err
	}
	if b.stage, err = newStage(ctx, l.cfg.DSN, push, engine.Config{Poll: pollEvery, Observer: engine.Observer{
		Started: func(_ backend.Task, at time.Time) {
			select {
			case b.started <- at:
			default: // a second attempt, not awaited
			}
		},
	}}); err != nil {
		return nil, err
	}
	if b.other, err = b.open(ctx, push); err != nil {
		b.stage.close(ctx)
		return nil, err
	}
	return b, nil
}

func (b *bed) close(ctx context.Context) {
	b.other.Close()
	b.stage.close(ctx)
}

// run returns the waits of so many tasks of both kinds, alternately.
func (b *bed) run(ctx context.Context, tasks int, seed uint64) (polled, pushed []time.Duration, err error) {
	random := rand.New(rand.NewPCG(seed, 1))
	for range tasks {
		if err := pause.For(ctx, time.Duration(random.Int64N(int64(pollEvery)))); err != nil {
			return nil, nil, err
		}
		wait, err := b.task(ctx, func(id uuid.UUID) (time.Time, error) {
			_, err := b.other.Submit(ctx, []backend.Submission{{ID: id, Program: b.one.program, Input: b.one.Input}}, backend.Grant{Owner: "nobody", Lease: time.Second})
			return time.Now(), err
		})
		if err != nil {
			return nil, nil, err
		}
		polled = append(polled, wait)
		if wait, err = b.task(ctx, func(id uuid.UUID) (time.Time, error) {
			from := time.Now()
			_, err := b.engine.Submit(ctx, engine.SubmitRequest{ID: id, Program: b.one.program, Input: b.one.Input})
			return from, err
		}); err != nil {
			return nil, nil, err
		}
		pushed = append(pushed, wait)
	}
	return polled, pushed, nil
}

// task runs an instance to its end and returns its task's wait until it started.
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
	return max(at.Sub(from), 0), b.one.check(in)
}
