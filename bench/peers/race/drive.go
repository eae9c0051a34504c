package race

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"pulley/bench/measure"
	"pulley/bench/peers/peer"
)

// submitMost bounds the instances of a submission.
const submitMost = 1000

// driver starts instances on an open system and receives their ends.
type driver struct {
	work   *peer.Work
	system peer.System
	epoch  time.Time
	began  []atomic.Int64 // since epoch, by instance
	took   []atomic.Int64
	ends   chan struct{} // has capacity for all

	submitters int // concurrent submissions
}

func newDriver(w peer.Workload, most, submitters int) *driver {
	d := &driver{submitters: max(1, submitters), epoch: time.Now(), began: make([]atomic.Int64, most), took: make([]atomic.Int64, most), ends: make(chan struct{}, most)}
	d.work = peer.NewWork(w, most, func(instance int, at time.Time) {
		d.took[instance].Store(int64(at.Sub(d.epoch)) - d.began[instance].Load())
		d.ends <- struct{}{}
	})
	return d
}

// drive runs count instances from first on, at most inFlight at once, and returns the time from the first submission to the
// last end. An error ends it early.
func (d *driver) drive(ctx context.Context, first, count, inFlight int) (time.Duration, error) {
	begin := time.Now()
	submits := make(chan error, d.submitters) // of those under way
	begun, ended, busy := 0, 0, 0
	var failed error
	for failed == nil && ended < count {
		if room := min(inFlight-(begun-ended), count-begun, submitMost); room > 0 && busy < d.submitters {
			d.submit(ctx, first+begun, room, submits)
			begun, busy = begun+room, busy+1
			continue
		}
		select {
		case <-d.ends:
			ended += 1 + d.drain()
		case failed = <-submits:
			busy--
		case <-d.work.Failed():
			failed = d.work.Problem()
		case <-ctx.Done():
			failed = fmt.Errorf("%d of %d instances had ended: %w", ended, count, context.Cause(ctx))
		}
	}
	took := time.Since(begin)
	for range busy {
		failed = cmp.Or(failed, <-submits)
	}
	return took, failed
}

// submit starts some instances from a goroutine that reports the result.
func (d *driver) submit(ctx context.Context, first, count int, done chan<- error) {
	now := int64(time.Since(d.epoch))
	for i := range count {
		d.began[first+i].Store(now)
	}
	go func() {
		err := d.system.Submit(ctx, first, count)
		if err != nil {
			err = fmt.Errorf("submitting: %w", err)
		}
		done <- err
	}()
}

// drain counts the reported ends.
func (d *driver) drain() int {
	n := 0
	for {
		select {
		case <-d.ends:
			n++
		default:
			return n
		}
	}
}

func (d *driver) latencies(first, count int) *measure.Hist {
	h := measure.NewHist()
	for i := range count {
		h.Record(time.Duration(d.took[first+i].Load()))
	}
	return h
}
