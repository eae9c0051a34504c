package console

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

// Interrupted is the cause of a context that a signal ended.
type Interrupted struct{ signal syscall.Signal }

func (i *Interrupted) Error() string {
	if i.signal == syscall.SIGINT {
		return "interrupted"
	}
	return fmt.Sprintf("ended by a signal (%v)", i.signal)
}

// signalGrace is how long further signals are let pass after the first: who sends one to a command and to
// its process group, as timeout does, means it once.
const signalGrace = time.Second

// Interruptible gives a context that ends at the first signal that asks the program to end. A little
// later signals have their usual effect again, so that a second one is not waited for. A command calls
// it once it has read its input, which no context could interrupt. The function lets go of the signals.
func Interruptible() (context.Context, func()) {
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
			cancel(&Interrupted{sig})
		case <-finish:
			return
		}
		timer := time.NewTimer(signalGrace)
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

// Ended gives the error of a command whose context may have ended: where a signal did it, one with the
// signal's status, which tells what err does if it comes from the signal, and err itself otherwise.
func Ended(ctx context.Context, err error) error {
	var by *Interrupted
	if !errors.As(context.Cause(ctx), &by) {
		return err
	}
	if !errors.Is(err, by) {
		err = by
	}
	return &Status{Code: 128 + int(by.signal), Err: err}
}
