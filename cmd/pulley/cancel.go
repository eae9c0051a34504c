package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/backend/postgres"
	"pulley/engine/pgserver"
)

// cancelCmd is pulley cancel.
type cancelCmd struct {
	ID      string `arg:"" name:"id" help:"The instance's id."`
	DSN     string `name:"dsn" placeholder:"DSN" help:"The Postgres that the instance is in. Default: PULLEY_DSN."`
	Backend string `default:"push" placeholder:"NAME" help:"The scheduler that runs it: push, pull:scan=sql, … Default: push."`
	Schema  string `placeholder:"NAME" help:"The schema that holds the instance. Default: that of pulley run."`
	Reason  string `default:"canceled by hand" placeholder:"TEXT" help:"Is kept with the instance. Default: canceled by hand."`
	Format  string `enum:"text,json" default:"text" help:"text or json."`
}

// Help is the end of the command's help.
func (cancelCmd) Help() string {
	return "What is queued of the instance is never run, and what runs changes nothing any more: engines cut it off when they " +
		"next prolong its lease, a third of which is the longest that takes. An instance that has ended stays as it is.\n\n" +
		"Exit status: 0 if the instance is canceled, 1 if it had ended otherwise, 2 if there is no such instance or it cannot be " +
		"reached. With statuses 0 and 1 comes what pulley run prints.\n\n" +
		"Example: pulley cancel 01a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e6 --dsn postgres://me@localhost/work"
}

// Run cancels the instance and prints how it stands.
func (r *cancelCmd) Run(c *console.Console) error {
	spec, err := designs.Parse(r.Backend)
	if err != nil {
		return err
	}
	id, err := parseID(r.ID)
	switch {
	case err != nil:
		return err
	case !spec.NeedsPostgres():
		return fmt.Errorf("backend %s keeps nothing that another command could cancel; choose another backend", spec)
	case r.Schema == "":
		r.Schema = schemaOf(spec)
	}
	ctx, stop := console.Interruptible()
	defer stop()
	inst, err := r.cancel(ctx, spec, id)
	if err != nil {
		return console.Ended(ctx, err)
	}
	text, err := words(inst, r.Format)
	if err != nil {
		return err
	}
	if err := c.Print(text); err != nil {
		return err
	}
	if inst.Status != backend.Canceled {
		return &console.Status{Code: console.ExitFailed}
	}
	return nil
}

// cancel asks the store. It sets up nothing: where there is no schema there is no instance.
func (r *cancelCmd) cancel(ctx context.Context, spec designs.Spec, id uuid.UUID) (backend.Instance, error) {
	ctx, done := context.WithTimeoutCause(ctx, openTimeout, errSlow)
	defer done()
	server, err := pgserver.Open(ctx, pgserver.Options{DSN: r.DSN, Ways: []pgserver.Way{pgserver.WayDSN}})
	if err != nil {
		return backend.Instance{}, err
	}
	defer func() { _ = server.Close(context.Background()) }() // it was not started here
	missing := fmt.Errorf("there is no instance %s in schema %s; --schema and --backend say where to look", id, r.Schema)
	there, err := postgres.Exists(ctx, server.DSN(), r.Schema)
	if err != nil || !there {
		return backend.Instance{}, cmp.Or(err, missing)
	}
	store, err := spec.Open(ctx, designs.OpenOptions{DSN: server.DSN(), Schema: r.Schema, Application: "pulley cancel"})
	if err != nil {
		return backend.Instance{}, err
	}
	defer store.Close()
	canceler, ok := store.(backend.Canceler)
	if !ok {
		return backend.Instance{}, fmt.Errorf("backend %s cannot cancel instances", spec)
	}
	found, err := canceler.Cancel(ctx, []uuid.UUID{id}, r.Reason)
	if err != nil || found[0].Status == "" {
		return backend.Instance{}, cmp.Or(err, missing)
	}
	return found[0], nil
}

// parseID reads an instance's id.
func parseID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || id == uuid.Nil {
		return id, fmt.Errorf("id %q: this is not a UUID such as %s", text, uuid.Must(uuid.NewV7()))
	}
	return id, nil
}
