package chaos

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"pulley/chaos/process"
	"pulley/engine/backend"
	"pulley/engine/limit"
	"pulley/engine/oracle"
)

// LimitUse is how a run used its limit.
type LimitUse struct {
	Attempts int     `json:"attempts"`
	AtOnce   int     `json:"at_once"`  // the most
	Kept     float64 `json:"kept"`     // which part of the rate was used, from the first start to the last; 0: there is no rate
	LeftOut  int     `json:"left_out"` // attempts of engines whose clock was wrong: permits are relied on by that clock
}

// executions are the attempts of actions that processes tell of, and until when their permits were renewed.
type executions struct {
	mu sync.Mutex
	of map[string]*executionsOf // by source
}

type executionsOf struct {
	open    map[int]executed // by number
	ended   []executed
	permits []permitted // in order
}

type executed struct {
	begun, ended int64 // on oracle.MachineClock; a zero end: not known
	wrong        bool
}

// permitted is a turn that renewed an engine's permits.
type permitted struct{ begun, until int64 }

func newExecutions() *executions { return &executions{of: map[string]*executionsOf{}} }

func (x *executions) source(name string) *executionsOf {
	of := x.of[name]
	if of == nil {
		of = &executionsOf{open: map[int]executed{}}
		x.of[name] = of
	}
	return of
}

// note notes a message of a process.
func (x *executions) note(source string, s process.Message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	of := x.source(source)
	switch s.Say {
	case process.SayPermitted:
		of.permits = append(of.permits, permitted{s.AtNS, s.UntilNS})
	case process.SayActionBegan:
		of.open[s.N] = executed{begun: s.AtNS, wrong: s.Wrong}
	case process.SayActionEnded:
		e := of.open[s.N]
		delete(of.open, s.N)
		e.ended = s.AtNS
		of.ended = append(of.ended, e)
	}
}

// leave notes that a process has ended, and with it its attempts.
func (x *executions) leave(source string, at int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	of := x.source(source)
	for n, e := range of.open {
		e.ended = at
		of.ended = append(of.ended, e)
		delete(of.open, n)
	}
}

// attempts returns all attempts as far as they count, and how many are left out since their engine's clock was wrong. An attempt counts
// from its begin until its end, or until its engine's permits have ended: then the engine ends it, as soon as it runs at all, and others
// need not wait for that. One that begins without permits counts until its own end, unless it was decided with them. wall is the time at now, on oracle.MachineClock.
func (x *executions) attempts(now int64, wall time.Time) (all []limit.Attempt, leftOut int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	at := func(ns int64) time.Time { return wall.Add(time.Duration(ns - now)) }
	for _, of := range x.of {
		attempts := slices.Clone(of.ended)
		for _, e := range of.open {
			e.ended = now
			attempts = append(attempts, e)
		}
		for _, e := range attempts {
			if e.wrong {
				leftOut++
				continue
			}
			until := of.permittedUntil(e.begun)
			switch {
			case until > e.begun:
				e.ended = min(e.ended, until)
			case until > 0 && e.begun <= of.firstAfter(until)+int64(decidedBefore):
				e.ended = e.begun
			}
			all = append(all, limit.Attempt{Action: anyAction, Start: at(e.begun), End: at(e.ended)})
		}
	}
	return all, leftOut
}

// permittedUntil returns until when permits that there are at a time were renewed without a gap, or, if there are none, when the last
// ones before ended; zero: there were none.
func (of *executionsOf) permittedUntil(at int64) (until int64) {
	for _, p := range of.permits {
		if p.begun > at && (until <= at || p.begun > until) {
			break
		}
		until = max(until, p.until)
	}
	return until
}

// decidedBefore is how long after an engine's first sign of life without permits an attempt may begin that it decided before: it stood
// still in between.
const decidedBefore = 50 * time.Millisecond

// firstAfter is the first time after another one at which the engine did anything.
func (of *executionsOf) firstAfter(at int64) int64 {
	first := int64(math.MaxInt64)
	consider := func(t int64) {
		if t > at {
			first = min(first, t)
		}
	}
	for _, e := range of.ended {
		consider(e.begun)
		consider(e.ended)
	}
	for _, e := range of.open {
		consider(e.begun)
	}
	for _, p := range of.permits {
		consider(p.begun)
	}
	return first
}

const anyAction = "any"

// Of rates, so many periods are looked at together, and may have one period's starts more: an attempt begins a little after its engine
// has decided so, and a process that stood still begins late what it decided before.
const ratePeriods = 5

// judgeLimit holds the attempts against the limit.
func (r *run) judgeLimit() {
	if !r.IsLimited() {
		return
	}
	l, err := r.Limit()
	if err != nil {
		r.result.doubt("%v", err)
		return
	}
	l.Actions = []string{anyAction}
	attempts, leftOut := r.watch.executions.attempts(oracle.MachineClock(), time.Now())
	use := &LimitUse{Attempts: len(attempts), AtOnce: mostAtOnce(attempts), Kept: l.Kept(attempts), LeftOut: leftOut}
	r.result.Limit, r.result.Judged[limitInvariant] = use, len(attempts)
	if len(attempts) == 0 {
		r.result.doubt("no action was executed under the limit")
	}
	if l.Rate != (limit.Rate{}) {
		l.Rate = limit.Rate{Starts: l.Rate.Starts * (ratePeriods + 1), Per: l.Rate.Per * ratePeriods}
	}
	if err := l.Check(attempts); err != nil {
		r.result.Violations = append(r.result.Violations, Violation{Invariant: limitInvariant, Message: err.Error()})
	}
}

const limitInvariant = "limit"

func mostAtOnce(attempts []limit.Attempt) (most int) {
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	for _, a := range attempts {
		changes = append(changes, change{a.Start, 1}, change{a.End, -1})
	}
	slices.SortFunc(changes, func(a, b change) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.by - b.by
	})
	n := 0
	for _, c := range changes {
		n += c.by
		most = max(most, n)
	}
	return most
}

// setLimit stores the limit of the case.
func (r *run) setLimit(ctx context.Context) error {
	if !r.IsLimited() {
		return nil
	}
	l, err := r.Limit()
	if err != nil {
		return err
	}
	limiter, ok := r.store.(backend.Limiter)
	if !ok {
		return fmt.Errorf("backend %s has no limits", r.Backend)
	}
	return limiter.SetLimit(ctx, l)
}

func (r *Result) limitText() string {
	if r.Limit == nil {
		return ""
	}
	text := fmt.Sprintf("%d attempts under the limit", r.Limit.Attempts)
	if n := r.Case.LimitConcurrency; n > 0 {
		text += fmt.Sprintf(", at most %d of %d at once", r.Limit.AtOnce, n)
	}
	if r.Case.LimitRate != "" {
		text += fmt.Sprintf(", at %.1f %% of %s", 100*r.Limit.Kept, r.Case.LimitRate)
	}
	if r.Limit.LeftOut > 0 {
		text += fmt.Sprintf("; %d more by engines whose clock was wrong", r.Limit.LeftOut)
	}
	return text
}
