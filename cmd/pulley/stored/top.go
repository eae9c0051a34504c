package stored

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/inspect"
	"pulley/internal/pause"
)

// TopCmd is pulley top.
type TopCmd struct {
	console.StoreFlags
	Every    time.Duration `default:"2s" placeholder:"TIME" help:"The pause between two looks, from 500ms. Default: 2s."`
	Looks    int           `placeholder:"N" help:"End after so many looks. Default: continue until interrupted on a terminal, else 1."`
	Count    int           `placeholder:"N" help:"Running instances to show, up to 100. Default: as many as fit a terminal, else 20."`
	Workflow string        `placeholder:"NAME" help:"Only instances of workflows of that name, as pulley ps."`
	console.FormatFlag
}

// Help completes the command's help.
func (TopCmd) Help() string {
	return "It shows, again and again, what happens in a schema: how many instances were submitted and ended lately, what limits and schedules wait for, and the newest running instances with what each waits for. " +
		"It only reads, what one look reads is bounded, and --dsn may name a standby. Where the database cannot be reached, it says so, and continues.\n\n" +
		"Rates are of the last ten seconds, and of the newest 1000 instances: of those whose ids pulley did not make, such as ones with keys, it may see others.\n\n" +
		`With --format json each look is a line: {"at","recent":{"instances","running","completed","failed","canceled","seconds","submitted","ended"},"limits":[…],"schedules":[…],"instances":[{…,"waits_for"}]}, with limits and schedules as in pulley why and instances as in pulley ps.` +
		"\n\nExit status: 0 after --looks, 130 after Ctrl-C, 2 if the database cannot be used at first.\n\nExample: pulley top --dsn postgres://me@localhost/work"
}

// Bounds of a look.
const (
	topEveryMin   = 500 * time.Millisecond
	topCountMax   = 100
	topCount      = 20 // where there is no terminal
	recentMost    = 1000
	recentSeconds = 10
)

// Run looks until it is interrupted.
func (r *TopCmd) Run(c *console.Console) error {
	switch {
	case r.Every < topEveryMin || r.Every > time.Hour:
		return fmt.Errorf("--every %s: choose from %s to 1h", r.Every, topEveryMin)
	case r.Looks < 0:
		return fmt.Errorf("--looks %d: choose 1 or more", r.Looks)
	case r.Count < 0 || r.Count > topCountMax:
		return fmt.Errorf("--count %d: choose from 1 to %d", r.Count, topCountMax)
	}
	screen := c.FullScreen()
	if r.JSON() {
		screen = nil
	}
	looks := r.Looks
	if looks == 0 && screen == nil {
		looks = 1
	}
	ctx, stop := console.Interruptible()
	defer stop()
	store, closing, err := r.open(ctx)
	if err != nil {
		return console.Ended(ctx, err)
	}
	defer closing()
	if screen != nil {
		if err := screen.Enter(); err != nil {
			return err
		}
		defer screen.Leave()
	}
	return console.Ended(ctx, r.watch(ctx, c, store, screen, looks))
}

func (r *TopCmd) open(ctx context.Context) (ShownStore, func(), error) {
	ctx, cancel := context.WithTimeoutCause(ctx, OpenTimeout, ErrSlow)
	defer cancel()
	return OpenShown(ctx, &r.StoreFlags, "pulley top")
}

// watch looks so many times; 0: until ctx ends. After a first look, errors are shown.
func (r *TopCmd) watch(ctx context.Context, c *console.Console, store ShownStore, screen *console.FullScreen, looks int) error {
	var last *overview
	for n := 1; ; n++ {
		width, height := 0, 0
		if screen != nil {
			width, height = screen.Size()
		}
		now, err := r.look(ctx, store.Shown, r.rows(height))
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			last = now
		case last == nil:
			return err
		}
		if err := r.show(c, screen, overviewText(store.Place, last, err, width, height), last, err); err != nil {
			return err
		}
		if n == looks {
			return nil
		}
		if pause.For(ctx, r.Every) != nil {
			return context.Cause(ctx)
		}
	}
}

// rows is how many instances a look reads.
func (r *TopCmd) rows(height int) int {
	switch {
	case r.Count > 0:
		return r.Count
	case height > 0:
		return min(max(height-overviewLines, 1), topCountMax)
	}
	return topCount
}

