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

// signalGrace is how long further signals are ignored: a sender such as timeout signals both a command and its process group.
const signalGrace = time.Second

// Interruptible returns a context that ends at the first terminating signal. After signalGrace signals have their default
// effect again, so that a second one ends the program. A command calls it after reading its input, which no context could
// interrupt. The returned function stops the handling of signals, unless one came: then its grace lasts, since the command still has
// to clean up and to say why it ended.
func Interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	finish, decided := make(chan struct{}), make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			sig, _ := s.(syscall.Signal)
			cancel(&Interrupted{sig})
			close(decided)
			time.Sleep(signalGrace)
			signal.Stop(signals)
		case <-finish:
			signal.Stop(signals)
			close(decided)
		}
	}()
	return ctx, sync.OnceFunc(func() {
		close(finish)
		<-decided
		cancel(context.Canceled)
	})
}

// Ended returns the error of a command whose context may have ended. After a signal it has the signal's status, and contains
// err unless the signal caused err. Otherwise it is err.
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
