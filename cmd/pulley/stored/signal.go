package stored

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/signal"
)

// SignalCmd is pulley signal.
type SignalCmd struct {
	ID    string  `arg:"" name:"id" help:"The instance's id."`
	Name  string  `arg:"" help:"The signal's name, which the workflow waits for with @wait_signal(name=…)."`
	Value string  `default:"null" placeholder:"JSON" help:"What the workflow gets. Default: null."`
	Key   *string `placeholder:"TEXT" help:"Makes a repetition safe: of signals with the same key, the instance gets the first only."`
	console.StoreFlags
	console.TimeoutFlag `set:"wait=1m" set:"answer=the database"`
	console.FormatFlag
}

// Help completes the command's help.
func (SignalCmd) Help() string {
	return "The signal is stored, and so it may come before the workflow waits for it. A wait takes the oldest signal of its name, and no other wait gets that. Signals that nothing has taken when the " +
		"instance ends are removed. An instance has at most 10,000 of them.\n\n" +
		`With --format json it prints {"id","name","created"}; created is false if a signal with the key was there.` + "\n\n" +
		"Exit status: 0 if the signal is stored or was there, 1 if the instance has ended, 2 if there is no such instance or it cannot be reached.\n\n" +
		"Example: pulley signal 01a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e6 approved --value '{\"by\": \"Ada\"}' --key 'order 17' --dsn postgres://me@localhost/work"
}

// Run sends the signal.
func (r *SignalCmd) Run(c *console.Console) error {
	id, err := ParseID(r.ID)
	switch {
	case err != nil:
		return err
	case r.Timeout <= 0:
		return ErrTimeout(r.Timeout)
	case !json.Valid([]byte(r.Value)):
		return fmt.Errorf("--value %q: this is no JSON; a text needs quotation marks, as in --value '\"yes\"'", r.Value)
	}
	if err := backend.CheckSignalName(r.Name); err != nil {
		return err
	}
	m := signal.Message{Instance: id, Name: r.Name, Value: json.RawMessage(r.Value)}
	if r.Key != nil {
		if err := checkKey("--key", *r.Key); err != nil {
			return err
		}
		m.Key = *r.Key
	}
	ctx, stop := console.Interruptible()
	defer stop()
	created := false
	err = withExisting(ctx, &r.StoreFlags, r.Timeout, "pulley signal", func(ctx context.Context, p place, store backend.Backend) error {
		signals, ok := store.(signal.Store)
		if !ok {
			return fmt.Errorf("backend %s has no signals", p.spec)
		}
		created, err = signal.Send(ctx, signals, m)
		return err
	})
	switch {
	case errors.Is(err, signal.ErrUnknownInstance), errors.Is(err, errNoSchema):
		return missing(&r.StoreFlags, id)
	case errors.Is(err, signal.ErrInstanceEnded):
		c.Say("pulley: %v", err)
		return &console.Status{Code: console.ExitFailed}
	case err != nil:
		return console.Ended(ctx, err)
	}
	text := "sent\n"
	if !created {
		text = "was there: a signal with this key was sent before\n"
	}
	return c.PrintAs(r.FormatFlag, struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		Created bool   `json:"created"`
	}{id.String(), r.Name, created}, text)
}
