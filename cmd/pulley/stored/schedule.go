package stored

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/inspect"
	"pulley/engine/schedule"
	"pulley/internal/aligned"
	"pulley/internal/plural"
)

// ScheduleCmd is a group of commands.
type ScheduleCmd struct {
	Add    scheduleAddCmd    `cmd:"" help:"Store a schedule, which starts instances of a workflow."`
	List   scheduleListCmd   `cmd:"" help:"List the schedules of a schema."`
	Show   scheduleShowCmd   `cmd:"" help:"Print a schedule, where it stands, and what it started last."`
	Pause  schedulePauseCmd  `cmd:"" help:"Let a schedule start nothing until it is resumed."`
	Resume scheduleResumeCmd `cmd:"" help:"Let a paused schedule start instances again, from its next tick on."`
	Rm     scheduleRmCmd     `cmd:"" help:"Remove a schedule. Its instances stay."`
	Next   scheduleNextCmd   `cmd:"" help:"Print the next ticks of a schedule, or of any expression without a database."`
}

// Help explains the commands.
func (ScheduleCmd) Help() string {
	return "A schedule is kept in the database. Every pulley work on its schema starts its instances, each exactly one for each tick, and runs their actions; pulley " +
		"wait and cancel take the instances' ids.\n\n" +
		"Times are those of the database's clock. Where a time zone changes its offset, a time that does not exist is read later, by as much as the clock jumps, and one " +
		"that exists twice counts once, at first; with an hour field of *, elapsed time counts instead."
}

// timesFlags say when a schedule fires.
type timesFlags struct {
	Cron  string        `placeholder:"EXPRESSION" help:"When: minute, hour, day of month, month and weekday, such as '30 6 * * 1-5'; with seconds first, if there are six fields; or @hourly, @daily, @weekly, @monthly, @yearly."`
	Every time.Duration `placeholder:"TIME" help:"When: at the multiples of an interval since 1970, such as 15m."`
	Zone  string        `default:"UTC" placeholder:"ZONE" help:"The time zone of --cron, such as Europe/Berlin. Default: UTC."`
}

func (f *timesFlags) check() error {
	switch {
	case f.Cron == "" && f.Every == 0:
		return errors.New("when is missing; give --cron EXPRESSION or --every TIME")
	case f.Cron != "" && f.Every != 0:
		return errors.New("--cron and --every: choose one")
	}
	return nil
}

// opener opens a store that exists.
type opener struct {
	console.StoreFlags
	console.TimeoutFlag `set:"wait=1m" set:"answer=the database"`
	console.FormatFlag
}

// with calls ask with the schedules of a schema, which it creates only if create is set.
func (o *opener) with(_ *console.Console, create bool, ask func(ctx context.Context, store backend.Scheduler, schema string) error) error {
	return o.open("pulley schedule", "pulley schedule add", create, func(ctx context.Context, store backend.Backend, p place) error {
		scheduler, ok := store.(backend.Scheduler)
		if !ok {
			return fmt.Errorf("backend %s has no schedules; choose another backend", p.spec)
		}
		return ask(ctx, scheduler, p.schema)
	})
}

// open calls ask with a schema's store, which it creates only if create is set. maker is the command that does.
func (o *opener) open(application, maker string, create bool, ask func(ctx context.Context, store backend.Backend, p place) error) error {
	p, err := placeOf(&o.StoreFlags)
	switch {
	case err != nil:
		return err
	case o.Timeout <= 0:
		return ErrTimeout(o.Timeout)
	}
	ctx, stop := console.Interruptible()
	defer stop()
	bounded, done := context.WithTimeoutCause(ctx, o.Timeout, ErrSlow)
	defer done()
	store, closing, err := openStored(bounded, &o.StoreFlags, p.spec, p.schema, application, create)
	if err != nil {
		return console.Ended(ctx, err)
	}
	if store == nil {
		return fmt.Errorf("there is no schema %s; --schema and --backend say where to look, %s makes it", p.schema, maker)
	}
	defer closing()
	return console.Ended(ctx, ask(bounded, store, p))
}

