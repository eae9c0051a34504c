package stored

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/limit"
	"pulley/internal/aligned"
	"pulley/internal/plural"
)

// LimitCmd is a group of commands.
type LimitCmd struct {
	Set  limitSetCmd  `cmd:"" help:"Store a limit, or change it."`
	List limitListCmd `cmd:"" help:"List the limits of a schema, and what engines have of them."`
	Rm   limitRmCmd   `cmd:"" help:"Remove a limit."`
}

// Help explains the commands.
func (LimitCmd) Help() string {
	return "A limit bounds how many attempts of some actions run at once, how many start in a period, or both, over all engines of a schema; or how many instances are in it that " +
		"have not ended. It holds for pulley work and pulley submit, and for engines in programs that set Config.Limits. Engines learn of it within a second. An engine that is killed leaves its part to the others when its leases end.\n\n" +
		"Tasks that wait for a limit take no worker, and those beyond what an engine holds ready go back to the database for a while, so that other actions pass them. The " +
		"backends push and journal have limits."
}

// with calls ask with the limits of a schema.
func (o *opener) withLimits(create bool, ask func(ctx context.Context, store backend.Limiter, schema string) error) error {
	return o.open("pulley limit", "pulley limit set", create, func(ctx context.Context, store backend.Backend, p place) error {
		limiter, ok := store.(backend.Limiter)
		if !ok {
			return fmt.Errorf("backend %s has no limits; push and journal have", p.spec)
		}
		return ask(ctx, limiter, p.schema)
	})
}

type limitSetCmd struct {
	Name        string   `arg:"" help:"The limit's name."`
	Actions     []string `name:"action" placeholder:"NAME" help:"An action that it bounds, without @; give it again for others that share the limit. Default: the action of the limit's name."`
	Concurrency int      `placeholder:"N" help:"Attempts that run at once. Default: any number."`
	Instances   int      `placeholder:"N" help:"Instances that are in the schema and have not ended, in place of attempts: submitting more waits, or is refused. Default: any number."`
	InstancesOf []string `placeholder:"FILE" help:"With --instances: a workflow whose instances it bounds, by the name of its file; give it again for others that share the limit. Default: all workflows."`
	Rate        string   `placeholder:"N/PERIOD" help:"Attempts that start in every period of that length, wherever it begins, such as 100/s, 10/m, 5/h or 30/15s. Default: any number."`
	opener
}

func (limitSetCmd) Help() string {
	return "It replaces the limit of that name, whatever that bounded. Attempts that run already are not ended: where more run than a lower limit allows, none starts until enough have ended. An " +
		"action is in one limit only.\n\n" +
		"A limit of instances counts those that run when it is set, too. Beyond it, pulley submit waits, as do programs, or is refused with --no-wait; ticks of schedules wait.\n\n" +
		"A rate is kept by spacing starts evenly; 95 to 98 % of it are used where work waits.\n\n" +
		"Examples:\n\n  pulley limit set charge --concurrency 7 --dsn postgres://me@localhost/work\n" +
		"  pulley limit set sends --action send_sms --action send_push --rate 100/s --dsn postgres://me@localhost/work\n" +
		"  pulley limit set backlog --instances 1000 --instances-of crunch.ir --dsn postgres://me@localhost/work"
}

func (r *limitSetCmd) Run(c *console.Console) error {
	l := limit.Limit{Name: r.Name, Concurrency: r.Concurrency, Instances: r.Instances}
	for _, workflow := range r.InstancesOf {
		l.Workflows = append(l.Workflows, workflow[strings.LastIndexByte(workflow, '/')+1:])
	}
	actions := r.Actions
	if len(actions) == 0 && !l.BoundsInstances() {
		actions = []string{r.Name}
	}
	for _, action := range actions {
		l.Actions = append(l.Actions, strings.TrimPrefix(action, "@"))
	}
	if r.Rate != "" {
		var err error
		if l.Rate, err = limit.ParseRate(r.Rate); err != nil {
			return fmt.Errorf("--rate: %w", err)
		}
	}
	switch {
	case len(r.InstancesOf) > 0 && r.Instances == 0:
		return errors.New("--instances-of is for --instances; add it")
	case r.Concurrency == 0 && r.Rate == "" && r.Instances == 0:
		return errors.New("--concurrency and --rate: give one or both, or --instances")
	}
	if err := l.Validate(); err != nil {
		return err
	}
	return r.withLimits(true, func(ctx context.Context, store backend.Limiter, schema string) error {
		if err := store.SetLimit(ctx, l); err != nil {
			return fmt.Errorf("limit %s of schema %s: %w", l.Name, schema, err)
		}
		return c.PrintAs(r.FormatFlag, describeLimit(backend.StoredLimit{Limit: l}, time.Time{}), "limit "+l.Name+": "+boundWords(l)+" of "+coveredWords(l)+"\n")
	})
}

