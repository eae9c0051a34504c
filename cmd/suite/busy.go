package main

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
)

// busyCmd keeps one processor busy. It ends when its standard input does, and so with who started it.
type busyCmd struct{}

// Run computes nothing of use.
func (busyCmd) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // it ends with the program
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	for n := uint64(1); ; n = n*6364136223846793005 + 1442695040888963407 {
		if n%(1<<20) == 0 && ctx.Err() != nil {
			return nil
		}
	}
}

// loopsPerProcessor is how much other work a busy machine has.
const loopsPerProcessor = 2

// besideLoops has work run beside two busy loops for each processor.
func (p *place) besideLoops(ctx context.Context, work func() error) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	alive, hold, err := os.Pipe()
	if err != nil {
		return err
	}
	loops, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range loopsPerProcessor * processors() {
		all.Go(func() { _ = p.run(loops, command{args: []string{self, "busy"}, stdin: alive}) }) // it ends by our order
	}
	err = work()
	err = errors.Join(err, hold.Close(), alive.Close())
	all.Wait()
	cancel()
	return err
}
