package stored

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/internal/pause"
)

// WaitCmd is pulley wait.
type WaitCmd struct {
	ID string `arg:"" name:"id" help:"The instance's id."`
	console.StoreFlags
	console.TimeoutFlag `set:"wait=10m" set:"answer=the end of the instance"`
	console.FormatFlag
}

func (WaitCmd) Help() string {
	return "It needs neither the program nor the actions, and runs nothing: somebody else does, such as pulley work.\n\n" +
		"Exit status: 0 if the instance completed, 1 if it failed or was canceled, 2 if there is no such instance, it cannot be " +
		"reached, or it does not end in time. With statuses 0 and 1 comes what pulley run prints.\n\n" +
		"Example: pulley wait 01a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e6 --dsn postgres://me@localhost/work"
}

func (r *WaitCmd) Run(c *console.Console) error {
	if r.Timeout <= 0 {
		return ErrTimeout(r.Timeout)
	}
	ctx, stop := console.Interruptible()
	defer stop()
	in, err := withStored(ctx, &r.StoreFlags, r.ID, "pulley wait", r.wait)
	if err != nil {
		return console.Ended(ctx, err)
	}
	return PrintEnd(c, in, r.FormatFlag)
}

const lookEvery = 200 * time.Millisecond

func (r *WaitCmd) wait(ctx context.Context, store backend.Backend, id uuid.UUID) (backend.Instance, error) {
	ctx, done := context.WithTimeoutCause(ctx, r.Timeout, fmt.Errorf("the instance did not end within %s; --timeout gives it longer", r.Timeout))
	defer done()
	for {
		asking, cancel := context.WithTimeoutCause(ctx, CallTimeout, ErrSlow)
		found, err := store.Lookup(asking, []uuid.UUID{id})
		if asking.Err() != nil {
			err = context.Cause(asking)
		}
		cancel()
		if err != nil {
			return backend.Instance{}, err
		}
		if found[0].Status != backend.Running {
			return found[0], nil
		}
		if pause.For(ctx, lookEvery) != nil {
			return backend.Instance{}, context.Cause(ctx)
		}
	}
}
