package main

import (
	"context"
	"time"
)

// chunks do work of which only the amount can be said, such as a number of programs, until a time. The first chunk is small; from
// then on the speed is known, and each next one takes a third of the time that is left, down to the least.
type chunks struct {
	first int
	least int           // of a chunk
	begun time.Duration // what a chunk costs that does nothing, about
	speed float64       // per second, of the last chunk
}

// next gives the amount of the next chunk; zero when there is no time for another.
func (c *chunks) next(left time.Duration) int {
	if c.speed == 0 {
		if left <= 0 {
			return 0
		}
		return c.first
	}
	left -= c.begun
	if float64(c.least) > c.speed*left.Seconds() {
		return 0
	}
	if n := int(c.speed * left.Seconds() / 3); n > c.least {
		return n
	}
	return c.least
}

// each has work done in chunks until a time. work gets what was done before it, and how much it is to do.
func (c *chunks) each(ctx context.Context, until time.Time, work func(done, amount int) error) error {
	done := 0
	for ctx.Err() == nil {
		amount := c.next(time.Until(until))
		if amount == 0 {
			return nil
		}
		begun := time.Now()
		if err := work(done, amount); err != nil {
			return err
		}
		done += amount
		c.speed = float64(amount) / max(0.001, (time.Since(begun)-c.begun).Seconds())
	}
	return context.Cause(ctx)
}
