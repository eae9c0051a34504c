package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"pulley/bench/load"
	"pulley/bench/stages"
	"pulley/bench/systems"
	"pulley/engine"
	"pulley/engine/backend"
)

// carrier takes the instances of one run under load to a testbed's engines, or to a system's processes, and knows what became of
// them.
type carrier interface {
	// begin begins the run. ended is called for each instance that has ended, with what is wrong with that.
	begin(ended func(wrong error)) time.Time
	// end ends what begin began. No call of ended follows.
	end()
	// watchOver returns when ctx ends, or with an error if the run cannot continue. It receives ends.
	watchOver(ctx context.Context) error
	// parts are engines or processes, which take instances in turn.
	parts() int
	// submit submits instances to a part, and returns when they are stored.
	submit(ctx context.Context, part int, instances []int) error
	// request is what became of an instance, without the time that was intended.
	request(i int) load.Request
	// stages of node runs; nil: none are known.
	stages() *stages.Recorder
	// doubts say why the run counts for nothing, and notes what else is worth knowing.
	doubts() []string
	notes() []string
}

// engineCarrier submits to engines.
type engineCarrier struct {
	bed   *Testbed
	watch *watch
	ended func(wrong error)
}

func (c *engineCarrier) begin(ended func(error)) time.Time {
	c.ended = ended
	c.watch.begin()
	c.bed.relay.watch.Store(c.watch)
	return c.watch.began
}

func (c *engineCarrier) end() { c.bed.relay.watch.Store(nil) }

func (c *engineCarrier) parts() int { return len(c.bed.workers.engines) }

func (c *engineCarrier) submit(ctx context.Context, part int, instances []int) error {
	e := c.bed.workers.engines[part]
	var requests []engine.SubmitRequest
	for _, i := range instances {
		id := c.watch.newID(i, e.IsLocal)
		c.watch.submit(i, id, 0)
		requests = append(requests, c.bed.batch.request(i, id))
	}
	if _, err := e.SubmitAll(ctx, requests); err != nil {
		return fmt.Errorf("submitting: %w", err)
	}
	return nil
}

// watchOver receives ends, and asks for one that nothing reported.
func (c *engineCarrier) watchOver(ctx context.Context) error {
	var asking sync.WaitGroup
	defer asking.Wait()
	timer := time.NewTimer(unheard)
	defer timer.Stop()
	for {
		var in backend.Instance
		select {
		case in = <-c.watch.ended:
			timer.Reset(unheard)
		case <-timer.C:
			asking.Go(func() { c.watch.query(ctx, c.bed.workers.engines[0]) })
			timer.Reset(unheard)
			continue
		case <-ctx.Done():
			return nil
		}
		c.watch.note(in.ID, time.Now())
		c.ended(c.bed.batch.check(c.watch.number(in.ID), in))
	}
}

func (c *engineCarrier) request(i int) load.Request {
	a := &c.watch.instances[i]
	a.mu.Lock()
	defer a.mu.Unlock()
	return load.Request{Sent: time.Duration(a.submitted), Stored: time.Duration(a.stored), Ended: time.Duration(a.received)}
}

func (c *engineCarrier) stages() *stages.Recorder { return c.watch.stages }

func (c *engineCarrier) doubts() []string { return c.watch.doubts() }

func (c *engineCarrier) notes() []string { return c.watch.notes() }

// fleetCarrier submits to a system's processes.
type fleetCarrier struct {
	bed       *Testbed
	instances int
	tracker   *systems.Tracker
}

func newFleetCarrier(bed *Testbed, instances int) *fleetCarrier {
	return &fleetCarrier{bed: bed, instances: instances}
}

func (c *fleetCarrier) begin(ended func(error)) time.Time {
	c.tracker = c.bed.fleet.Track(c.bed.graphs, reportOf(""), c.instances, func(_ int, _ time.Duration, wrong error) { ended(wrong) })
	return c.tracker.Began()
}

func (c *fleetCarrier) end() { c.bed.fleet.End(c.tracker) }

func (c *fleetCarrier) parts() int { return c.bed.spec.Engines }

func (c *fleetCarrier) submit(ctx context.Context, part int, instances []int) error {
	return c.bed.fleet.Submit(ctx, part, c.tracker, instances)
}

func (c *fleetCarrier) watchOver(ctx context.Context) error { return c.bed.fleet.Watch(ctx, c.tracker) }

func (c *fleetCarrier) request(i int) load.Request {
	t := c.tracker.Times(i)
	return load.Request{Sent: t.Sent, Stored: t.Stored, Ended: t.Ended}
}

func (c *fleetCarrier) stages() *stages.Recorder { return nil }

func (c *fleetCarrier) doubts() []string { return nil }

func (c *fleetCarrier) notes() []string { return c.tracker.Notes() }
