package stored

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
)

// CancelCmd is pulley cancel.
type CancelCmd struct {
	ID string `arg:"" name:"id" help:"The instance's id."`
	console.StoreFlags
	Reason              string `default:"canceled by hand" placeholder:"TEXT" help:"Is kept with the instance. Default: canceled by hand."`
	console.TimeoutFlag `set:"wait=1m" set:"answer=the database"`
	console.FormatFlag
}

func (CancelCmd) Help() string {
	return "What is queued of the instance is never run, and what runs changes nothing any more: engines cut it off when they " +
		"next renew its lease, a third of which is the longest that takes. An instance that has ended stays as it is.\n\n" +
		"Exit status: 0 if the instance is canceled, 1 if it had ended otherwise, 2 if there is no such instance or it cannot be " +
		"reached. With statuses 0 and 1 comes what pulley run prints.\n\n" +
		"Example: pulley cancel 01a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e6 --dsn postgres://me@localhost/work"
}

func (r *CancelCmd) Run(c *console.Console) error {
	if r.Timeout <= 0 {
		return ErrTimeout(r.Timeout)
	}
	ctx, stop := console.Interruptible()
	defer stop()
	bounded, done := context.WithTimeoutCause(ctx, r.Timeout, ErrSlow)
	defer done()
	in, err := withStored(bounded, &r.StoreFlags, r.ID, "pulley cancel", r.cancel)
	if err != nil {
		return console.Ended(ctx, err)
	}
	text, err := Words(in, r.Format)
	if err != nil {
		return err
	}
	if err := c.Print(text); err != nil {
		return err
	}
	if in.Status != backend.Canceled {
		return &console.Status{Code: console.ExitFailed}
	}
	return nil
}

func (r *CancelCmd) cancel(ctx context.Context, store backend.Backend, id uuid.UUID) (backend.Instance, error) {
	canceler, ok := store.(backend.Canceler)
	if !ok {
		return backend.Instance{}, fmt.Errorf("backend %s cannot cancel instances", r.Backend)
	}
	found, err := canceler.Cancel(ctx, []uuid.UUID{id}, r.Reason)
	if err != nil {
		return backend.Instance{}, err
	}
	return found[0], nil
}
