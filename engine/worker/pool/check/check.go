package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulley/engine/worker"
	"pulley/engine/worker/procgroup"
)

// What Options mean that do not say.
const (
	TimeoutDefault      = 5 * time.Second
	HelloTimeoutDefault = 30 * time.Second
)

// Call is an action and arguments, an object, that it may be run with.
type Call struct {
	Action string
	Args   json.RawMessage
}

// Options say what is checked.
type Options struct {
	// Command is the worker's program and its arguments. A program without a slash is looked for in PATH.
	Command []string

	// Run may be run and gives a result; nil: there is none.
	Run *Call

	// Slow may be run, and takes longer than Patience; nil: there is none.
	Slow *Call

	// Timeout is how long an answer, a heartbeat beyond the worker's own interval, and the end may take; zero means TimeoutDefault.
	Timeout time.Duration

	// HelloTimeout is how long a worker may take to say hello; zero means HelloTimeoutDefault.
	HelloTimeout time.Duration

	// Log is called with each line that the worker writes to standard error; nil: nobody is told.
	Log func(line string)
}

// Finding is something that a worker does wrong.
type Finding struct {
	Check    string // what was checked
	Sent     string // what was sent to the worker; empty: nothing
	Expected string
	Came     string
	Advice   string // what to do
}

// String is the finding in one line.
func (f Finding) String() string {
	sent := ""
	if f.Sent != "" {
		sent = "sent " + clip(f.Sent) + "; "
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s: %sexpected %s; came %s; %s", f.Check, sent, f.Expected, clip(f.Came), f.Advice)), " ")
}

// clip keeps what is quoted short.
func clip(text string) string {
	const most = 240
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Report is what came of it.
type Report struct {
	Findings []Finding
	Passed   []string // checks without a finding
	LeftOut  []string // checks that were left out, each with the reason
}

// kit is a run of all checks.
type kit struct {
	options Options
	argv    []string
	keeper  *procgroup.Supervisor
	report  Report
	lastID  int
}

// Run checks a worker. The error is not the worker's.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	if len(o.Command) == 0 || o.Command[0] == "" {
		return nil, errors.New("no program; name one and its arguments")
	}
	for _, c := range []*Call{o.Run, o.Slow} {
		if c != nil && (!worker.IsActionName(c.Action) || !isObject(c.Args)) {
			return nil, fmt.Errorf("%s %s is no action with its arguments; write such as mail.send {\"to\": \"x\"}", c.Action, c.Args)
		}
	}
	o.Timeout = cmp.Or(o.Timeout, TimeoutDefault)
	o.HelloTimeout = cmp.Or(o.HelloTimeout, HelloTimeoutDefault)
	program, err := procgroup.Find(o.Command[0], ".")
	if err != nil {
		return nil, err
	}
	k := &kit{options: o, argv: append([]string{program}, o.Command[1:]...)}
	if k.keeper, err = procgroup.New(); err != nil {
		return nil, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, k.keeper.Close(closing))
	}()
	for _, life := range []func(*session){(*session).checkLifecycle, (*session).checkGoodbyeAtWork, (*session).inputEnds} {
		if err := k.session(ctx, life); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if slices.ContainsFunc(k.report.Findings, func(f Finding) bool { return f.Check == checkHello }) {
			break // it will not say it right the next time either
		}
	}
	return k.finish(), nil
}

func isObject(text json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(text, &object) == nil && object != nil
}

// find adds a finding, the first of each check and reason.
func (k *kit) find(f Finding) {
	if !slices.ContainsFunc(k.report.Findings, func(g Finding) bool { return g.Check == f.Check && g.Expected == f.Expected }) {
		k.report.Findings = append(k.report.Findings, f)
	}
}

func (k *kit) leaveOut(check, why string) {
	k.report.LeftOut = append(k.report.LeftOut, check+": "+why)
}

// passes notes a check that was made.
func (k *kit) passes(check string) { k.report.Passed = append(k.report.Passed, check) }

// finish takes the checks with findings from those that passed.
func (k *kit) finish() *Report {
	slices.Sort(k.report.Passed)
	k.report.Passed = slices.DeleteFunc(slices.Compact(k.report.Passed), func(check string) bool {
		return slices.ContainsFunc(k.report.Findings, func(f Finding) bool { return f.Check == check })
	})
	return &k.report
}
