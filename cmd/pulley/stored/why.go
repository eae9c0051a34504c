package stored

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/inspect"
)

// WhyCmd is pulley why.
type WhyCmd struct {
	ID string `arg:"" name:"id" help:"The instance's id, or the name of a schedule or of a limit."`
	console.StoreFlags
	console.TimeoutFlag `set:"wait=1m" set:"answer=the database"`
	console.FormatFlag
}

// Help completes the command's help.
func (WhyCmd) Help() string {
	return "It says in one sentence what an instance, or a schedule, waits for, and since or until when: an engine that has its work leased, or has not taken it; a limit; a signal; an engine that has the action; the end of a sleep, or of the pause before a retry; " +
		"an engine that has exited; a barrier; or nothing, since it has ended. It changes nothing.\n\n" +
		`With --format json it prints {"id","status","sentence","waits":[{"reason","node","action","since","until","engine","attempt","attempts","deliveries","completed","required","limit","signal","detail"}],"cut"}. ` +
		"A reason is lease, limit, signal, elsewhere, worker, lost_engine, retry, sleep, barrier, ended or nothing; in the journal also adoption, owner, evicted or broken. Of a schedule it prints {\"schedule\",\"reason\",\"sentence\",\"until\",\"detail\"}, and a reason is tick, paused, overlap, full, overdue, exhausted or unreadable; of a limit {\"limit\",\"reason\",\"sentence\"}, and a reason is full or free.\n\n" +
		"Exit status: 0, or 2 if there is no such instance, schedule or limit, or it cannot be reached.\n\nExample: pulley why 01a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e6 --dsn postgres://me@localhost/work"
}

// openMost bounds the node runs that are read of an instance.
const openMost = 1000

// Run explains the instance.
func (r *WhyCmd) Run(c *console.Console) error {
	if _, err := uuid.Parse(r.ID); err != nil {
		return r.explainNamed(c)
	}
	s, err := inspected(&r.StoreFlags, r.Timeout, r.ID, "pulley why")
	if err != nil {
		return err
	}
	e := inspect.Explain(s)
	return c.PrintAs(r.FormatFlag, e, console.OneLine(e.Sentence)+"\n")
}

// explainNamed explains what is no instance's id: a schedule, or else a limit.
func (r *WhyCmd) explainNamed(c *console.Console) error {
	if r.Timeout <= 0 {
		return ErrTimeout(r.Timeout)
	}
	ctx, stop := console.Interruptible()
	defer stop()
	var explained any
	var sentence string
	err := withExisting(ctx, &r.StoreFlags, r.Timeout, "pulley why", func(ctx context.Context, p place, store backend.Backend) error {
		limits, now, err := limitsOf(ctx, store)
		if err != nil {
			return err
		}
		if scheduler, ok := store.(backend.Scheduler); ok {
			found, now, err := scheduler.Schedules(ctx, r.ID)
			if err != nil {
				return err
			}
			if len(found) > 0 {
				e := inspect.ExplainSchedule(found[0], limits, now)
				explained, sentence = e, e.Sentence
				return nil
			}
		}
		for _, l := range limits {
			if l.Name == r.ID {
				e := inspect.ExplainLimit(l, now)
				explained, sentence = e, e.Sentence
				return nil
			}
		}
		return fmt.Errorf("%q is neither an instance's id, such as %s, nor a schedule or a limit of schema %s; pulley ps, pulley schedule list and pulley limit list have them", r.ID, uuid.Must(uuid.NewV7()), p.schema)
	})
	if err != nil {
		return console.Ended(ctx, err)
	}
	return c.PrintAs(r.FormatFlag, explained, console.OneLine(sentence)+"\n")
}

// limitsOf reads the limits of a store; one that has none has no limits.
func limitsOf(ctx context.Context, store any) ([]backend.StoredLimit, time.Time, error) {
	limiter, ok := store.(backend.Limiter)
	if !ok {
		return nil, time.Time{}, nil
	}
	return limiter.Limits(ctx)
}

func inspected(flags *console.StoreFlags, timeout time.Duration, text, application string) (s backend.Snapshot, err error) {
	id, err := ParseID(text)
	switch {
	case err != nil:
		return s, err
	case timeout <= 0:
		return s, ErrTimeout(timeout)
	}
	ctx, stop := console.Interruptible()
	defer stop()
	full := ""
	err = withInspector(ctx, flags, timeout, application, func(ctx context.Context, store backend.Inspector) (err error) {
		if s, err = backend.InspectWhole(ctx, store, id, openMost); err != nil || s.Status != "" {
			return err
		}
		limits, _, err := limitsOf(ctx, store)
		if i := slices.IndexFunc(limits, inspect.IsFull); i >= 0 {
			full = limits[i].Name
		}
		return err
	})
	if err == nil && s.Status == "" || errors.Is(err, errNoSchema) {
		if err = missing(flags, id); full != "" {
			err = fmt.Errorf("%w; limit %s is full, so it may wait to be submitted", err, full)
		}
	}
	return s, console.Ended(ctx, err)
}

func missing(flags *console.StoreFlags, id uuid.UUID) error {
	p, err := placeOf(flags)
	if err != nil {
		return err
	}
	return p.errMissing(id)
}

var errNoSchema = errors.New("there is no such schema; --schema and --backend say where to look")

// withInspector opens the existing store, and calls use.
func withInspector(ctx context.Context, flags *console.StoreFlags, timeout time.Duration, application string, use func(context.Context, backend.Inspector) error) error {
	return withExisting(ctx, flags, timeout, application, func(ctx context.Context, p place, store backend.Backend) error {
		shows, ok := store.(backend.Inspector)
		if !ok {
			return fmt.Errorf("backend %s does not show what it stores", p.spec)
		}
		return use(ctx, shows)
	})
}

func withExisting(ctx context.Context, flags *console.StoreFlags, timeout time.Duration, application string, use func(context.Context, place, backend.Backend) error) error {
	p, err := placeOf(flags)
	if err != nil {
		return err
	}
	ctx, done := context.WithTimeoutCause(ctx, timeout, ErrSlow)
	defer done()
	store, closing, err := openStored(ctx, flags, p.spec, p.schema, application, false)
	if err != nil {
		return err
	}
	if store == nil {
		return fmt.Errorf("schema %s: %w", p.schema, errNoSchema)
	}
	defer closing()
	if err = use(ctx, p, store); err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}