// findSchedule reads one schedule, and the store's time.
func findSchedule(ctx context.Context, store backend.Scheduler, name string) (s backend.StoredSchedule, now time.Time, err error) {
	found, now, err := store.Schedules(ctx, name)
	if err != nil {
		return s, now, err
	}
	if len(found) == 1 {
		return found[0], now, nil
	}
	all, _, err := store.Schedules(ctx)
	if err != nil {
		return s, now, err
	}
	return s, now, errUnknown("schedule", name, all, func(s backend.StoredSchedule) string { return s.Name })
}

type scheduleAddCmd struct {
	Name string `arg:"" help:"The schedule's name, by which the other commands find it."`
	console.ProgramArg
	timesFlags
	console.InputFlag
	Jitter     time.Duration `placeholder:"TIME" help:"Start each instance later by a part of TIME, which differs from tick to tick and schedule to schedule, so that many do not start at once. Default: 0s."`
	Overlap    string        `default:"skip" placeholder:"POLICY" help:"What a tick does while the instance of an earlier one runs: skip, queue (wait for it), cancel (end it) or allow. Default: skip."`
	QueueMax   int           `default:"100" placeholder:"N" help:"Ticks that wait with --overlap queue; more are skipped. Default: 100."`
	CatchUp    string        `default:"last" placeholder:"POLICY" help:"Which of the ticks fire that were missed, because nobody worked: last, none or all. Default: last."`
	CatchUpMax int           `default:"100" placeholder:"N" help:"Missed ticks that fire with --catch-up all: the latest. Default: 100."`
	Grace      time.Duration `default:"1m" placeholder:"TIME" help:"How late a tick may be without being missed. Default: 1m."`
	Priority   int           `placeholder:"N" help:"How urgent its instances are, from 0 to 9: see pulley submit. Default: 0."`
	Paused     bool          `help:"Store it paused."`
	opener
}

func (scheduleAddCmd) Help() string {
	return "It checks workflow, input and times, and stores them; what the workflow's file says later does not matter. A schema that does not exist is made.\n\n" +
		"Examples:\n\n  pulley schedule add nightly report.ir --cron '30 2 * * *' --zone Europe/Berlin --dsn postgres://me@localhost/work\n" +
		"  pulley schedule add poll poll.ir --every 15s --overlap queue --input '{\"n\": 3}'"
}

func (r *scheduleAddCmd) Run(c *console.Console) error {
	if err := checkName(r.Name); err != nil {
		return err
	}
	if err := r.timesFlags.check(); err != nil {
		return err
	}
	if r.QueueMax < 1 || r.CatchUpMax < 1 || r.Grace <= 0 {
		return errors.New("--queue-max, --catch-up-max and --grace: choose 1 or more, and a positive time")
	}
	times, err := schedule.Compile(schedule.Spec{
		Cron: r.Cron, Every: r.Every, Zone: r.Zone, Jitter: r.Jitter, Overlap: schedule.Overlap(r.Overlap), QueueMax: r.QueueMax,
		CatchUp: schedule.CatchUp(r.CatchUp), CatchUpMax: r.CatchUpMax, Grace: r.Grace,
	})
	if err != nil {
		return err
	}
	if r.File == "-" && r.InputText() == "-" {
		return errors.New("standard input cannot be both the program and its input; write --input @FILE")
	}
	program, err := r.Compile(c)
	if err != nil {
		return err
	}
	if program, err = prioritized(program, r.Priority); err != nil {
		return err
	}
	where, err := placeOf(&r.StoreFlags)
	if err != nil {
		return err
	}
	input, err := r.ReadInput(c, r.InputText(), program)
	if err != nil {
		return err
	}
	return r.with(c, true, func(ctx context.Context, store backend.Scheduler, schema string) error {
		if err := checkPriority(store, where, program); err != nil {
			return err
		}
		s := backend.Schedule{ID: uuid.New(), Name: r.Name, Program: program, Input: input, Times: times}
		switch err := store.AddSchedule(ctx, s, r.Paused); {
		case errors.Is(err, backend.ErrScheduleExists):
			return fmt.Errorf("there is a schedule %q in schema %s already; choose another name, or remove it with pulley schedule rm %[1]s", r.Name, schema)
		case err != nil:
			return err
		}
		return printSchedule(ctx, c, store, r.Name, "added ", r.FormatFlag)
	})
}

