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

// Defaults of Options.
const (
	TimeoutDefault      = 5 * time.Second
	HelloTimeoutDefault = 30 * time.Second
)

// Call is an action that may be run, and its arguments, an object.
type Call struct {
	Action string
	Args   json.RawMessage
}

// Options configure a check.
type Options struct {
	// Command is the worker's program and its arguments. A program without a slash is searched in PATH.
	Command []string

	// Run may be run and returns a result; nil: none.
	Run *Call

	// Slow may be run, and takes longer than Timeout; nil: none.
	Slow *Call

	// Timeout bounds an answer, a heartbeat's delay, and the worker's end; zero: TimeoutDefault.
	Timeout time.Duration

	// zero: HelloTimeoutDefault
	HelloTimeout time.Duration

	// Log receives each line that the worker writes to standard error; may be nil.
	Log func(line string)
}

// Finding is a mistake of a worker.
type Finding struct {
	Check    string
	Sent     string // to the worker; empty: nothing
	Expected string
	Came     string
	Advice   string
}

func (f Finding) String() string {
	sent := ""
	if f.Sent != "" {
		sent = "sent " + clip(f.Sent) + "; "
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s: %sexpected %s; came %s; %s", f.Check, sent, f.Expected, clip(f.Came), f.Advice)), " ")
}

func clip(text string) string {
	const most = 240
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Report is the result of a check.
type Report struct {
	Findings []Finding
	Passed   []string // without a finding
	LeftOut  []string // omitted checks, with the reason
}

type kit struct {
	options Options
	argv    []string
	keeper  *procgroup.Supervisor
	report  Report
	lastID  int
}

// Run checks a worker. The error is not about the worker.
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
			break // it would repeat its mistake
		}
	}
	return k.finish(), nil
}

func isObject(text json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(text, &object) == nil && object != nil
}

func (k *kit) find(f Finding) {
	if !slices.ContainsFunc(k.report.Findings, func(g Finding) bool { return g.Check == f.Check && g.Expected == f.Expected }) {
		k.report.Findings = append(k.report.Findings, f)
	}
}

func (k *kit) leaveOut(check, why string) {
	k.report.LeftOut = append(k.report.LeftOut, check+": "+why)
}

func (k *kit) passes(check string) { k.report.Passed = append(k.report.Passed, check) }

func (k *kit) finish() *Report {
	slices.Sort(k.report.Passed)
	k.report.Passed = slices.DeleteFunc(slices.Compact(k.report.Passed), func(check string) bool {
		return slices.ContainsFunc(k.report.Findings, func(f Finding) bool { return f.Check == check })
	})
	return &k.report
}
