package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

// consumer is a process's subconsumer: it takes a batch, has its slots execute the events, finishes the batch, and takes the next.
type consumer struct {
	*system
	name    string
	slots   int
	quit    chan struct{} // is closed when no more events are taken
	ended   chan struct{} // is closed when none is at work
	abandon context.CancelFunc
}

func (c *consumer) start(ctx context.Context, s *system, session adapter.Session) {
	*c = consumer{
		system: s, name: fmt.Sprintf("process%d", session.Process), slots: session.Slots, quit: make(chan struct{}), ended: make(chan struct{}),
	}
	ctx, c.abandon = context.WithCancel(ctx)
	go func() {
		defer close(c.ended)
		c.consume(ctx)
	}()
}

// close waits for events at work until ctx ends.
func (c *consumer) close(ctx context.Context) error {
	close(c.quit)
	defer context.AfterFunc(ctx, c.abandon)()
	<-c.ended
	c.abandon()
	return context.Cause(ctx)
}

func (c *consumer) isQuitting() bool {
	select {
	case <-c.quit:
		return true
	default:
		return false
	}
}

// consume works on batches until the process ends.
func (c *consumer) consume(ctx context.Context) {
	for !c.isQuitting() && ctx.Err() == nil {
		worked, err := c.work(ctx)
		wait := c.settings.poll
		switch {
		case worked:
			continue
		case err != nil && ctx.Err() == nil:
			c.env.Problem(err)
			wait = max(wait, pauseMost)
		}
		select {
		case <-time.After(wait):
		case <-c.quit:
		case <-ctx.Done():
		}
	}
}

// work takes a batch and finishes it. It reports whether it did: after false there is none, or another try may succeed later.
func (c *consumer) work(ctx context.Context) (bool, error) {
	batch, err := c.db.nextBatch(ctx, c.name, c.settings.dead)
	if err != nil || batch == 0 {
		return false, err
	}
	living, stop := context.WithCancel(ctx)
	var life sync.WaitGroup
	life.Go(func() { c.live(living) })
	defer life.Wait()
	defer stop()
	events, err := c.db.events(ctx, batch)
	if err != nil || !c.executeAll(ctx, events) {
		return false, err
	}
	if err := c.db.finish(ctx, batch, events, c.settings.retryAfter, c.settings.trusting); err != nil {
		return false, fmt.Errorf("finishing batch %d: %w", batch, err)
	}
	if c.settings.trusting {
		for _, e := range events {
			c.reportEnd(e)
		}
	}
	return true, nil
}

// live gives signs of life while a batch is at work. If the batch was lost to another process, it may bring the next one, which
// stays the subconsumer's.
func (c *consumer) live(ctx context.Context) {
	for pause(ctx, c.settings.dead/4) == nil {
		if _, err := c.db.nextBatch(ctx, c.name, 0); err != nil && ctx.Err() == nil {
			c.env.Problem(fmt.Errorf("a sign of life: %w", err))
		}
	}
}

// executeAll has slots execute events, and reports whether all have been executed.
func (c *consumer) executeAll(ctx context.Context, events []*event) bool {
	taken := make(chan *event)
	var executed atomic.Int64
	var slots sync.WaitGroup
	for range min(c.slots, len(events)) {
		slots.Go(func() {
			for e := range taken {
				e.failed = c.execute(ctx, e) != nil
				executed.Add(1)
			}
		})
	}
	c.feed(ctx, events, taken)
	slots.Wait()
	return int(executed.Load()) == len(events) && ctx.Err() == nil
}

// feed gives events to slots until the process is to end.
func (c *consumer) feed(ctx context.Context, events []*event, taken chan<- *event) {
	defer close(taken)
	for _, e := range events {
		if c.isQuitting() {
			return
		}
		select {
		case taken <- e:
		case <-c.quit:
			return
		case <-ctx.Done():
			return
		}
	}
}

// execute executes an event, and stores its task's value. An event that was executed before comes again when its batch was not
// finished: then nothing is to be done but to report an end, which the process that knew of it may not have done.
func (c *consumer) execute(ctx context.Context, e *event) (err error) {
	if !e.done || c.settings.trusting {
		if e.value, err = c.env.Execute(ctx, e.Execution); err != nil {
			return err
		}
	}
	if c.settings.trusting {
		return nil // finish stores it
	}
	if !e.done {
		if err := adapter.Persist(ctx, answerWithin, c.env.Problem, func(ctx context.Context) error { return c.db.complete(ctx, e, e.value) }); err != nil {
			return err
		}
	}
	c.reportEnd(e)
	return nil
}

func (c *consumer) reportEnd(e *event) {
	if e.end != nil {
		c.env.Ended(e.Instance, protocol.Completed, *e.end)
	}
}
