package stored

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/plan"
)

// SubmitCmd is pulley submit.
type SubmitCmd struct {
	console.ProgramArg
	console.InputFlag
	console.StoreFlags
	Key                 *string `placeholder:"TEXT" help:"An idempotency key: under one key there is one instance in the schema, however often it is submitted."`
	Batch               string  `placeholder:"FILE" help:"Submit an instance for each line of FILE, which is its input, a JSON object; - reads standard input."`
	Keyed               bool    `help:"Each line of --batch is {\"key\":TEXT,\"input\":{…}}, with an idempotency key for each instance."`
	Priority            int     `placeholder:"N" help:"How urgent it is, from 0 to 9: tasks that wait for a worker start as if each step had made them wait a minute longer. Default: 0."`
	NoWait              bool    `help:"Where a limit of instances has no place, do not wait for one: exit with status 1."`
	console.TimeoutFlag `set:"wait=1m" set:"answer=the database, for each group of instances"`
	console.FormatFlag
}

// Help completes the command's help.
func (SubmitCmd) Help() string {
	return "It stores the instance, prints its id, and ends: engines run it, such as pulley work, and pulley wait waits for its end. The schema is made if it is missing.\n\n" +
		"A key makes a repetition safe, also after a lost answer: the second time, the first instance's id is printed. Another program or input under the same key is refused. " +
		"A key is known as long as its instance is kept.\n\n" +
		"--batch stores the lines in order, in groups, and does not wait for a slow writer to fill one. It prints an id for each line as soon as that is stored, so what was printed is stored if the command is cut off. A line that " +
		"is refused ends it: all lines before are stored, and none after. Use --keyed where it may have to be repeated.\n\n" +
		"Urgent instances (--priority) pass others that wait, and no instance waits for ever: one of priority 0 starts before those of priority 2 that come more than two minutes later. " +
		"A repetition under a key has the same priority. The backends push and journal have priorities.\n\n" +
		"Where a limit of instances (pulley limit set --instances) has no place, it says so and waits for one; with --no-wait it ends.\n\n" +
		`With --format json each line is {"id":…,"created":true|false}; created is false if the instance was there.` +
		"\n\nExit status: 0 if all is stored, 1 if with --no-wait a limit has no place for some, 2 otherwise.\n\n" +
		"Examples:\n\n  pulley submit flow.ir --input '{\"n\": 3}' --key order-17 --dsn postgres://me@localhost/work\n  pulley submit flow.ir --batch inputs.ndjson --dsn postgres://me@localhost/work"
}

// keyMax bounds an idempotency key in bytes.
const keyMax = 1000

func checkKey(name, key string) error {
	if key == "" || len(key) > keyMax {
		return fmt.Errorf("%s: a key has 1 to %d bytes, not %d", name, keyMax, len(key))
	}
	return nil
}

// Run submits the instance or the batch.
func (r *SubmitCmd) Run(c *console.Console) error {
	where, program, err := r.check(c)
	if err != nil {
		return err
	}
	ctx, stop := console.Interruptible()
	defer stop()
	if r.Batch != "" {
		return failFull(console.Ended(ctx, r.batch(ctx, c, where, program)))
	}
	input, err := r.ReadInput(c, r.InputText(), program)
	if err != nil {
		return err
	}
	one := wanted{id: uuid.Must(uuid.NewV7()), input: input}
	if r.Key != nil {
		one.id, one.name = backend.IDOfKey(*r.Key), "--key"
	}
	s, closing, err := r.open(ctx, c, where, program)
	if err != nil {
		return console.Ended(ctx, err)
	}
	defer closing()
	return failFull(console.Ended(ctx, s.submit(ctx, []wanted{one})))
}

// failFull tells a limit that has no place from a mistake.
func failFull(err error) error {
	if errors.Is(err, backend.ErrFull) {
		return &console.Status{Code: console.ExitFailed, Err: err}
	}
	return err
}

func (r *SubmitCmd) check(c *console.Console) (where place, program *plan.Program, err error) {
	if where, err = placeOf(&r.StoreFlags); err != nil {
		return where, nil, err
	}
	switch {
	case r.Timeout <= 0:
		return where, nil, ErrTimeout(r.Timeout)
	case r.Batch != "" && (r.Input != nil || r.Key != nil):
		return where, nil, errors.New("--batch has the inputs, and with --keyed the keys; leave --input and --key out")
	case r.Keyed && r.Batch == "":
		return where, nil, errors.New("--keyed is for --batch; write --key TEXT for one instance")
	case r.File == "-" && (r.Batch == "-" || r.InputText() == "-"):
		return where, nil, errors.New("standard input cannot be both the program and its input; write --batch FILE or --input @FILE")
	}
	if r.Key != nil {
		if err := checkKey("--key", *r.Key); err != nil {
			return where, nil, err
		}
	}
	if program, err = r.Compile(c); err == nil {
		program, err = prioritized(program, r.Priority)
	}
	return where, program, err
}

func (r *SubmitCmd) open(ctx context.Context, c *console.Console, where place, program *plan.Program) (*submitter, func(), error) {
	store, closing, err := openStored(ctx, &r.StoreFlags, where.spec, where.schema, "pulley submit", true)
	if err != nil {
		return nil, nil, err
	}
	if err := checkPriority(store, where, program); err != nil {
		closing()
		return nil, nil, err
	}
	return &submitter{
		store: store, program: program, timeout: r.Timeout, noWait: r.NoWait, warn: c.Say,
		report: func(made []submitted) error { return printSubmitted(c, r.FormatFlag, made) },
	}, closing, nil
}

func printSubmitted(c *console.Console, f console.FormatFlag, made []submitted) error {
	return c.Show(func(w io.Writer) error {
		e := json.NewEncoder(w)
		for _, m := range made {
			var err error
			if f.JSON() {
				err = e.Encode(m)
			} else {
				_, err = fmt.Fprintln(w, m.ID)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
