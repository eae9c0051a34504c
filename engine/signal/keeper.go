package signal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

// Keeper is an engine's part in the waits of a store. It is safe for concurrent use.
type Keeper struct {
	Store Store
	Owner string // the engine

	// Hold is for how long what the engine begins with a wait is its own: how late another continues if the engine is killed.
	// Positive.
	Hold time.Duration
}

// rest is for how long a wait rests without a signal. Then its node run is delivered again.
const rest = 5 * time.Minute

// waitsAtOnce bounds the waits of a turn.
const waitsAtOnce = 500

// Outcome is what a delivery of a wait came to.
type Outcome struct {
	Returned bool            // the task was returned, or its lease is lost: forget it; else complete it
	Due      bool            // of a returned task: take a turn at once
	Result   json.RawMessage // the signal's value, unless Failure is set
	Failure  *plan.Failure
}

// Wait handles a leased task of Action: it completes if the signal is there or the time is over, and otherwise returns the task to
// the store. After an error it may be called again, while the lease lasts, unless the task was returned: then the error needs nothing.
func (k *Keeper) Wait(ctx context.Context, t backend.Task) (out Outcome, err error) {
	name, err := nameOf(t.Args)
	if err != nil {
		return k.failed(t, worker.TypeArgument, err.Error()), nil
	}
	w := backend.SignalWait{Lease: t.Lease, Attempt: t.Attempt, Name: name}
	timeout := timeoutOf(t)
	if err := k.Store.StoreWait(ctx, w, timeout, k.Hold); err != nil {
		return out, fmt.Errorf("storing a wait for signal %q: %w", name, err)
	}
	w, now, stored, err := k.Store.TakeSignal(ctx, w, k.Hold)
	switch {
	case err != nil:
		return out, fmt.Errorf("taking signal %q: %w", name, err)
	case !stored: // the task was delivered again
		return Outcome{Returned: true}, nil
	case w.State == backend.Received:
		return k.keep(ctx, w)
	case w.State == backend.TimedOut:
		return k.failed(t, worker.TypeTimeout, fmt.Sprintf("no signal %q came within the timeout of %v", name, timeout)), nil
	}
	pause := rest
	if !w.Deadline.IsZero() {
		pause = min(pause, max(w.Deadline.Sub(now), time.Millisecond))
	}
	return k.returnTask(ctx, w, pause)
}

func (k *Keeper) failed(t backend.Task, kind, message string) Outcome {
	node := t.Program.Graph().Nodes[t.Lease.Key.Run.Node]
	return Outcome{Failure: &plan.Failure{Type: kind, Message: message, Action: t.Action, Pos: node.Pos}}
}

// keep completes a wait that has a signal, unless its node run was cancelled before it took it: then the signal is for others.
func (k *Keeper) keep(ctx context.Context, w backend.SignalWait) (out Outcome, err error) {
	open, err := k.Store.MakeDue(ctx, backend.ShardOf(w.Lease.Key.Instance, k.Store.Shards()), []backend.Key{w.Lease.Key})
	switch {
	case err != nil:
		return out, fmt.Errorf("looking whether the wait for signal %q was cancelled: %w", w.Name, err)
	case open[0]:
		return Outcome{Result: w.Value}, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.Hold) // the task's context ends with its lease
	defer cancel()
	if err := k.Store.ReturnSignal(ctx, w); err != nil {
		return out, fmt.Errorf("returning signal %q, whose wait was cancelled: %w", w.Name, err)
	}
	return Outcome{Returned: true, Due: true}, nil
}

// returnTask returns a lease, after which it looks for a signal once more: of one that came before, the node run was not made due.
func (k *Keeper) returnTask(ctx context.Context, w backend.SignalWait, pause time.Duration) (out Outcome, err error) {
	shard := backend.ShardOf(w.Lease.Key.Instance, k.Store.Shards())
	if _, err := k.Store.Renew(ctx, shard, []backend.Lease{w.Lease}, backend.Grant{Owner: k.Owner, Pause: pause}); err != nil {
		return out, fmt.Errorf("returning a wait for signal %q: %w", w.Name, err)
	}
	out.Returned = true
	if out.Due, err = k.Store.RestWait(ctx, w, pause+k.Hold); err != nil {
		err = fmt.Errorf("looking once more for signal %q, left to a turn in %v: %w", w.Name, k.Hold, err)
	}
	return out, err
}

// Turn makes node runs due whose waits are, and removes what is left of those that are over. It reports whether it made some due, and
// whether more waits may be due.
func (k *Keeper) Turn(ctx context.Context) (woken, more bool, err error) {
	claimed, err := k.Store.ClaimWaits(ctx, waitsAtOnce, k.Hold)
	if err != nil {
		return false, false, fmt.Errorf("claiming waits for signals: %w", err)
	}
	shards := make([][]backend.SignalWait, k.Store.Shards())
	for _, w := range claimed.Waits {
		shard := backend.ShardOf(w.Lease.Key.Instance, len(shards))
		shards[shard] = append(shards[shard], w)
	}
	var errs []error
	for shard, waits := range shards {
		if len(waits) == 0 {
			continue
		}
		some, err := k.wake(ctx, shard, waits)
		woken, errs = woken || some, append(errs, err)
	}
	errs = append(errs, k.removeEnded(ctx, claimed.Instances))
	return woken, claimed.More, errors.Join(errs...)
}

func (k *Keeper) wake(ctx context.Context, shard int, waits []backend.SignalWait) (woken bool, err error) {
	keys := make([]backend.Key, len(waits))
	for i, w := range waits {
		keys[i] = w.Lease.Key
	}
	open, err := k.Store.MakeDue(ctx, shard, keys)
	if err != nil {
		return false, fmt.Errorf("making node runs due that wait for signals: %w", err)
	}
	var over []backend.SignalWait
	for i, w := range waits {
		if woken = woken || open[i]; !open[i] {
			over = append(over, w)
		}
	}
	if len(over) > 0 {
		if err := k.Store.RemoveWaits(ctx, over); err != nil {
			return woken, fmt.Errorf("removing waits for signals: %w", err)
		}
	}
	return woken, nil
}

// removeEnded removes the signals of instances that have ended.
func (k *Keeper) removeEnded(ctx context.Context, instances []uuid.UUID) error {
	if len(instances) == 0 {
		return nil
	}
	found, err := k.Store.Lookup(ctx, instances)
	if err != nil {
		return fmt.Errorf("looking up instances with signals: %w", err)
	}
	var ended []uuid.UUID
	for i, in := range found {
		if in.Status != backend.Running {
			ended = append(ended, instances[i])
		}
	}
	if len(ended) == 0 {
		return nil
	}
	if err := k.Store.RemoveSignals(ctx, ended); err != nil {
		return fmt.Errorf("removing signals of ended instances: %w", err)
	}
	return nil
}
