package ceiling

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"pulley/bench/histogram"
	"pulley/reports/record"
)

// writer is one connection and one way.
type writer interface {
	fill(ctx context.Context) error
	// A call's completions are durable when it returns nil.
	call(ctx context.Context) error
	// batch counts a call's completions, tally what all calls so far have made durable.
	batch() int64
	tally() tally
	close(ctx context.Context)
}

func (p *point) measure(ctx context.Context, s *scratch, d time.Duration) (rate float64, err error) {
	if err := s.empty(ctx); err != nil {
		return 0, err
	}
	writers := make([]writer, 0, p.connections)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropWithin)
		defer cancel()
		for _, w := range writers {
			w.close(ctx)
		}
	}()
	for shard := range p.connections {
		w, err := open(ctx, s, p, shard)
		if err != nil {
			return 0, err
		}
		writers = append(writers, w)
		if err := w.fill(ctx); err != nil {
			return 0, err
		}
	}
	if rate, err = race(ctx, writers, d); err != nil {
		return 0, err
	}
	var all tally
	for _, w := range writers {
		all.add(w.tally())
	}
	return rate, s.check(ctx, all)
}

// race adds up the writers' rates. Each writes until the last has its figure.
func race(ctx context.Context, writers []writer, d time.Duration) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		begin = time.Now()
		rates = make([]float64, len(writers))
		errs  = make([]error, len(writers))
		open  atomic.Int64
		all   sync.WaitGroup
	)
	open.Store(int64(len(writers)))
	for i, w := range writers {
		all.Go(func() {
			if rates[i], errs[i] = rateOf(ctx, w, begin, d, &open); errs[i] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum, first(errs)
}

func rateOf(ctx context.Context, w writer, begin time.Time, d time.Duration, open *atomic.Int64) (float64, error) {
	for some := false; !some || time.Since(begin) < d/4; some = true { // the first call prepares statements
		if err := w.call(ctx); err != nil {
			return 0, err
		}
	}
	start, calls := time.Now(), 0
	for calls == 0 || time.Since(begin) < d+d/4 {
		if err := w.call(ctx); err != nil {
			return 0, err
		}
		calls++
	}
	elapsed := time.Since(start)
	open.Add(-1)
	for open.Load() > 0 {
		if err := w.call(ctx); err != nil {
			return 0, err
		}
	}
	return float64(calls) * float64(w.batch()) / elapsed.Seconds(), nil
}

// first returns the error that caused the cancellation, if there is one.
func first(errs []error) error {
	var canceled error
	for _, err := range errs {
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled):
			canceled = err
		default:
			return err
		}
	}
	return canceled
}

var idleKinds = []string{record.IdleCommit, record.IdleTransaction, record.IdleCall, record.IdleAppend}

var idleWays = map[string]string{
	record.IdleCommit:      probeWay,
	record.IdleTransaction: record.CeilingStatements,
	record.IdleCall:        record.CeilingCall,
	record.IdleAppend:      record.CeilingAppend,
}

// Nothing else runs during measureIdle.
func measureIdle(ctx context.Context, lots map[string]*scratch, what string, d time.Duration, into *histogram.Hist) error {
	way := idleWays[what]
	s := lots[ways[way].design]
	if err := s.empty(ctx); err != nil {
		return err
	}
	w, err := open(ctx, s, &point{way: way, batch: 1, connections: 1, shape: shape{writes: FanOut(fanOutWidth)}}, 0)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropWithin)
		defer cancel()
		w.close(ctx)
	}()
	if err := w.fill(ctx); err != nil {
		return err
	}
	begin := time.Now()
	for counted := 0; counted == 0 || time.Since(begin) < d+d/4; {
		start := time.Now()
		if err := w.call(ctx); err != nil {
			return err
		}
		if start.Sub(begin) >= d/4 {
			into.Record(time.Since(start))
			counted++
		}
	}
	return s.check(ctx, w.tally())
}
