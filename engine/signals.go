package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/engine/signal"
)

// Pauses between turns with signals: the longest, which is how late a signal is found of which no notification comes, and the least.
const (
	signalPoll  = 250 * time.Millisecond
	signalPause = 100 * time.Millisecond
)

var errNoSignals = errors.New("engine: Config.Signals is not set")

// Signal sends a signal to a running instance, in which a call of worker.WaitSignal takes it, and reports whether it is new. Of
// signals with the same key, an instance gets the first only; an empty key is none. The value is JSON; nil means null. Signal fails
// with ErrUnknownInstance, and with signal.ErrInstanceEnded. If it fails without an answer of the store, repeat it: without a key, the
// signal may be there twice.
func (e *Engine) Signal(ctx context.Context, id uuid.UUID, name string, value json.RawMessage, key string) (bool, error) {
	if err := e.alive(); err != nil {
		return false, err
	}
	if !e.cfg.Signals {
		return false, errNoSignals
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.cfg.CallTimeout, fmt.Errorf("no answer within the %v of CallTimeout", e.cfg.CallTimeout))
	defer cancel()
	created, err := signal.Send(ctx, e.cfg.Backend.(signal.Store), signal.Message{Instance: id, Name: name, Value: value, Key: key})
	if err != nil {
		return false, fmt.Errorf("engine: signal %q: %w", name, err)
	}
	signalOnce(e.wakes)
	return created, nil
}

func (e *Engine) keeper() *signal.Keeper {
	return &signal.Keeper{Store: e.cfg.Backend.(signal.Store), Owner: e.cfg.Owner, Hold: e.cfg.Lease}
}

// waitSignal runs a task that waits for a signal. It tries until the task's lease is lost.
func (e *Engine) waitSignal(ctx context.Context, t backend.Task) (json.RawMessage, *plan.Failure, bool) {
	keeper := e.keeper()
	for pause := e.cfg.RetryMin; ; pause = min(2*pause, e.cfg.RetryMax) {
		calling, cancel := context.WithTimeout(ctx, e.cfg.CallTimeout)
		out, err := keeper.Wait(calling, t)
		cancel()
		if out.Due {
			signalOnce(e.wakes)
		}
		switch {
		case err == nil:
			return out.Result, out.Failure, out.Returned
		case out.Returned:
			e.cfg.Observer.problem(fmt.Errorf("instance %s: %w", t.Lease.Key.Instance, err))
			return nil, nil, true
		}
		if ctx.Err() != nil { // the task is cancelled: its end is dropped
			return nil, nil, true
		}
		e.cfg.Observer.problem(fmt.Errorf("instance %s, tried again in %v: %w", t.Lease.Key.Instance, pause, err))
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// signalTurns handle waits for signals.
func (e *Engine) signalTurns() turns {
	keeper := e.keeper()
	return turns{what: "signals", await: e.awaitSignal, take: func() (time.Duration, error) {
		woken, more, err := e.takeSignalTurn(keeper)
		if woken {
			signalOnce(e.notified)
		}
		if more {
			return 0, err
		}
		return signalPause, err
	}}
}

func (e *Engine) takeSignalTurn(keeper *signal.Keeper) (woken, more bool, err error) {
	ctx, cancel := e.callContext()
	defer cancel()
	woken, more, err = keeper.Turn(ctx)
	return woken, more, explain(ctx, err)
}

func (e *Engine) awaitSignal() {
	timer := time.NewTimer(signalPoll)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.wakes:
	case <-e.scheduling.Done():
	}
}