const nameBytes = 200

func checkName(name string) error {
	if name == "" || len(name) > nameBytes || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("schedule %q: choose a name of 1 to %d bytes, without control characters", name, nameBytes)
	}
	return nil
}

// printSchedule prints what a command did to a schedule, and where that stands.
func printSchedule(ctx context.Context, c *console.Console, store backend.Scheduler, name, did string, f console.FormatFlag) error {
	s, _, err := findSchedule(ctx, store, name)
	if err != nil {
		return err
	}
	return c.PrintAs(f, describeSchedule(s), did+s.Name+": "+nextWords(s)+"\n")
}

func nextWords(s backend.StoredSchedule) string {
	words := tickWords(s)
	if s.Err == nil && !s.State.Paused && !s.State.Next.IsZero() {
		words = "next " + words
	}
	return words
}

func tickWords(s backend.StoredSchedule) string {
	switch {
	case s.Err != nil:
		return console.OneLine(s.Err.Error())
	case s.State.Paused:
		return "paused"
	case s.State.Next.IsZero():
		return "no tick is left"
	}
	return tickMoment(s.Times, s.State.Next)
}

// tickMoment formats a tick in its zone and in UTC.
func tickMoment(times *schedule.Schedule, tick time.Time) string {
	if times.Zone() == time.UTC {
		return utc(tick)
	}
	local := tick.In(times.Zone())
	return local.Format("Mon 2006-01-02 15:04:05"+fraction(tick)+" MST") + " (" + utc(tick) + ")"
}

func utc(tick time.Time) string {
	return tick.UTC().Format("2006-01-02 15:04:05" + fraction(tick) + " UTC")
}

func fraction(tick time.Time) string {
	if tick.Nanosecond() == 0 {
		return ""
	}
	return ".999999999"
}

type scheduleListCmd struct{ opener }

func (r *scheduleListCmd) Run(c *console.Console) error {
	return r.with(c, false, func(ctx context.Context, store backend.Scheduler, schema string) error {
		all, _, err := store.Schedules(ctx)
		if err != nil {
			return err
		}
		described := make([]describedSchedule, len(all))
		rows := [][]string{{"name", "when", "next", "fired", "skipped"}}
		for i, s := range all {
			described[i] = describeSchedule(s)
			rows = append(rows, []string{s.Name, whenWords(s), tickWords(s), fmt.Sprint(s.State.Fired), fmt.Sprint(s.State.Skipped)})
		}
		if len(all) == 0 {
			c.Say("pulley: schema %s has no schedules; pulley schedule add stores one", schema)
		}
		var text bytes.Buffer
		if len(all) > 0 {
			aligned.Write(&text, rows, func(column int) bool { return column < 3 })
		}
		return c.PrintAs(r.FormatFlag, described, text.String())
	})
}

func whenWords(s backend.StoredSchedule) string {
	if s.Times == nil {
		return "?"
	}
	spec := s.Times.Spec()
	if spec.Cron == "" {
		return "every " + spec.Every.String()
	}
	return spec.Cron + " " + cmp.Or(spec.Zone, "UTC")
}

type scheduleShowCmd struct {
	Name string `arg:"" help:"The schedule's name."`
	opener
}

