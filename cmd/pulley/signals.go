package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i *interrupted) Error() string {
	if i.signal == syscall.SIGINT {
		return "interrupted"
	}
	return fmt.Sprintf("ended by a signal (%v)", i.signal)
}

// interruptible gives a context that ends at the first signal that asks the program to end. After it
// signals have their usual effect again, so that a second one is not waited for. A command calls it
// once it has read its input, which no context could interrupt. The function lets go of the signals.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case s := <-signals:
			signal.Stop(signals)
			sig, _ := s.(syscall.Signal)
			cancel(&interrupted{sig})
		case <-ctx.Done():
			signal.Stop(signals)
		}
	}()
	return ctx, func() {
		cancel(context.Canceled)
		<-done
	}
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
