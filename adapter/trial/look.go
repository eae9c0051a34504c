package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pulley/adapter/judge"
	"pulley/internal/pause"
)

// Bounds of one question.
const (
	lookMax      = 500
	lookBytesMax = 2 << 20
)

// lookTries is how often a question is repeated that had no answer, with lookPause in between.
const (
	lookTries = 20
	lookPause = 250 * time.Millisecond
)

// lookSize returns how many instances a question may have, so that the answer fits into a line.
func (r *run) lookSize() int {
	most := lookMax
	for i := range r.Workloads {
		if size := r.Workloads[i].Task(r.Workloads[i].Result).Bytes; size > 0 {
			most = min(most, max(1, lookBytesMax/size))
		}
	}
	return most
}

// lookAll asks the processes what the store says of instances.
func (r *run) lookAll(ctx context.Context, ids []string) error {
	for len(ids) > 0 {
		n := min(r.lookSize(), len(ids))
		if err := r.lookSome(ctx, ids[:n]); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// lookSome asks one process after another until one answers.
func (r *run) lookSome(ctx context.Context, ids []string) (err error) {
	for try := range lookTries {
		p := r.world.places[try%len(r.world.places)]
		in := p.working()
		if in == nil {
			err = errors.New("no process works")
		} else if err = r.lookOnce(ctx, p, in, ids); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		_ = pause.For(ctx, lookPause)
	}
	return fmt.Errorf("no process said what became of %d instances, in %d tries: %w", len(ids), lookTries, err)
}

func (r *run) lookOnce(ctx context.Context, p *place, in *incarnation, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	call, err := in.NewLook(ctx, ids)
	if err != nil {
		return err
	}
	number := r.history.incarnationOf(p.number)
	r.history.note(judge.Entry{Kind: judge.Asked, Process: p.number, Incarnation: number, Batch: call.Batch, IDs: ids})
	return r.conclude(ctx, p, in, call, number)
}

// lookOpen asks again and again, until ctx ends, what became of instances that are open for long: the process that knew of an end
// may be dead, and would keep their places in the load.
func (r *run) lookOpen(ctx context.Context) {
	every := max(r.recovers(), endsEvery)
	before := map[string]bool{}
	for pause.For(ctx, every) == nil {
		open := map[string]bool{}
		var long []string
		for _, id := range r.load.openIDs() {
			if open[id] = true; before[id] {
				long = append(long, id)
			}
		}
		before = open
		for _, p := range r.world.places {
			if in := p.working(); in != nil && len(long) > 0 {
				_ = r.lookOnce(ctx, p, in, long[:min(len(long), r.lookSize())]) // the next turn asks another time
				break
			}
		}
	}
}