func (r *scheduleShowCmd) Run(c *console.Console) error {
	return r.with(c, false, func(ctx context.Context, store backend.Scheduler, _ string) error {
		s, now, err := findSchedule(ctx, store, r.Name)
		if err != nil {
			return err
		}
		return c.PrintAs(r.FormatFlag, describeSchedule(s), showWords(s, now))
	})
}

func showWords(s backend.StoredSchedule, now time.Time) string {
	var b bytes.Buffer
	var rows [][]string
	add := func(name, format string, args ...any) {
		rows = append(rows, []string{name, fmt.Sprintf(format, args...)})
	}
	add("schedule", "%s, %s", s.Name, s.ID)
	if s.Err != nil {
		add("error", "%s", console.OneLine(s.Err.Error()))
	}
	if s.Program != nil {
		add("workflow", "%s", s.Program.Graph().Name)
		if n := s.Program.Priority(); n > 0 {
			add("priority", "%d", n)
		}
	}
	add("input", "%s", console.OneLine(string(s.Input)))
	if s.Times != nil {
		spec := s.Times.Spec()
		add("when", "%s", whenWords(s))
		add("jitter", "%s", spec.Jitter)
		add("overlap", "%s", overlapWords(spec))
		add("catch-up", "%s", catchUpWords(spec))
		add("next", "%s", tickWords(s))
	}
	st := s.State
	add("fired", "%d; %d skipped, %d refused", st.Fired, st.Skipped, st.Refused)
	if st.Problem != "" {
		add("problem", "%s", console.OneLine(st.Problem))
	}
	if !st.LastTick.IsZero() && s.Times != nil {
		add("last", "%s", tickMoment(s.Times, st.LastTick))
		add("instance", "%s", schedule.FiringID(s.ID, st.LastTick))
	}
	if len(st.Waiting) > 0 {
		add("waiting", "%s", plural.Of(len(st.Waiting), "tick"))
	}
	if !s.Wake.IsZero() && now.Sub(s.Wake) > inspect.OverdueAfter {
		add("overdue", "%s; start pulley work on this schema", now.Sub(s.Wake).Round(time.Second))
	}
	aligned.Write(&b, rows, func(int) bool { return true })
	return b.String()
}

func overlapWords(spec schedule.Spec) string {
	if spec.Overlap == schedule.Queue {
		return fmt.Sprintf("queue, %s at most", plural.Of(spec.QueueMax, "tick"))
	}
	return string(spec.Overlap)
}

func catchUpWords(spec schedule.Spec) string {
	text := string(spec.CatchUp)
	if spec.CatchUp == schedule.All {
		text = fmt.Sprintf("all, %s at most", plural.Of(spec.CatchUpMax, "tick"))
	}
	return text + "; missed after " + spec.Grace.String()
}

// describedSchedule is the JSON of a schedule.
type describedSchedule struct {
	Name       string          `json:"name"`
	ID         uuid.UUID       `json:"id"`
	Workflow   string          `json:"workflow"`
	Priority   int             `json:"priority,omitempty"`
	Input      json.RawMessage `json:"input"`
	Cron       string          `json:"cron,omitempty"`
	EveryS     float64         `json:"every_s,omitempty"`
	Zone       string          `json:"zone"`
	JitterS    float64         `json:"jitter_s"`
	Overlap    string          `json:"overlap"`
	QueueMax   int             `json:"queue_max"`
	CatchUp    string          `json:"catch_up"`
	CatchUpMax int             `json:"catch_up_max"`
	GraceS     float64         `json:"grace_s"`
	Paused     bool            `json:"paused"`
	Next       *time.Time      `json:"next"` // tick; null: none, or paused
	Fired      int64           `json:"fired"`
	Skipped    int64           `json:"skipped"`
	Refused    int64           `json:"refused"`
	Problem    string          `json:"problem,omitempty"`
	LastTick   *time.Time      `json:"last_tick"` // that fired
	Instance   *uuid.UUID      `json:"instance"`  // of the last tick
	Running    []uuid.UUID     `json:"running"`   // instances that may run; not with overlap allow
	Waiting    []time.Time     `json:"waiting"`   // ticks
	Error      string          `json:"error,omitempty"`
}

