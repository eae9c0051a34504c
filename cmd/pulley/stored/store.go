package stored

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/backend/postgres"
	"pulley/engine/pgserver"
	"pulley/engine/plan"
	"pulley/internal/nearest"
)

// place is where instances are.
type place struct {
	spec   designs.Spec
	schema string
}

func placeOf(flags *console.StoreFlags) (p place, err error) {
	if p.spec, err = designs.Parse(flags.Backend); err != nil {
		return p, err
	}
	switch {
	case !p.spec.NeedsPostgres():
		return p, fmt.Errorf("backend %s keeps nothing for another command; choose another backend", p.spec)
	case len(flags.Schema) > SchemaMax:
		return p, fmt.Errorf("--schema %s: Postgres would cut the name short; choose one of at most %d bytes", flags.Schema, SchemaMax)
	}
	p.schema = cmp.Or(flags.Schema, SchemaOf(p.spec))
	return p, nil
}

func (p place) errMissing(id uuid.UUID) error {
	return fmt.Errorf("there is no instance %s in schema %s; --schema and --backend say where to look", id, p.schema)
}

// withStored opens the existing store of an instance and calls ask. It creates no schema, and fails without the instance.
func withStored(ctx context.Context, flags *console.StoreFlags, text, application string,
	ask func(context.Context, backend.Backend, uuid.UUID) (backend.Instance, error),
) (in backend.Instance, err error) {
	p, err := placeOf(flags)
	if err != nil {
		return in, err
	}
	id, err := ParseID(text)
	if err != nil {
		return in, err
	}
	store, closing, err := openStored(ctx, flags, p.spec, p.schema, application, false)
	if err != nil {
		return in, err
	}
	if store == nil {
		return in, p.errMissing(id)
	}
	defer closing()
	in, err = ask(ctx, store, id)
	if err == nil && in.Status == "" {
		err = p.errMissing(id)
	}
	return in, err
}

var errNoDatabase = errors.New("say which database holds the instance: give --dsn DSN, or set PULLEY_DSN")

// ErrTimeout refuses the value of --timeout.
func ErrTimeout(d time.Duration) error {
	return fmt.Errorf("--timeout %s: choose a positive time, such as 30s", d)
}

// openStored opens an existing store. The store is nil if there is no such schema, unless create asks for it.
func openStored(ctx context.Context, flags *console.StoreFlags, spec designs.Spec, schema, application string, create bool) (store backend.Backend, closing func(), err error) {
	if flags.DSN == "" && os.Getenv("PULLEY_DSN") == "" {
		return nil, nil, errNoDatabase
	}
	opening, done := context.WithTimeoutCause(ctx, OpenTimeout, ErrSlow)
	defer done()
	server, err := pgserver.Open(opening, pgserver.Options{DSN: flags.DSN, Schema: schema, ReadOnly: !create, Ways: []pgserver.Way{pgserver.WayDSN}})
	if err != nil {
		return nil, nil, err
	}
	end := func() { _ = server.Close(context.Background()) } // it was not started here
	o := designs.OpenOptions{DSN: server.DSN(), Schema: schema, Application: application}
	if err := flags.Apply(&o); err != nil {
		end()
		return nil, nil, err
	}
	there := create
	if !create {
		there, err = postgres.Exists(opening, server.DSN(), schema)
	}
	if err == nil && there {
		store, err = spec.Open(opening, o)
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

// PrintEnd prints the end of an instance, and returns the exit status of one that did not complete.
func PrintEnd(c *console.Console, in backend.Instance, f console.FormatFlag) error {
	text, err := Words(in, f.Format)
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

// originsKeeper is a backend that tells what instances were created from.
type originsKeeper interface {
	Origins(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]postgres.Origin, error)
}

// CheckOrigin rejects an existing instance of another program or input, whose result would be mistaken for this one's.
func CheckOrigin(ctx context.Context, store backend.Backend, id uuid.UUID, program *plan.Program, input json.RawMessage) error {
	keeper, ok := store.(originsKeeper)
	if !ok {
		return nil // it does not record origins
	}
	ctx, done := context.WithTimeoutCause(ctx, CallTimeout, ErrSlow)
	defer done()
	found, err := keeper.Origins(ctx, []uuid.UUID{id})
	if err != nil {
		return err
	}
	o, exists := found[id]
	switch differs(o, exists, program, input) {
	case otherProgram:
		return fmt.Errorf("--id %s: that instance was made of another program; leave --id out for a new one, or read its result with pulley wait %s", id, id)
	case otherInput:
		return fmt.Errorf("--id %s: that instance has another input; leave --id out for a new one, or read its result with pulley wait %s", id, id)
	}
	return nil
}

// prioritized returns a program with the priority that --priority gives.
func prioritized(program *plan.Program, priority int) (*plan.Program, error) {
	again, err := program.WithPriority(priority)
	if err != nil {
		return nil, fmt.Errorf("--priority: %w", err)
	}
	return again, nil
}

// checkPriority refuses a priority that a store would not heed.
func checkPriority(store any, where place, program *plan.Program) error {
	if backend.CheckPriority(store, program) != nil {
		return fmt.Errorf("--priority: backend %s has no priorities; push and journal have", where.spec)
	}
	return nil
}

// difference is what an instance differs in from a submission of its id.
type difference string

const (
	otherProgram difference = "program"
	otherInput   difference = "input"
)

func differs(o postgres.Origin, exists bool, program *plan.Program, input json.RawMessage) difference {
	hash := program.Hash()
	switch {
	case !exists:
		return ""
	case !bytes.Equal(o.Program, hash[:]):
		return otherProgram
	case !sameJSON(o.Input, input):
		return otherInput
	}
	return ""
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

// ParseID parses the id of an instance.
func ParseID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || id == uuid.Nil {
		return id, fmt.Errorf("id %q: this is not a UUID such as %s", text, uuid.Must(uuid.NewV7()))
	}
	return id, nil
}

// How long the database may take.
const (
	OpenTimeout = time.Minute      // to create a schema
	CallTimeout = 10 * time.Second // for a backend call
)

// ErrSlow is the cause of an ended wait for the database.
var ErrSlow = errors.New("the database does not answer in time; check that it runs and is not locked")

// SchemaMax is the most bytes of a schema's name.
const SchemaMax = 63

// SchemaOf returns a backend's default schema. The two scans of pull store different states, and cannot share one.
func SchemaOf(spec designs.Spec) string {
	name := "pulley_" + spec.Name()
	if slices.Contains(strings.Split(spec.String(), ":"), "scan=sql") {
		name += "_sql"
	}
	return name
}

// errUnknown is the error of a name that none of the store's schedules or limits has.
func errUnknown[T any](kind, name string, all []T, nameOf func(T) string) error {
	if len(all) == 0 {
		return fmt.Errorf("there is no %s %q, and no other", kind, name)
	}
	unknown := &nearest.Unknown{Kind: kind, Name: name}
	for _, other := range all {
		unknown.Known = append(unknown.Known, nameOf(other))
	}
	return unknown
}
