package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pulley/adapter/host"
	"pulley/adapter/protocol"
	"pulley/engine/worker/procgroup"
)

// Defaults of Options.
const (
	TimeoutDefault  = 30 * time.Second
	RecoveryDefault = time.Minute
)

// recoveryFactor is how many times as long as recovers_ms promises work may wait.
const recoveryFactor = 20

// Options configure a check.
type Options struct {
	// Command is the adapter's program and its arguments; see [host.Command].
	Command []string

	// Settings are given to the adapter by the names that its hello lists; others get their defaults.
	Settings map[string]string

	// DSN is a Postgres on which databases may be created. Empty: the adapter gets a folder only.
	DSN string

	// Timeout bounds each answer, the end of a process, and the end of a few instances while nothing goes wrong. Zero means
	// TimeoutDefault.
	Timeout time.Duration

	// Recovery is the least time that instances have to end after a process was killed; twenty times the promise recovers_ms,
	// if that is more. Zero means RecoveryDefault.
	Recovery time.Duration

	// Log receives each line that the adapter writes to standard error, and what else is no message; may be nil.
	Log func(line string)

	// Found receives each finding when it is found, concurrently; may be nil.
	Found func(Finding)
}

// Finding is a mistake of an adapter.
type Finding struct {
	Check    string // what was checked
	Sent     string // to the adapter; empty: nothing of interest
	Expected string
	Came     string
	Advice   string // what to do
}

// String is one line.
func (f Finding) String() string {
	sent := ""
	if f.Sent != "" {
		sent = "sent " + shorter(f.Sent) + "; "
	}
	return oneLine.Replace(fmt.Sprintf("%s: %sexpected %s; came %s; %s", f.Check, sent, f.Expected, shorter(f.Came), f.Advice))
}

var oneLine = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ")

func shorter(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Report is the result of a check.
type Report struct {
	Hello    *protocol.Hello // nil: there was none
	Findings []Finding
	Passed   []string // checks without a finding; none that was left out
	LeftOut  []string // omitted checks, with the reason
}

// kit is one call of Run.
type kit struct {
	options  Options
	ctx      context.Context
	hello    *protocol.Hello
	settings map[string]string
	wrong    error // the user's mistake

	mu      sync.Mutex // processes find mistakes concurrently
	report  Report
	omitted []string // checks that were left out
	failed  string   // the check of the last failure
	stopped string   // the check whose failure kept others from running; empty: none
}

// Run checks an adapter. The error is not about the adapter's behaviour: its program is not there, a setting is none that it
// lists, or there is no database.
func Run(ctx context.Context, o Options) (*Report, error) {
	o.Timeout, o.Recovery = cmp.Or(o.Timeout, TimeoutDefault), cmp.Or(o.Recovery, RecoveryDefault)
	if o.Timeout < 0 || o.Recovery < 0 {
		return nil, errors.New("a time is below zero")
	}
	k := &kit{options: o, ctx: ctx}
	for _, part := range []struct {
		database bool
		check    func(*run) bool // reports whether the next part would not only repeat a mistake
	}{
		{false, (*run).checkHello}, {false, (*run).checkUnusable}, {true, (*run).checkSettings}, {true, (*run).checkAlone}, {true, (*run).checkTogether},
	} {
		goesOn, err := k.run(part.database, part.check)
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if k.wrong != nil {
			return nil, k.wrong
		}
		if !goesOn {
			k.giveUp()
			break
		}
	}
	return k.finish(), nil
}

// CanRun reports, as an error, why an adapter's program cannot be started.
func CanRun(command []string) error {
	if len(command) == 0 {
		_, err := host.Command()
		return err
	}
	_, err := procgroup.Find(command[0], ".")
	return err
}

// find adds a finding. Of those that expected the same, the first suffices.
func (k *kit) find(f Finding) {
	if k.ctx.Err() != nil {
		return // waits end with the context
	}
	if k.addFinding(f) && k.options.Found != nil {
		k.options.Found(f)
	}
}

func (k *kit) addFinding(f Finding) (isNew bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	isNew = !slices.ContainsFunc(k.report.Findings, func(g Finding) bool { return g.Check == f.Check && g.Expected == f.Expected })
	if isNew {
		k.report.Findings = append(k.report.Findings, f)
	}
	return isNew
}

// fail adds the finding of a check that could not go on. It returns false.
func (k *kit) fail(f Finding) bool {
	k.find(f)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failed = f.Check
	return false
}

// giveUp notes that the last failure keeps other checks from running: they would only report it again.
func (k *kit) giveUp() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped == "" {
		k.stopped = k.failed
	}
}

func (k *kit) leaveOut(check, why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.omitted = append(k.omitted, check)
	k.report.LeftOut = append(k.report.LeftOut, check+": "+why)
}

// begins notes that a check is made: it passes unless there is a finding of its name, or it turns out that it has to be left out.
func (k *kit) begins(check string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.report.Passed = append(k.report.Passed, check)
}

func (k *kit) finish() *Report {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.report.Hello = k.hello
	k.leaveOutRest()
	slices.Sort(k.report.Passed)
	k.report.Passed = slices.DeleteFunc(slices.Compact(k.report.Passed), func(check string) bool {
		return slices.Contains(k.omitted, check) || slices.ContainsFunc(k.report.Findings, func(f Finding) bool { return f.Check == check })
	})
	return &k.report
}

// leaveOutRest names the checks that a failure kept from running.
func (k *kit) leaveOutRest() {
	if k.stopped == "" {
		return
	}
	rest := slices.DeleteFunc(k.names(), func(check string) bool {
		return slices.Contains(k.report.Passed, check) || slices.Contains(k.omitted, check) ||
			slices.ContainsFunc(k.report.Findings, func(f Finding) bool { return f.Check == check })
	})
	if len(rest) > 0 {
		k.report.LeftOut = append(k.report.LeftOut, strings.Join(rest, ", ")+": they were not run, since "+k.stopped+" has a finding")
	}
}

// recovery bounds the wait for instances after something went wrong.
func (k *kit) recovery() time.Duration {
	return max(k.options.Recovery, recoveryFactor*time.Duration(k.hello.Promises.RecoversMS)*time.Millisecond)
}

// came says in a finding what an error is about.
func came(err error) string {
	var late *host.Late
	var died *host.Died
	var refused *host.Refused
	var wrong *host.Misbehaviour
	switch {
	case errors.As(err, &late):
		return fmt.Sprintf("nothing for %v", roughly(late.Within))
	case errors.As(err, &died):
		text := fmt.Sprintf("its end with %v", died.State)
		if n := len(died.Said); n > 0 {
			text += ", and on standard error: " + died.Said[n-1]
		}
		return text
	case errors.As(err, &refused):
		return "error: " + refused.Message
	case errors.As(err, &wrong):
		return wrong.Came
	}
	return err.Error()
}

func roughly(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(time.Second)
	}
	return d
}
