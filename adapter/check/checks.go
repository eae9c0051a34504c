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

// names lists the checks that an adapter could be put to, in their order.
func (k *kit) names() []string {
	if k.hello == nil {
		return []string{"all other checks"}
	}
	names := []string{
		checkUnusable, checkSettings, "one process", "order", "stop", "create", "first process", "second process", "submit", "single",
		"two requests at once", "a request in pieces", "later versions",
	}
	for _, w := range workloads(k.hello) {
		if check := checkOf(&w); check != "" && !slices.Contains(names, check) {
			names = append(names, check)
		}
	}
	return append(names, "look", "submitted is durable", "resubmission", "slots", "ms", "a killed process", "a paused process", "lost connections",
		"stop at work", "report ends", "look in a new process", "end of standard input")
}

// nowhere is the DSN of a database that cannot be: nothing listens on port 1.
const nowhere = "postgres://pulley@127.0.0.1:1/nowhere?sslmode=disable"

// checkHello checks the first message, and the end before any other.
func (r *run) checkHello() bool {
	r.begins(checkHello)
	p := r.greet(0)
	if p == nil {
		return false
	}
	settings, err := host.Settings(r.hello, r.options.Settings)
	if err != nil {
		r.kit.wrong = err
		p.Kill()
		return false
	}
	r.kit.settings = settings
	r.stop("end of standard input", "the end of standard input after hello", p, (*host.Process).EndInput)
	return true
}

// traces are what programs print about bugs of theirs.
var traces = regexp.MustCompile(`(?m)^Traceback \(most recent call last\)|^panic: |^goroutine \d+ \[|^\s+at .*[(:]|^\s+\S+\.go:\d+|^\s+File ".*", line \d+`)

// checkUnusable gives the adapter a database that does not answer.
func (r *run) checkUnusable() bool {
	p := r.greet(0)
	if p == nil {
		return false
	}
	setup := r.setup(true)
	setup.Store.DSN = nowhere
	ctx, cancel := r.within()
	defer cancel()
	err := p.Setup(ctx, setup)
	p.Kill()
	if err == nil {
		r.leaveOut(checkUnusable, "the adapter is ready without the database, so it does not use one")
		return true
	}
	r.begins(checkUnusable)
	r.expectRefusal(Finding{
		Check: checkUnusable, Sent: "setup with the DSN " + nowhere, Expected: "error with a message, or exit status 2 and the reason on standard error", Came: came(err),
		Advice: "say in one line what is wrong with the database, and what to do",
	}, err)
	return true
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
func (r *run) checkSettings() bool {
	numbers := 0
	for _, s := range r.hello.Settings {
		if _, err := strconv.ParseFloat(s.Default, 64); err != nil {
			continue
		}
		numbers++
		r.begins(checkSettings)
		p := r.greet(0)
		if p == nil {
			return false
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
	return true
}

// checkAlone has one process create the store and work on it, with one slot.
func (r *run) checkAlone() bool {
	const check = "one process"
	p := r.begin(check, 0, true)
	if p == nil || !r.open(check, p, 1, protocol.ReportTasks) {
		return false
	}
	first, second := r.instances(wlOne, 10), r.instances(wlOne, 10)
	if !r.submit(check, p, first) || !r.submit(check, p, second) {
		return false
	}
	ids := idsOf(slices.Concat(first, second))
	if !r.awaitEnds(check, "", r.options.Timeout, ids, "execute what is submitted, and report ended") {
		return false
	}
	r.checkOrder(ids)
	r.stop("stop", "stop", p, (*host.Process).Stop)
	r.ledger.judge()
	return true
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
func (r *run) checkTogether() bool {
	p := r.begin("create", 0, true)
	if p == nil || !r.stop("create", "stop after ready, without open", p, (*host.Process).Stop) {
		return false
	}
	t := &together{run: r}
	if t.procs[0] = r.start("first process", 0, slots, protocol.ReportTasks); t.procs[0] == nil {
		return false
	}
	if t.procs[1] = r.start("second process", 1, slots, protocol.ReportTasks); t.procs[1] == nil {
		return false
	}
	defer r.ledger.judge() // of what has ended
	for _, step := range []func() bool{
		t.single, t.oddInput, t.shapes, t.look, t.resubmit, t.atOnce, t.kill, t.pauseAtWork, t.cut, t.stopAtWork, t.ends,
	} {
		if !step() {
			return false
		}
	}
	return true
}