func describeSchedule(s backend.StoredSchedule) describedSchedule {
	st := s.State
	d := describedSchedule{
		Name: s.Name, ID: s.ID, Input: s.Input, Paused: st.Paused, Fired: st.Fired, Skipped: st.Skipped, Refused: st.Refused, Problem: st.Problem,
		Running: []uuid.UUID{}, Waiting: append([]time.Time{}, st.Waiting...),
	}
	if s.Program != nil {
		d.Workflow, d.Priority = s.Program.Graph().Name, s.Program.Priority()
	}
	if s.Err != nil {
		d.Error = s.Err.Error()
	}
	if s.Times != nil {
		spec := s.Times.Spec()
		d.Cron, d.EveryS, d.Zone, d.JitterS = spec.Cron, spec.Every.Seconds(), cmp.Or(spec.Zone, "UTC"), spec.Jitter.Seconds()
		d.Overlap, d.QueueMax, d.CatchUp, d.CatchUpMax, d.GraceS = string(spec.Overlap), spec.QueueMax, string(spec.CatchUp), spec.CatchUpMax, spec.Grace.Seconds()
	}
	if !st.Paused && !st.Next.IsZero() {
		d.Next = &st.Next
	}
	if !st.LastTick.IsZero() {
		id := schedule.FiringID(s.ID, st.LastTick)
		d.LastTick, d.Instance = &st.LastTick, &id
	}
	for _, tick := range st.Running {
		d.Running = append(d.Running, schedule.FiringID(s.ID, tick))
	}
	return d
}

type schedulePauseCmd struct {
	Name string `arg:"" help:"The schedule's name."`
	opener
}

func (schedulePauseCmd) Help() string {
	return "What it has started continues, and so does what it had decided to start. Ticks that pass while it is paused never fire."
}

func (r *schedulePauseCmd) Run(c *console.Console) error {
	return r.with(c, false, func(ctx context.Context, store backend.Scheduler, _ string) error {
		err := changeSchedule(ctx, store, r.Name, func(s backend.StoredSchedule, _ time.Time) schedule.State { return s.Times.Pause(s.State) })
		if err != nil {
			return err
		}
		return printSchedule(ctx, c, store, r.Name, "", r.FormatFlag)
	})
}

type scheduleResumeCmd struct {
	Name string `arg:"" help:"The schedule's name."`
	opener
}

func (r *scheduleResumeCmd) Run(c *console.Console) error {
	return r.with(c, false, func(ctx context.Context, store backend.Scheduler, _ string) error {
		err := changeSchedule(ctx, store, r.Name, func(s backend.StoredSchedule, now time.Time) schedule.State { return s.Times.Resume(s.State, now) })
		if err != nil {
			return err
		}
		return printSchedule(ctx, c, store, r.Name, "resumed ", r.FormatFlag)
	})
}

// changeTries bounds the tries of a change that meets engines.
const changeTries = 100

// changeSchedule stores a changed state. An engine that decides at the same time is fenced, and decides again.
func changeSchedule(ctx context.Context, store backend.Scheduler, name string, change func(s backend.StoredSchedule, now time.Time) schedule.State) error {
	for range changeTries {
		s, now, err := findSchedule(ctx, store, name)
		switch {
		case err != nil:
			return err
		case s.Err != nil:
			return s.Err
		}
		st := change(s, now)
		saved, err := store.SaveSchedules(ctx, []backend.ScheduleSave{{ID: s.ID, Version: s.Version, State: st, Wake: s.Times.Wake(s.ID, st, now)}})
		if err != nil || saved[0] {
			return err
		}
	}
	return fmt.Errorf("schedule %s: it changed at each of %d tries; try again", name, changeTries)
}

