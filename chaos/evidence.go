package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pulley/chaos/fault"
	"pulley/engine/oracle"
)

// LostReplies counts the applied commits of store calls whose reply was lost, by how the engine resolved them.
type LostReplies struct {
	Commits    int `json:"commits"`
	AtOnce     int `json:"at_once"`  // the call's answer says what happened: the engine resolved the commit
	Resolved   int `json:"later"`    // the call's answer was unknown; the commit was resolved later
	NoAnswer   int `json:"no_reply"` // the process ended before it had an answer
	Background int `json:"own"`      // of no call: background work of a store
	Wrong      int `json:"wrong"`    // of all these: an invariant was violated for an instance of the call
}

func (l LostReplies) text() string {
	if l.Commits == 0 {
		return ""
	}
	return fmt.Sprintf("  %d commits whose reply was lost: %d resolved at once, %d later, %d by another process, %d of no call; %d of %d rightly\n",
		l.Commits, l.AtOnce, l.Resolved, l.NoAnswer, l.Background, l.Commits-l.Wrong, l.Commits)
}

func (l *LostReplies) add(o LostReplies) {
	l.Commits += o.Commits
	l.AtOnce += o.AtOnce
	l.Resolved += o.Resolved
	l.NoAnswer += o.NoAnswer
	l.Background += o.Background
	l.Wrong += o.Wrong
}

type callKey struct {
	source string
	call   int64
}

func lostReplies(lost []fault.ConnUse, h oracle.History, bad map[string]bool) LostReplies {
	out := LostReplies{Commits: len(lost)}
	answers, touched := map[callKey]oracle.Answer{}, map[callKey][]string{}
	for _, m := range lost {
		touched[callKey{m.Source, m.Call}] = nil
	}
	for i := range h {
		e := &h[i]
		key := callKey{e.Source, e.Call}
		if _, wanted := touched[key]; !wanted || e.Call == 0 {
			continue
		}
		touched[key] = append(touched[key], e.Instance)
		if e.Answer != "" && answers[key] != oracle.AnswerUnknown {
			answers[key] = e.Answer
		}
	}
	for _, m := range lost {
		key := callKey{m.Source, m.Call}
		switch answer := answers[key]; {
		case m.Call == 0:
			out.Background++
		case answer == "":
			out.NoAnswer++
		case answer == oracle.AnswerUnknown || answer == oracle.AnswerNone:
			out.Resolved++
		default:
			out.AtOnce++
		}
		if slices.ContainsFunc(touched[key], func(id string) bool { return bad[id] }) {
			out.Wrong++
		}
	}
	return out
}

func badInstances(violations []Violation) map[string]bool {
	bad := map[string]bool{}
	for _, v := range violations {
		for _, line := range v.Lines {
			if line.Event.Instance != "" {
				bad[line.Event.Instance] = true
			}
		}
	}
	return bad
}

func statesText(states map[string]int) string {
	var b strings.Builder
	for _, state := range slices.Sorted(maps.Keys(states)) {
		fmt.Fprintf(&b, "  %s×%d", state, states[state])
	}
	if b.Len() == 0 {
		return ""
	}
	return "   errors:" + b.String()
}

func coverageText(b *strings.Builder, c fault.Coverage) {
	ways := slices.Sorted(maps.Keys(c.Done))
	if len(ways) == 0 {
		return
	}
	fmt.Fprintf(b, "  messages of the baseline, and what was done at how many of them\n  %-24s %6s %8s %8s", "", "kinds", "client", "server")
	for _, way := range ways {
		fmt.Fprintf(b, " %14s", way)
	}
	b.WriteByte('\n')
	total := fault.OperationCoverage{Covered: c.Covered}
	line := func(name string, o fault.OperationCoverage) {
		fmt.Fprintf(b, "  %-24s %6d %8d %8d", name, o.Transactions, o.Client, o.Server)
		for _, way := range ways {
			fmt.Fprintf(b, " %14d", o.Covered[way])
		}
		b.WriteByte('\n')
	}
	for _, name := range slices.Sorted(maps.Keys(c.Operations)) {
		o := c.Operations[name]
		line(name, o)
		total.Transactions, total.Client, total.Server = total.Transactions+o.Transactions, total.Client+o.Client, total.Server+o.Server
	}
	line("all", total)
	for _, way := range ways {
		fmt.Fprintf(b, "  %d of %d messages of %d kinds of transactions that came in all: %s\n", c.Done[way], c.Messages, c.Transactions, way)
	}
}
