package check

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pulley/adapter/host"
	"pulley/adapter/protocol"
)

// The names of checks that several places have.
const (
	checkHello    = "hello"
	checkSettings = "settings"
	checkUnusable = "unusable database"
)

// nowhere is the DSN of a database that cannot be: nothing listens on port 1.
const nowhere = "postgres://pulley@127.0.0.1:1/nowhere?sslmode=disable"

// checkHello checks the first message, and the end before any other.
func (r *run) checkHello() {
	r.begins(checkHello)
	p := r.greet(0)
	if p == nil {
		return
	}
	settings, err := host.Settings(r.hello, r.options.Settings)
	if err != nil {
		r.kit.wrong = err
		p.Kill()
		return
	}
	r.kit.settings = settings
	r.stop("end of standard input", "the end of standard input after hello", p, (*host.Process).EndInput)
}

// traces are what programs print about bugs of theirs.
var traces = regexp.MustCompile(`(?m)^Traceback \(most recent call last\)|^panic: |^goroutine \d+ \[|^\s+at .*[(:]|^\s+\S+\.go:\d+|^\s+File ".*", line \d+`)

// checkUnusable gives the adapter a database that does not answer.
func (r *run) checkUnusable() {
	p := r.greet(0)
	if p == nil {
		return
	}
	setup := r.setup(true)
	setup.Store.DSN = nowhere
	ctx, cancel := r.within()
	defer cancel()
	err := p.Setup(ctx, setup)
	p.Kill()
	if err == nil {
		r.leaveOut(checkUnusable, "the adapter is ready without the database, so it does not use one")
		return
	}
	r.begins(checkUnusable)
	r.expectRefusal(Finding{
		Check: checkUnusable, Sent: "setup with the DSN " + nowhere, Expected: "error with a message, or exit status 2 and the reason on standard error", Came: came(err),
		Advice: "say in one line what is wrong with the database, and what to do",
	}, err)
}

// expectRefusal finds a refusal that is none, or is no clear line.
func (r *run) expectRefusal(f Finding, err error) {
	reason, is := host.CannotWork(err)
	switch {
	case !is:
	case strings.TrimSpace(reason) == "":
		f.Expected, f.Came = "a reason", "none"
	case traces.MatchString(reason):
		f.Expected, f.Came = "a reason for people in one line", "a stack trace: "+reason
	case errors.As(err, new(*host.Refused)) && strings.Contains(strings.TrimSpace(reason), "\n"):
		f.Expected, f.Came = "a reason in one line", fmt.Sprintf("%d: %s", 1+strings.Count(strings.TrimSpace(reason), "\n"), reason)
	default:
		return
	}
	r.find(f)
}

// checkSettings gives each setting whose default is a number a text that is none.
func (r *run) checkSettings() {
	numbers := 0
	for _, s := range r.hello.Settings {
		if _, err := strconv.ParseFloat(s.Default, 64); err != nil {
			continue
		}
		numbers++
		r.begins(checkSettings)
		p := r.greet(0)
		if p == nil {
			return
		}
		setup := r.setup(true)
		setup.Settings = map[string]string{}
		for name, value := range r.settings {
			setup.Settings[name] = value
		}
		const nonsense = "no-number"
		setup.Settings[s.Name] = nonsense
		ctx, cancel := r.within()
		err := p.Setup(ctx, setup)
		cancel()
		p.Kill()
		<-p.Done()
		f := Finding{
			Check: checkSettings, Sent: fmt.Sprintf("setup with the setting %s=%s", s.Name, nonsense), Expected: "error with a message, or exit status 2 and the reason on standard error", Came: "ready",
			Advice: "check settings before the first ready, and refuse wrong ones in one line",
		}
		if err != nil {
			f.Came = came(err)
		}
		r.expectRefusal(f, err)
	}
	if numbers == 0 {
		r.leaveOut(checkSettings, "hello lists none whose default is a number")
	}
}

// checkAlone has one process create the store and work on it, with one slot.
func (r *run) checkAlone() {
	const check = "one process"
	p := r.begin(check, 0, true)
	if p == nil || !r.open(check, p, 1, protocol.ReportTasks) {
		return
	}
	first, second := r.instances(wlOne, 10), r.instances(wlOne, 10)
	if !r.submit(check, p, first) || !r.submit(check, p, second) {
		return
	}
	ids := idsOf(slices.Concat(first, second))
	if !r.awaitEnds(check, "", r.options.Timeout, ids, "execute what is submitted, and report ended") {
		return
	}
	r.checkOrder(ids)
	r.stop("stop", "stop", p, (*host.Process).Stop)
	r.ledger.judge()
}

func (r *run) checkOrder(ids []string) {
	const check = "order"
	if r.hello.Promises.Order != protocol.InOrder {
		r.leaveOut(check, "the adapter does not promise it")
		return
	}
	r.begins(check)
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	for n, id := range r.ledger.order {
		if id != ids[n] {
			r.find(Finding{
				Check: check, Sent: "two batches to one process with one slot", Expected: "starts in the order of submission, as the promise order says",
				Came: fmt.Sprintf("%s as number %d, instead of %s", id, n+1, ids[n]), Advice: "promise none, or make it so",
			})
			return
		}
	}
}

// slots of each of several processes.
const slots = 3

// checkTogether has two processes work on one store.
func (r *run) checkTogether() {
	p := r.begin("create", 0, true)
	if p == nil || !r.stop("create", "stop after ready, without open", p, (*host.Process).Stop) {
		return
	}
	t := &together{run: r}
	if t.procs[0] = r.start("first process", 0, slots, protocol.ReportTasks); t.procs[0] == nil {
		return
	}
	if t.procs[1] = r.start("second process", 1, slots, protocol.ReportTasks); t.procs[1] == nil {
		return
	}
	steps := []struct {
		checks string
		step   func() bool
	}{
		{"single", t.single}, {"odd input", t.oddInput}, {"graph, repeat, retries, large values", t.shapes}, {"look", t.look}, {"resubmission", t.resubmit}, {"slots", t.atOnce},
		{"a killed process", t.kill}, {"a paused process", t.pauseAtWork}, {"lost connections", t.cut}, {"stop at work", t.stopAtWork}, {"report ends", t.ends},
	}
	for n, s := range steps {
		if s.step() {
			continue
		}
		for _, later := range steps[n+1:] {
			r.leaveOut(later.checks, "an earlier check has a finding")
		}
		break
	}
	r.ledger.judge() // of what has ended
}
