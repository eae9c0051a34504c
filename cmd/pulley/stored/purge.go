package stored

import (
	"context"
	"fmt"
	"time"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/internal/pause"
	"pulley/internal/plural"
)

// PurgeCmd is pulley purge.
type PurgeCmd struct {
	console.StoreFlags
	Older               console.Age   `required:"" placeholder:"TIME" help:"Delete instances that ended longer ago, such as 30d or 720h; 1m or more."`
	DryRun              bool          `help:"Only count what would be deleted."`
	Pause               time.Duration `default:"10ms" placeholder:"TIME" help:"Between two transactions, each of which looks at 1000 instances. Default: 10ms."`
	console.TimeoutFlag `set:"wait=1m" set:"answer=the database, for each transaction"`
	console.FormatFlag
}

// Help completes the command's help.
func (PurgeCmd) Help() string {
	return "Designs keep the row of an ended instance, with its input and its result or error, until it is deleted. The command deletes those that ended long ago, in small transactions, in the order of their ids. " +
		"It may be interrupted, and run beside engines. Instances that run are never deleted; neither are those whose remains in other tables are not removed yet: engines do that, and the next purge finds them.\n\n" +
		"What is deleted is unknown afterwards: its id, or its key, may be submitted again and is then a new instance.\n\n" +
		`With --format json it prints {"completed":N,"failed":N,"canceled":N,"dry_run":BOOL}.` +
		"\n\nExit status: 0, or 2 if the database cannot be used.\n\nExample: pulley purge --older 30d --dsn postgres://me@localhost/work"
}

// olderMin keeps what engines may still ask for.
const olderMin = time.Minute

type purged struct {
	Completed int  `json:"completed"`
	Failed    int  `json:"failed"`
	Canceled  int  `json:"canceled"`
	DryRun    bool `json:"dry_run"`
}

// Run deletes old instances.
func (r *PurgeCmd) Run(c *console.Console) error {
	switch {
	case r.Older.Duration() < olderMin:
		return fmt.Errorf("--older %s: choose 1m or more, such as 30d", r.Older)
	case r.Timeout <= 0:
		return ErrTimeout(r.Timeout)
	case r.Pause < 0 || r.Pause > time.Minute:
		return fmt.Errorf("--pause %s: choose a time up to 1m", r.Pause)
	}
	p, err := placeOf(&r.StoreFlags)
	if err != nil {
		return err
	}
	ctx, stop := console.Interruptible()
	defer stop()
	store, closing, err := openStored(ctx, &r.StoreFlags, p.spec, p.schema, "pulley purge", false)
	switch {
	case err != nil:
		return console.Ended(ctx, err)
	case store == nil:
		return fmt.Errorf("schema %s: %w", p.schema, errNoSchema)
	}
	defer closing()
	purger, ok := store.(backend.Purger)
	if !ok {
		return fmt.Errorf("backend %s does not delete instances", p.spec)
	}
	sum := purged{DryRun: r.DryRun}
	err = r.purge(ctx, purger, store.Shards(), &sum)
	text := sum.words()
	if err != nil {
		c.Say("pulley: before the error: %s", text)
		return console.Ended(ctx, err)
	}
	return c.PrintAs(r.FormatFlag, sum, text+"\n")
}

func (r *PurgeCmd) purge(ctx context.Context, store backend.Purger, shards int, sum *purged) error {
	walk := backend.PurgeWalk{Store: store, Shards: shards, Age: r.Older.Duration(), Dry: r.DryRun}
	for {
		got, more, err := r.step(ctx, &walk)
		if err != nil {
			return err
		}
		sum.Completed += got.Completed
		sum.Failed += got.Failed
		sum.Canceled += got.Canceled
		if !more {
			return nil
		}
		if pause.For(ctx, r.Pause) != nil {
			return context.Cause(ctx)
		}
	}
}

func (r *PurgeCmd) step(ctx context.Context, walk *backend.PurgeWalk) (backend.Purged, bool, error) {
	ctx, done := context.WithTimeoutCause(ctx, r.Timeout, ErrSlow)
	defer done()
	got, more, err := walk.Step(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return got, more, err
}

func (p purged) words() string {
	text := fmt.Sprintf("%s deleted: %d completed, %d failed, %d canceled", plural.Of(p.Completed+p.Failed+p.Canceled, "instance"), p.Completed, p.Failed, p.Canceled)
	if p.DryRun {
		text = fmt.Sprintf("%s would be deleted: %d completed, %d failed, %d canceled", plural.Of(p.Completed+p.Failed+p.Canceled, "instance"), p.Completed, p.Failed, p.Canceled)
	}
	return text
}
