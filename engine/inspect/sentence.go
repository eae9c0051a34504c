package inspect

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/graph"
	"pulley/engine/worker"
)

// unnamed begins the name of a node whose workflow cannot be read.
const unnamed = "node "

// NameOf names a node run for people.
func NameOf(s backend.Snapshot, r graph.Run) string {
	switch {
	case s.Program != nil:
		return s.Program.RunName(r)
	case r.Path == "":
		return unnamed + strconv.Itoa(int(r.Node))
	}
	return unnamed + strconv.Itoa(int(r.Node)) + "[" + string(r.Path) + "]"
}

// Moment writes a time as sentences have it.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Pause writes how long something takes, in at most two units.
func Pause(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}

// sentence says the first wait, and counts the others.
func sentence(s backend.Snapshot, waits []Wait) string {
	first := waits[0]
	text := clause(s, first)
	if first.Reason == Ended || first.Reason == Unknown {
		return text + "."
	}
	others := map[Reason]int{}
	var arrivals []string
	for _, w := range waits[1:] {
		switch {
		case w.Reason != Barrier:
			others[w.Reason]++
		case len(arrivals) < arrivalsMost:
			arrivals = append(arrivals, count(w))
		default:
			others[Barrier]++
		}
	}
	for _, a := range arrivals {
		text += "; " + a
	}
	for _, reason := range order {
		if n := others[reason]; n > 0 {
			text += "; " + fmt.Sprintf(moreOf[reason], n)
		}
	}
	if s.Cut {
		text += "; there is more than was read"
	}
	return text + "."
}

// arrivalsMost bounds the barriers in a sentence.
const arrivalsMost = 3

var moreOf = map[Reason]string{
	Lease: "%d more leased", Worker: "%d more ready", LostEngine: "%d more with expired leases", Limit: "%d more that wait for limits", Signal: "%d more that wait for signals", Elsewhere: "%d more whose action engines lack", Retry: "%d more to be retried", Sleep: "%d more asleep",
	Barrier: "%d more barriers", Evicted: "%d evicted", Adoption: "%d to be adopted", Owner: "%d more with its owner", Broken: "%d broken", Nothing: "%d without a reason",
	Ended: "%d ended", Unknown: "%d unknown",
}

func count(w Wait) string {
	if w.Required == nil {
		return fmt.Sprintf("barrier %s has %d arrivals, of a number not known yet", w.Node, *w.Completed)
	}
	return fmt.Sprintf("barrier %s has %d of %d arrivals", w.Node, *w.Completed, *w.Required)
}

func clause(s backend.Snapshot, w Wait) string {
	switch w.Reason {
	case Unknown:
		return "There is no such instance"
	case Ended:
		return ended(s)
	case Lease:
		return fmt.Sprintf("It waits for %s, which %s has leased until %s (%s)", work(w), engine(w), Moment(*w.Until), tries(w))
	case Worker:
		return fmt.Sprintf("It waits for an engine to take %s, which is ready since %s (%s)", work(w), Moment(*w.Since), tries(w))
	case LostEngine:
		return fmt.Sprintf("It waits for an engine to take over %s: the lease of %s expired at %s, so that engine has exited or is cut off (%s)", work(w), engine(w), Moment(*w.Since), tries(w))
	case Elsewhere:
		return fmt.Sprintf("It waits for an engine that has action @%s, to run %s: the engines that took it do not have it, and it is offered again at %s (%s)", w.Action, w.Node, Moment(*w.Until), tries(w))
	case Limit:
		if w.Until != nil {
			return fmt.Sprintf("It waits for %s, which %s has leased, and runs or holds ready until limit %s lets it start: %s (%s)", work(w), engine(w), w.Limit, w.Detail, tries(w))
		}
		return fmt.Sprintf("It waits for limit %s to start %s: %s (%s)", w.Limit, work(w), w.Detail, tries(w))
	case Signal:
		text := fmt.Sprintf("It waits for signal %q since %s, at %s", w.Signal, Moment(*w.Since), w.Node)
		if w.Until != nil {
			text += ", until " + Moment(*w.Until)
		}
		return fmt.Sprintf("%s (%s)", text, attempt(w))
	case Retry:
		return fmt.Sprintf("It waits until %s to retry %s: attempt %d failed, and %s follows; no design keeps the error of an attempt that is retried", Moment(*w.Until), work(w), w.Attempt-1, attempt(w))
	case Sleep:
		return fmt.Sprintf("It sleeps at %s until %s", w.Node, Moment(*w.Until))
	case Barrier:
		return "Nothing of it is under way, and " + count(w)
	case Evicted:
		return fmt.Sprintf("It waits until %s, when the first of its node runs is due; %s has evicted it from memory until then", Moment(*w.Until), engine(w))
	case Adoption:
		return fmt.Sprintf("It waits since %s for an engine to adopt it%s", Moment(*w.Since), owned(w))
	case Owner:
		return silent(w)
	case Broken:
		return "It waits for nothing: what is stored of it cannot be applied, and its owner has set it aside, so cancel it: " + w.Detail
	}
	return fmt.Sprintf("Nothing of it is under way since %s: no engine has planned its next step, or its store is corrupt", Moment(*w.Since))
}

