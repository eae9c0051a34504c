package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
)

type cancelCmd struct {
	ID string `arg:"" name:"id" help:"The instance's id."`
	console.StoreFlags
	Reason              string `default:"canceled by hand" placeholder:"TEXT" help:"Is kept with the instance. Default: canceled by hand."`
	console.TimeoutFlag `set:"wait=1m" set:"answer=the database"`
	console.FormatFlag
}

func (cancelCmd) Help() string {
	return "What is queued of the instance is never run, and what runs changes nothing any more: engines cut it off when they " +
		"next renew its lease, a third of which is the longest that takes. An instance that has ended stays as it is.\n\n" +
		"Exit status: 0 if the instance is canceled, 1 if it had ended otherwise, 2 if there is no such instance or it cannot be " +
		"reached. With statuses 0 and 1 comes what pulley run prints.\n\n" +
		"Example: pulley cancel 01a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e6 --dsn postgres://me@localhost/work"
}

func (r *cancelCmd) Run(c *console.Console) error {
	if r.Timeout <= 0 {
		return errTimeout(r.Timeout)
	}
	ctx, stop := console.Interruptible()
	defer stop()
	bounded, done := context.WithTimeoutCause(ctx, r.Timeout, errSlow)
	defer done()
	in, err := withStored(bounded, &r.StoreFlags, r.ID, "pulley cancel", r.cancel)
	if err != nil {
		return console.Ended(ctx, err)
	}
	text, err := words(in, r.Format)
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

func (r *cancelCmd) cancel(ctx context.Context, store backend.Backend, id uuid.UUID) (backend.Instance, error) {
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

func parseID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || id == uuid.Nil {
		return id, fmt.Errorf("id %q: this is not a UUID such as %s", text, uuid.Must(uuid.NewV7()))
	}
	return id, nil
}
