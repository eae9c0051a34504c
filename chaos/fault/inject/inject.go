package inject

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"pulley/chaos/fault"
	"pulley/internal/pause"
)

// TriesMax bounds the tries of a fault whose moment does not come.
const TriesMax = 8

// Pauses between the tries of a fault, which double: what kept one from happening, such as a kernel too busy to freeze all processes,
// may last.
const (
	retryPauseMin = 25 * time.Millisecond
	retryPauseMax = 2 * time.Second
)

// failedWithin is how long an error may still be in flight after a fault.
const failedWithin = 3 * time.Second

// Injector injects faults into one run, whose functions it calls. It is used by one goroutine at a time.
type Injector struct {
	World  fault.World
	Ledger *fault.Ledger // of the world's wires

	Happened map[string]int // how often faults happened, by kind; counted here
	Missed   map[string]int // tries of faults whose moment did not come, by kind; counted here

	// Within returns how long a fault may take that begins now.
	Within func(fault.Fault) time.Duration

	// IsOver reports whether a fault that was missed is not tried again.
	IsOver func() bool

	// Await waits for the event at which a fault is to begin, but not without limit. Nil: the run has no events.
	Await func(context.Context, fault.When)

	// Begin notes that a try begins.
	Begin func(fault.Fault) Note

	why error // of the last try that was missed
}

// Missing says that a fault did not happen in TriesMax tries, and why the last one did not, if that is known.
func (in *Injector) Missing(f fault.Fault) string {
	text := fmt.Sprintf("%s, did not happen in %d tries", f, TriesMax)
	if in.why != nil && in.why != fault.ErrMissed { // that error says nothing more
		text += ", the last time since: " + in.why.Error()
	}
	return text
}

// Note is what a run notes of a try. No function is nil.
type Note struct {
	Over func()        // the fault happened once more; called concurrently
	End  func(Outcome) // the try is over, whatever came of it
}

// Outcome is what came of a try.
type Outcome struct {
	Happened bool
	Count    int            // how often
	Failed   map[string]int // the server's errors that reached engines, by SQLSTATE
}

// Overtime is the error of a fault that failed because it took longer than Injector.Within allows.
type Overtime struct{ Err error }

// Error implements error.
func (o *Overtime) Error() string { return o.Err.Error() }

// Unwrap returns the fault's error.
func (o *Overtime) Unwrap() error { return o.Err }

// Inject tries a fault until it happens. One at the K-th of something is tried sooner each time.
func (in *Injector) Inject(ctx context.Context, kind fault.Kind, f fault.Fault) (happened bool, err error) {
	for try := 0; try < TriesMax && (try == 0 || !in.IsOver()); try++ {
		if happened, err = in.try(ctx, kind, f); happened || err != nil {
			return happened, err
		}
		if kind.Nth {
			f.K = max(1, f.K/2) // its moment may be too far off
		}
		_ = pause.For(ctx, min(retryPauseMin<<try, retryPauseMax))
	}
	return false, nil
}

// try injects a fault once.
func (in *Injector) try(ctx context.Context, kind fault.Kind, f fault.Fault) (happened bool, err error) {
	_ = pause.For(ctx, time.Duration(f.When.AfterMS)*time.Millisecond)
	if in.Await != nil && f.When.Event != "" {
		in.Await(ctx, f.When)
	}
	injecting, cancel := context.WithTimeout(ctx, in.Within(f))
	defer cancel()
	note, out := in.Begin(f), Outcome{}
	defer func() { note.End(out) }()
	before := in.Ledger.Failed()
	var count atomic.Int64
	err = kind.Inject(injecting, in.World, f, func() {
		note.Over()
		count.Add(1)
	})
	if err == nil {
		out.Failed, err = in.awaitFailure(ctx, kind, before)
	}
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, fault.ErrMissed):
		in.Missed[f.Kind]++
		in.why = err
		return false, nil
	case err != nil && injecting.Err() != nil:
		return false, &Overtime{err}
	case err != nil:
		return false, err
	}
	out.Happened, out.Count = true, int(count.Load())
	in.Happened[f.Kind] += out.Count
	return true, nil
}

// awaitFailure waits until an error that a kind of fault must cause has reached an engine, and counts the errors since before. It
// returns fault.ErrMissed if there was none.
func (in *Injector) awaitFailure(ctx context.Context, kind fault.Kind, before map[string]int) (failed map[string]int, err error) {
	after := in.Ledger.Failed()
	for end := time.Now().Add(failedWithin); !kind.HasHappened(before, after) && time.Now().Before(end) && ctx.Err() == nil; after = in.Ledger.Failed() {
		_ = pause.For(ctx, time.Millisecond)
	}
	failed = map[string]int{}
	for state, n := range after {
		if more := n - before[state]; more > 0 {
			failed[state] = more
		}
	}
	if !kind.HasHappened(before, after) {
		err = fault.ErrMissed
	}
	return failed, err
}
