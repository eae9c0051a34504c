package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i *interrupted) Error() string {
	if i.signal == syscall.SIGINT {
		return "interrupted"
	}
	return fmt.Sprintf("ended by a signal (%v)", i.signal)
}

// deafness is how long further signals are let pass after the first: who sends one to a command and to
// its process group, as timeout does, means it once.
const deafness = time.Second

// interruptible gives a context that ends at the first signal that asks the program to end. A little
// later signals have their usual effect again, so that a second one is not waited for. A command calls
// it once it has read its input, which no context could interrupt. The function lets go of the signals.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	finish, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer signal.Stop(signals)
		select {
		case s := <-signals:
			sig, _ := s.(syscall.Signal)
			cancel(&interrupted{sig})
		case <-finish:
			return
		}
		timer := time.NewTimer(deafness)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-finish:
		}
	}()
	return ctx, sync.OnceFunc(func() {
		close(finish)
		<-done
		cancel(context.Canceled)
	})
}

// ended gives the error of a command whose context may have ended: where a signal did it, one with the
// signal's status, which tells what err does if it comes from the signal, and err itself otherwise.
func ended(ctx context.Context, err error) error {
	var by *interrupted
	if !errors.As(context.Cause(ctx), &by) {
		return err
	}
	if !errors.Is(err, by) {
		err = by
	}
	return &status{code: 128 + int(by.signal), err: err}
}