func (r *TopCmd) show(c *console.Console, screen *console.FullScreen, text string, o *overview, problem error) error {
	switch {
	case screen != nil:
		return screen.Draw(text)
	case r.JSON():
		if problem != nil {
			c.Say("pulley: %v", problem)
			return nil
		}
		return c.Show(func(w io.Writer) error { return json.NewEncoder(w).Encode(o) })
	}
	return c.Print(text)
}

// overview is what a look finds.
type overview struct {
	At        time.Time                     `json:"at"`
	Recent    recent                        `json:"recent"`
	Limits    []inspect.LimitExplanation    `json:"limits"`
	Schedules []inspect.ScheduleExplanation `json:"schedules"`
	Instances []overviewRow                 `json:"instances"`
}

// recent counts the newest instances.
type recent struct {
	Instances int     `json:"instances"`
	Running   int     `json:"running"`
	Completed int     `json:"completed"`
	Failed    int     `json:"failed"`
	Canceled  int     `json:"canceled"`
	Seconds   float64 `json:"seconds"`   // of Submitted and Ended
	Submitted int     `json:"submitted"` // lately
	Ended     int     `json:"ended"`
	More      bool    `json:"more"` // there are older ones
}

type overviewRow struct {
	listed
	WaitsFor string `json:"waits_for"`

	counts *backend.RunCounts
}

// look reads an overview, with so many running instances at most.
func (r *TopCmd) look(ctx context.Context, store backend.Inspector, rows int) (*overview, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, CallTimeout, ErrSlow)
	defer cancel()
	o := &overview{Limits: []inspect.LimitExplanation{}, Schedules: []inspect.ScheduleExplanation{}, Instances: []overviewRow{}}
	err := errors.Join(r.addRecent(ctx, store, o), r.addWaiting(ctx, store, o), r.addInstances(ctx, store, o, rows))
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return o, err
}

func (r *TopCmd) addRecent(ctx context.Context, store backend.Inspector, o *overview) error {
	page, err := store.List(ctx, backend.Filter{Workflow: r.Workflow, Most: recentMost, CountMost: 1})
	if err != nil {
		return err
	}
	o.At, o.Recent = page.Now, countRecent(page)
	return nil
}

func countRecent(page backend.Page) recent {
	n := recent{Instances: len(page.Instances), Seconds: recentSeconds, More: page.Next != uuid.Nil}
	if oldest := oldestOf(page); n.More && page.Now.Sub(oldest).Seconds() < recentSeconds {
		n.Seconds = max(page.Now.Sub(oldest).Seconds(), 0.001)
	}
	since := page.Now.Add(-time.Duration(n.Seconds * float64(time.Second)))
	for _, in := range page.Instances {
		switch in.Status {
		case backend.Running:
			n.Running++
		case backend.Completed:
			n.Completed++
		case backend.Failed:
			n.Failed++
		case backend.Canceled:
			n.Canceled++
		}
		if !in.Submitted.Before(since) {
			n.Submitted++
		}
		if !in.Ended.IsZero() && !in.Ended.Before(since) {
			n.Ended++
		}
	}
	return n
}

// oldestOf returns when the oldest instance of a page was submitted.
func oldestOf(page backend.Page) time.Time {
	oldest := page.Now
	for _, in := range page.Instances {
		if in.Submitted.Before(oldest) {
			oldest = in.Submitted
		}
	}
	return oldest
}

// addWaiting adds what limits and schedules say.
func (r *TopCmd) addWaiting(ctx context.Context, store any, o *overview) error {
	limits, now, err := limitsOf(ctx, store)
	if err != nil {
		return err
	}
	for _, l := range limits {
		o.Limits = append(o.Limits, inspect.ExplainLimit(l, now))
	}
	scheduler, ok := store.(backend.Scheduler)
	if !ok {
		return nil
	}
	schedules, now, err := scheduler.Schedules(ctx)
	if err != nil {
		return err
	}
	for _, s := range schedules {
		o.Schedules = append(o.Schedules, inspect.ExplainSchedule(s, limits, now))
	}
	return nil
}

func (r *TopCmd) addInstances(ctx context.Context, store backend.Inspector, o *overview, rows int) error {
	page, err := store.List(ctx, backend.Filter{Workflow: r.Workflow, Status: backend.Running, Most: rows, CountMost: countMost})
	if err != nil {
		return err
	}
	all := listOf(page)
	for i, in := range page.Instances {
		s, err := backend.InspectWhole(ctx, store, in.ID, openMost)
		if err != nil {
			return err
		}
		o.Instances = append(o.Instances, overviewRow{all.Instances[i], inspect.Explain(s).Sentence, in.Counts})
	}
	return nil
}
