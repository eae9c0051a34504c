package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pulley/bench/measure"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/reports/record"
)

// clients submit instances and wait for them, one each. A few goroutines serve all clients: some submit, one receives.
type clients struct {
	watch   *watch
	batch   *instanceBatch
	engines []*engine.Engine
	gate    *gate
	next    atomic.Int64
	stored  atomic.Int64
	idle    chan int // clients without an instance
	list    []client
}

type client struct {
	count  int
	waited time.Duration
}

const submittersMax = 256

// unheard is the time without an ended instance after which the store is queried: an instance whose COMMIT was lost in transit
// ends without a notification.
const unheard = 15 * time.Second

func newClients(w *watch, lot *instanceBatch, engines []*engine.Engine, gate *gate) *clients {
	count := cap(w.ended)
	c := &clients{watch: w, batch: lot, engines: engines, gate: gate, list: make([]client, count), idle: make(chan int, count)}
	for i := range count {
		c.idle <- i
	}
	return c
}

// run runs all instances and returns what was wrong. The first error makes the run invalid and stops it.
func (c *clients) run(ctx context.Context) []error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu       sync.Mutex
		problems []error
		wg       sync.WaitGroup
	)
	begin := func(work func(context.Context) error) {
		wg.Go(func() {
			if err := work(ctx); err != nil {
				mu.Lock()
				if len(problems) == 0 || !errors.Is(err, context.Canceled) {
					problems = append(problems, err)
				}
				mu.Unlock()
				cancel()
			}
		})
	}
	for range min(len(c.list), submittersMax) {
		begin(c.submit)
	}
	begin(c.receive)
	wg.Wait()
	return problems
}

func (c *clients) submit(ctx context.Context) error {
	for {
		i := int(c.next.Add(1) - 1)
		if i >= len(c.watch.instances) {
			return nil
		}
		var one int
		select {
		case one = <-c.idle:
		case <-ctx.Done():
			return fmt.Errorf("waiting for instances to end: %w", context.Cause(ctx))
		}
		id := c.watch.newID(i, c.engine(one).IsLocal)
		c.watch.submit(i, id, one)
		if _, err := c.engine(one).Submit(ctx, c.batch.request(i, id)); err != nil {
			return fmt.Errorf("submitting: %w", err)
		}
		if c.stored.Add(1) == int64(len(c.list)) {
			c.gate.open()
		}
	}
}

func (c *clients) engine(client int) *engine.Engine { return c.engines[client%len(c.engines)] }

func (c *clients) receive(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	timer := time.NewTimer(unheard)
	defer timer.Stop()
	for range c.watch.instances {
		timer.Reset(unheard)
		var in backend.Instance
		for in.Status == "" {
			select {
			case in = <-c.watch.ended:
			case <-ctx.Done():
				return fmt.Errorf("waiting for instances to end: %w", context.Cause(ctx))
			case <-timer.C:
				asking.Go(func() { c.watch.query(ctx, c.engines[0]) })
			}
		}
		one, waited := c.watch.received(in.ID, time.Now())
		c.list[one].count++
		c.list[one].waited += waited
		c.idle <- one
		if err := c.batch.check(c.watch.number(in.ID), in); err != nil {
			return err
		}
	}
	return nil
}

// fairness compares the clients' mean waiting times; nil for one client.
func (c *clients) fairness() *float64 {
	waited, results := make([]time.Duration, len(c.list)), make([]int, len(c.list))
	for i, one := range c.list {
		waited[i], results[i] = one.waited, one.count
	}
	return measure.WaitRatio(waited, results)
}

// applied has a count for each engine.
func (c *clients) fair(s *record.Sample, applied []int64) {
	f := record.Fairness{Instances: c.fairness()}
	if least, most := minmax(applied); len(applied) > 1 && least > 0 {
		ratio := float64(most) / float64(least)
		f.Engines = &ratio
	}
	if f != (record.Fairness{}) {
		s.Fairness = &f
	}
}

func minmax(values []int64) (least, most int64) {
	least, most = values[0], values[0]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	return least, most
}