func boundWords(l limit.Limit) string {
	if l.BoundsInstances() {
		return plural.Of(l.Instances, "instance")
	}
	var parts []string
	if l.Concurrency > 0 {
		parts = append(parts, fmt.Sprintf("%d at once", l.Concurrency))
	}
	if l.Rate != (limit.Rate{}) {
		parts = append(parts, l.Rate.String())
	}
	return strings.Join(parts, ", ")
}

// coveredWords names the actions or the workflows.
func coveredWords(l limit.Limit) string {
	switch {
	case !l.BoundsInstances():
		return console.OneLine("@" + strings.Join(l.Actions, ", @"))
	case len(l.Workflows) == 0:
		return "all workflows"
	}
	return console.OneLine(strings.Join(l.Workflows, ", "))
}

type limitListCmd struct{ opener }

func (r *limitListCmd) Run(c *console.Console) error {
	return r.withLimits(false, func(ctx context.Context, store backend.Limiter, schema string) error {
		all, now, err := store.Limits(ctx)
		if err != nil {
			return err
		}
		described := make([]describedLimit, len(all))
		rows := [][]string{{"name", "of", "limit", "running", "waiting", "engines"}}
		for i, l := range all {
			d := describeLimit(l, now)
			described[i] = d
			running, waiting, engines := "–", fmt.Sprint(d.Waiting), fmt.Sprint(len(d.Engines))
			switch {
			case l.BoundsInstances():
				running, waiting, engines = fmt.Sprint(d.Admitted), "–", "–"
			case l.Concurrency > 0:
				running = fmt.Sprint(d.Permits)
			}
			rows = append(rows, []string{console.OneLine(l.Name), coveredWords(l.Limit), boundWords(l.Limit), running, waiting, engines})
		}
		if len(all) == 0 {
			c.Say("pulley: schema %s has no limits; pulley limit set stores one", schema)
		}
		var text bytes.Buffer
		if len(all) > 0 {
			aligned.Write(&text, rows, func(column int) bool { return column < 3 })
		}
		return c.PrintAs(r.FormatFlag, described, text.String())
	})
}

// describedLimit is the JSON of a limit.
type describedLimit struct {
	Name        string           `json:"name"`
	Actions     []string         `json:"actions"`
	Concurrency int              `json:"concurrency,omitempty"`
	Rate        string           `json:"rate,omitempty"`
	Instances   int              `json:"instances,omitempty"`
	Workflows   []string         `json:"workflows,omitempty"` // whose instances it bounds; empty: all
	Admitted    int              `json:"admitted,omitempty"`  // instances that have a place; some may have ended
	Permits     int              `json:"permits"`             // that engines have, for what runs or is about to
	Waiting     int              `json:"waiting"`             // tasks that engines hold ready; more may be in the database
	Engines     []describedShare `json:"engines"`
}

type describedShare struct {
	Engine  string    `json:"engine"`
	Permits int       `json:"permits"`
	Waiting int       `json:"waiting"`
	Until   time.Time `json:"until"`
}

func describeLimit(l backend.StoredLimit, now time.Time) describedLimit {
	d := describedLimit{
		Name: l.Name, Actions: slices.Concat([]string{}, l.Actions), Concurrency: l.Concurrency, Rate: l.Rate.String(), Engines: []describedShare{},
		Instances: l.Instances, Workflows: l.Workflows, Admitted: l.State.Admitted,
	}
	for _, s := range l.State.Current(now) {
		d.Permits += s.Permits
		d.Waiting += s.Waiting
		d.Engines = append(d.Engines, describedShare{s.Engine, s.Permits, s.Waiting, s.Until})
	}
	return d
}

type limitRmCmd struct {
	Name string `arg:"" help:"The limit's name."`
	opener
}

func (limitRmCmd) Help() string {
	return "Engines learn of it within a second. What waited for it starts, within half a minute where it went back to the database."
}

func (r *limitRmCmd) Run(c *console.Console) error {
	return r.withLimits(false, func(ctx context.Context, store backend.Limiter, _ string) error {
		all, _, err := store.Limits(ctx)
		if err != nil {
			return err
		}
		removed, err := store.RemoveLimit(ctx, r.Name)
		if err != nil {
			return err
		}
		if !removed {
			return errUnknown("limit", r.Name, all, func(l backend.StoredLimit) string { return l.Name })
		}
		return c.PrintAs(r.FormatFlag, map[string]string{"removed": r.Name}, "removed "+cmp.Or(console.OneLine(r.Name), r.Name)+"\n")
	})
}