type scheduleRmCmd struct {
	Name string `arg:"" help:"The schedule's name."`
	opener
}

func (r *scheduleRmCmd) Run(c *console.Console) error {
	return r.with(c, false, func(ctx context.Context, store backend.Scheduler, _ string) error {
		s, _, err := findSchedule(ctx, store, r.Name)
		if err != nil {
			return err
		}
		if _, err := store.RemoveSchedule(ctx, r.Name); err != nil {
			return err
		}
		return c.PrintAs(r.FormatFlag, describeSchedule(s), "removed "+r.Name+"\n")
	})
}

type scheduleNextCmd struct {
	Name string `arg:"" optional:"" help:"The schedule's name. Without it: --cron or --every, and no database is used."`
	timesFlags
	Count int    `default:"10" placeholder:"N" help:"How many ticks. Default: 10."`
	From  string `placeholder:"TIME" help:"Print ticks after this time, such as 2026-03-28T00:00:00Z. Default: now."`
	opener
}

func (scheduleNextCmd) Help() string {
	return "Examples:\n\n  pulley schedule next --cron '30 2 * * *' --zone Europe/Berlin --from 2026-03-28T00:00:00Z --count 3\n  pulley schedule next nightly --dsn postgres://me@localhost/work"
}

func (r *scheduleNextCmd) Run(c *console.Console) error {
	if r.Count < 1 || r.Count > 1000 {
		return fmt.Errorf("--count %d: choose from 1 to 1000", r.Count)
	}
	from := time.Now()
	if r.From != "" {
		var err error
		if from, err = time.Parse(time.RFC3339, r.From); err != nil {
			return fmt.Errorf("--from %s: this is not a time such as 2026-03-28T00:00:00Z", r.From)
		}
	}
	if r.Name == "" {
		if err := r.timesFlags.check(); err != nil {
			return fmt.Errorf("%w, or the name of a schedule", err)
		}
		times, err := schedule.Compile(schedule.Spec{Cron: r.Cron, Every: r.Every, Zone: r.Zone})
		if err != nil {
			return err
		}
		return r.print(c, times, uuid.Nil, from)
	}
	if r.Cron != "" || r.Every != 0 {
		return fmt.Errorf("--cron and --every are for ticks without a schedule; leave them or %s out", r.Name)
	}
	return r.with(c, false, func(ctx context.Context, store backend.Scheduler, _ string) error {
		s, now, err := findSchedule(ctx, store, r.Name)
		switch {
		case err != nil:
			return err
		case s.Err != nil:
			return s.Err
		case r.From == "":
			from = now
		}
		if s.State.Paused {
			c.Say("pulley: schedule %s is paused: none of these fires until pulley schedule resume", r.Name)
		}
		return r.print(c, s.Times, s.ID, from)
	})
}

type printedTick struct {
	Local string    `json:"local"`
	UTC   time.Time `json:"utc"`
	Due   time.Time `json:"due"` // with jitter, which depends on the schedule
}

func (r *scheduleNextCmd) print(c *console.Console, times *schedule.Schedule, id uuid.UUID, from time.Time) error {
	ticks := []printedTick{}
	var rows [][]string
	for tick := times.Next(from); !tick.IsZero() && len(ticks) < r.Count; tick = times.Next(tick) {
		local, due := tick.In(times.Zone()), times.Due(id, tick)
		ticks = append(ticks, printedTick{local.Format(time.RFC3339Nano), tick, due})
		row := []string{local.Format("Mon 2006-01-02 15:04:05" + fraction(tick) + " MST"), utc(tick)}
		if !due.Equal(tick) {
			row = append(row, "due "+due.Sub(tick).Round(time.Millisecond).String()+" later")
		}
		rows = append(rows, row)
	}
	var text bytes.Buffer
	aligned.Write(&text, rows, func(int) bool { return true })
	return c.PrintAs(r.FormatFlag, ticks, text.String())
}
