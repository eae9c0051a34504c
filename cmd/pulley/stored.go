package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/backend/postgres"
	"pulley/engine/pgserver"
	"pulley/engine/plan"
	"pulley/internal/pause"
)

// withStored opens the existing store of an instance and calls ask. It creates no schema, and fails without the instance.
func withStored(ctx context.Context, flags *console.StoreFlags, text, application string,
	ask func(context.Context, backend.Backend, uuid.UUID) (backend.Instance, error),
) (in backend.Instance, err error) {
	spec, err := designs.Parse(flags.Backend)
	if err != nil {
		return in, err
	}
	id, err := parseID(text)
	switch {
	case err != nil:
		return in, err
	case !spec.NeedsPostgres():
		return in, fmt.Errorf("backend %s keeps nothing for another command; choose another backend", spec)
	}
	schema := cmp.Or(flags.Schema, schemaOf(spec))
	missing := fmt.Errorf("there is no instance %s in schema %s; --schema and --backend say where to look", id, schema)
	store, closing, err := openStored(ctx, flags.DSN, spec, schema, application)
	if err != nil {
		return in, err
	}
	if store == nil {
		return in, missing
	}
	defer closing()
	in, err = ask(ctx, store, id)
	if err == nil && in.Status == "" {
		err = missing
	}
	return in, err
}

var errNoDatabase = errors.New("say which database holds the instance: give --dsn DSN, or set PULLEY_DSN")

func errTimeout(d time.Duration) error {
	return fmt.Errorf("--timeout %s: choose a positive time, such as 30s", d)
}

func openStored(ctx context.Context, dsn string, spec designs.Spec, schema, application string) (store backend.Backend, closing func(), err error) {
	if dsn == "" && os.Getenv("PULLEY_DSN") == "" {
		return nil, nil, errNoDatabase
	}
	opening, done := context.WithTimeoutCause(ctx, openTimeout, errSlow)
	defer done()
	server, err := pgserver.Open(opening, pgserver.Options{DSN: dsn, Ways: []pgserver.Way{pgserver.WayDSN}})
	if err != nil {
		return nil, nil, err
	}
	end := func() { _ = server.Close(context.Background()) } // it was not started here
	there, err := postgres.Exists(opening, server.DSN(), schema)
	if err == nil && there {
		store, err = spec.Open(opening, designs.OpenOptions{DSN: server.DSN(), Schema: schema, Application: application})
	}
	if err != nil || store == nil {
		end()
		return nil, nil, err
	}
	return store, func() {
		store.Close()
		end()
	}, nil
}

func printEnd(c *console.Console, in backend.Instance, f console.FormatFlag) error {
	text, err := words(in, f.Format)
	if err != nil {
		return err
	}
	if err := c.Print(text); err != nil {
		return err
	}
	if in.Status != backend.Completed {
		return &console.Status{Code: console.ExitFailed}
	}
	return nil
}

// checkOrigin rejects an existing instance of another program or input, whose result would be mistaken for this one's.
func checkOrigin(ctx context.Context, store backend.Backend, id uuid.UUID, program *plan.Program, input json.RawMessage) error {
	keeper, ok := store.(interface {
		OriginOf(ctx context.Context, id uuid.UUID) (*postgres.Origin, error)
	})
	if !ok {
		return nil // it does not record origins
	}
	ctx, done := context.WithTimeoutCause(ctx, callTimeout, errSlow)
	defer done()
	o, err := keeper.OriginOf(ctx, id)
	if err != nil || o == nil {
		return err
	}
	hash := program.Hash()
	switch {
	case !bytes.Equal(o.Program, hash[:]):
		return fmt.Errorf("--id %s: that instance was made of another program; leave --id out for a new one, or read its result with pulley wait %s", id, id)
	case !sameJSON(o.Input, input):
		return fmt.Errorf("--id %s: that instance has another input; leave --id out for a new one, or read its result with pulley wait %s", id, id)
	}
	return nil
}

// sameJSON compares values, numbers digit by digit.
func sameJSON(a, b []byte) bool {
	var values [2]any
	for i, text := range [][]byte{a, b} {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if d.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

type waitCmd struct {
	ID string `arg:"" name:"id" help:"The instance's id."`
	console.StoreFlags
	console.TimeoutFlag `set:"wait=10m" set:"answer=the end of the instance"`
	console.FormatFlag
}

func (waitCmd) Help() string {
	return "It needs neither the program nor the actions, and runs nothing: somebody else does, such as pulley work.\n\n" +
		"Exit status: 0 if the instance completed, 1 if it failed or was canceled, 2 if there is no such instance, it cannot be " +
		"reached, or it does not end in time. With statuses 0 and 1 comes what pulley run prints.\n\n" +
		"Example: pulley wait 01a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e6 --dsn postgres://me@localhost/work"
}

func (r *waitCmd) Run(c *console.Console) error {
	if r.Timeout <= 0 {
		return errTimeout(r.Timeout)
	}
	ctx, stop := console.Interruptible()
	defer stop()
	in, err := withStored(ctx, &r.StoreFlags, r.ID, "pulley wait", r.wait)
	if err != nil {
		return console.Ended(ctx, err)
	}
	return printEnd(c, in, r.FormatFlag)
}

const lookEvery = 200 * time.Millisecond

func (r *waitCmd) wait(ctx context.Context, store backend.Backend, id uuid.UUID) (backend.Instance, error) {
	ctx, done := context.WithTimeoutCause(ctx, r.Timeout, fmt.Errorf("the instance did not end within %s; --timeout gives it longer", r.Timeout))
	defer done()
	for {
		asking, cancel := context.WithTimeoutCause(ctx, callTimeout, errSlow)
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
