package stored

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
)

// RetryCmd is pulley retry.
type RetryCmd struct {
	ID string `arg:"" name:"id" help:"The id of an instance that failed or was canceled."`
	console.StoreFlags
	FromStart           bool `help:"Submit a new instance with the same program and input."`
	console.TimeoutFlag `set:"wait=1m" set:"answer=the database"`
	console.FormatFlag
}

// Help completes the command's help.
func (RetryCmd) Help() string {
	return "No design keeps the node runs of an instance that has ended, so none can continue from its failed node: what it did is removed with its end, and its end never changes. " +
		"--from-start submits a new instance with the same program and input, and prints its id; each action runs again. A repetition prints the same id.\n\n" +
		"Exit status: 0 if it is submitted, 2 otherwise.\n\nExample: pulley retry 01a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e6 --from-start --dsn postgres://me@localhost/work"
}

// Run submits the instance again.
func (r *RetryCmd) Run(c *console.Console) error {
	s, err := inspected(&r.StoreFlags, r.Timeout, r.ID, "pulley retry")
	switch {
	case err != nil:
		return err
	case s.Status != backend.Failed && s.Status != backend.Canceled:
		return fmt.Errorf("instance %s is %s; only one that failed or was canceled is submitted again", s.ID, s.Status)
	case !r.FromStart:
		return fmt.Errorf("backend %s keeps nothing of the node runs of instance %s, which %s, so it cannot continue from there; --from-start submits its program and input again", r.Backend, s.ID, s.Status)
	case s.Program == nil:
		return fmt.Errorf("instance %s: this pulley cannot read its workflow; a later version may have stored it", s.ID)
	}
	ctx, stop := console.Interruptible()
	defer stop()
	return failFull(console.Ended(ctx, withExisting(ctx, &r.StoreFlags, r.Timeout, "pulley retry", func(ctx context.Context, _ place, store backend.Backend) error {
		again := submitter{store: store, program: s.Program, timeout: r.Timeout, noWait: true, warn: c.Say, report: func(made []submitted) error { return printSubmitted(c, r.FormatFlag, made) }}
		return again.submit(ctx, []wanted{{id: retryOf(s.ID), input: s.Input}})
	})))
}

// retryOf returns the id of what is submitted instead of an instance.
func retryOf(id uuid.UUID) uuid.UUID { return backend.IDOfKey("retry of " + id.String()) }