// useOf says how much of a limit is used.
func useOf(l backend.StoredLimit, now time.Time) string {
	permits, waiting := sums(l, now)
	var parts []string
	if l.Concurrency > 0 {
		parts = append(parts, fmt.Sprintf("engines run %d of %d attempts", permits, l.Concurrency))
	}
	if l.Rate.Starts > 0 {
		parts = append(parts, "they start "+l.Rate.String())
	}
	return strings.Join(append(parts, fmt.Sprintf("%d more are ready", waiting)), ", ")
}

func silent(w Wait) string {
	switch {
	case w.Until != nil:
		return fmt.Sprintf("It is in the memory of %s, which owns its shard until %s and does not tell: %s", engine(w), Moment(*w.Until), w.Detail)
	case w.Engine == "":
		return "It waits for an engine to take its shard, which nobody owns"
	}
	return fmt.Sprintf("It waits for an engine to take its shard: the lease of %s, which owned it, expired at %s, so that engine has exited or is cut off", engine(w), Moment(*w.Since))
}

func owned(w Wait) string {
	if w.Engine == "" {
		return ": nobody owns its shard"
	}
	return "; its shard is owned by " + engine(w)
}

func ended(s backend.Snapshot) string {
	text := fmt.Sprintf("It waits for nothing: it %s at %s, after %s", s.Status, Moment(s.Ended), Pause(s.Ended.Sub(s.Submitted)))
	if s.Status == backend.Canceled {
		text = fmt.Sprintf("It waits for nothing: it was canceled at %s, after %s", Moment(s.Ended), Pause(s.Ended.Sub(s.Submitted)))
	}
	if s.Failure == nil {
		return text
	}
	text += ", with " + s.Failure.String()
	switch s.Failure.Type {
	case worker.TypeUnknownAction:
		text += "; the engine that got it does not have this action"
	case dispatch.DiedType:
		text += "; each engine or worker that got the attempt died, or was cut off"
	}
	return text
}

func work(w Wait) string {
	base, _, _ := strings.Cut(w.Node, "[")
	switch {
	case w.Action != "" && w.Action == base:
		return "@" + w.Node
	case w.Action != "":
		return "@" + w.Action + " at " + w.Node
	case strings.HasPrefix(w.Node, unnamed):
		return w.Node
	}
	return unnamed + w.Node
}

func engine(w Wait) string {
	if w.Engine == "" {
		return "an engine"
	}
	return "engine " + w.Engine
}

func attempt(w Wait) string {
	if w.Attempts > 1 {
		return fmt.Sprintf("attempt %d of %d", w.Attempt, w.Attempts)
	}
	return fmt.Sprintf("attempt %d", w.Attempt)
}

func tries(w Wait) string {
	if w.Deliveries > 1 {
		return fmt.Sprintf("%s, delivery %d: its engine was lost before", attempt(w), w.Deliveries)
	}
	return attempt(w)
}
