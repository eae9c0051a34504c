package oracle

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pulley/internal/referencetest"

	"pgregory.net/rapid"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/reference"
	"pulley/internal/depth"
)

// noisyPrograms call every action from one place only, so that a call's position names its node.
var noisyPrograms = []string{
	soundSource,
	"fn main(input: [], output: [r]):\n\tr = spread range(3):x -> @double(value=x)\n\ta, b = parallel:\n\t\t@echo(value=r)\n\t\t@noop()\n\tr = @items(count=len(a))\n",
	"fn main(input: [], output: [t]):\n\tt = 0\n\tfor i in range(2):\n\t\tfor j in range(2):\n\t\t\tif j == 1 and i == 1:\n\t\t\t\tbreak\n\t\t\tt = @add(a=t, b=j)\n\t\t@noop()\n\tt = @double(value=t)\n",
	"fn main(input: [], output: []):\n\ttotal = @flaky(times=2) [retry: 2]\n\tspread [2, 3, 5]:x -> @odd(value=x)\n",
	"fn f(input: [x], output: [y]):\n\twhile x > 0:\n\t\tx = @add(a=x, b=-1)\n\t\tif x == 1:\n\t\t\treturn x\n\ty = @noop()\n\nfn main(input: [], output: [z]):\n\ty = f(x=2)\n\tz = @echo(value=y)\n",
}

// noise writes a history with everything that deliveries may rightly suffer: expired leases, late workers, lost answers,
// repeated completions.
type noise struct {
	*rapid.T
	h     History
	token int64
	now   int64
}

func (n *noise) chance(what string) bool { return rapid.IntRange(0, 3).Draw(n.T, what) == 0 }

func (n *noise) add(e Event) {
	n.now++
	e.Instance, e.AtNS = "i", n.now
	n.h = append(n.h, e)
}

const leaseNS = 50 // longer than what happens under one lease

func (n *noise) attempt(run Event, c reference.Call, args json.RawMessage, again bool) {
	lease := func() Event {
		n.token++
		e := run
		e.Kind, e.Token, e.Attempt = Leased, n.token, c.Attempt
		e.Source, e.UntilNS = rapid.SampledFrom([]string{"p", "q"}).Draw(n.T, "owner"), n.now+leaseNS
		n.add(e)
		e.UntilNS = 0
		return e
	}
	say := func(e Event, kind Kind, change func(*Event)) {
		e.Kind, e.Attempt = kind, c.Attempt
		if change != nil {
			change(&e)
		}
		n.add(e)
	}
	start := func(e Event) { say(e, Started, func(e *Event) { e.Action, e.Args = c.Action, args }) }
	current := lease()
	for n.chance("expires") {
		old := current
		if n.chance("old one started") {
			start(old)
		}
		n.now += leaseNS
		current = lease()
		if n.chance("old one comes late") {
			say(old, Offered, nil)
			say(old, Answered, func(e *Event) { e.Answer = AnswerStale })
		}
	}
	start(current)
	say(current, Offered, nil)
	if n.chance("answer lost") {
		say(current, Answered, func(e *Event) { e.Answer = AnswerUnknown })
		say(current, Offered, nil)
	}
	say(current, Answered, func(e *Event) {
		e.Answer, e.Again = AnswerApplied, again
		if c.Err != nil && !again {
			e.Error = c.Err
		}
	})
	if n.chance("offered twice") {
		say(current, Offered, nil)
		say(current, Answered, func(e *Event) { e.Answer = AnswerStale })
	}
}

func (n *noise) write(o reference.Outcome, g *graph.Graph) {
	at := map[ir.Pos]string{}
	for _, node := range g.Nodes {
		if node.Kind == graph.Action {
			at[node.Pos] = node.Name
		}
	}
	n.add(Event{Kind: Submitted})
	for i, c := range o.Calls {
		run := Event{Node: at[c.Pos], Path: c.Path}
		if c.Attempt == 1 {
			run.Kind = Enqueued
			n.add(run)
		}
		next := i+1 < len(o.Calls) && o.Calls[i+1].Attempt == c.Attempt+1
		n.attempt(run, c, json.RawMessage(reference.Canonical(c.Args.Object())), next)
		if o.Status == reference.Failed && c.Err != nil && !next {
			break
		}
	}
	end := Event{Kind: Ended, Status: o.Status, Error: o.Error}
	if o.Status == reference.Completed {
		end.Result = json.RawMessage(reference.Canonical(o.Result))
	}
	n.add(end)
	n.add(Event{Kind: Inspected, Rows: map[string]int{"queue": 0}})
}

// Concurrent recorders record answers late.
func (n *noise) delay() {
	for i := len(n.h) - 2; i >= 0; i-- {
		if n.h[i].Kind != Answered || !n.chance("delayed") {
			continue
		}
		by := rapid.IntRange(0, len(n.h)-1-i).Draw(n.T, "by")
		e := n.h[i]
		copy(n.h[i:], n.h[i+1:i+1+by])
		e.AtNS = max(e.AtNS, n.h[max(i+by-1, 0)].AtNS)
		n.h[i+by] = e
	}
}

func TestNoFalseAlarms(t *testing.T) {
	type subject struct {
		graph   *graph.Graph
		outcome reference.Outcome
	}
	var subjects []subject
	for _, src := range noisyPrograms {
		prog := referencetest.Program(t, src)
		g, err := graph.Compile(prog, ir.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		subjects = append(subjects, subject{g, reference.Interpret(prog, json.RawMessage(`{}`), referencetest.Actions, reference.Options{})})
	}
	depth.Checks(t, 100, 2000)
	rapid.Check(t, func(rt *rapid.T) {
		s := subjects[rapid.IntRange(0, len(subjects)-1).Draw(rt, "program")]
		n := &noise{T: rt}
		n.write(s.outcome, s.graph)
		rules := Rules{
			Invariants:  []string{"I1", "I3", "I4", "I5", "I7", "I8", "I9", "I10", "I11"},
			CommitOrder: true,
			Graph:       func(string) *graph.Graph { return s.graph },
			Outcomes:    func(string) []reference.Outcome { return []reference.Outcome{s.outcome} },
		}
		if rapid.Bool().Draw(rt, "live") {
			rules.CommitOrder = false
			n.delay()
		}
		report, err := Check(n.h, rules)
		again := strings.Contains(report.String(), "I11 inconclusive") // nothing was leased twice
		if err != nil || report.Result() != Holds && !again || red(report) != "" {
			rt.Fatalf("a right history of %s: %v\n%s", referencetest.Show(t, s.outcome), err, report)
		}
		rules.Partial = true // with any of the lines missing, nothing may be concluded
		var rest History
		for i, e := range n.h {
			if i == 0 || e.Kind == Inspected || !n.chance("lost") {
				rest = append(rest, e)
			}
		}
		report, err = Check(rest, rules)
		if err != nil || report.Result() == Violated {
			rt.Fatalf("a right history with lines lost: %v\n%s", err, report)
		}
	})
}

// A large history of one loop and one spread must be judged within a test's time: quadratic time for its 200,000 lines would
// exceed it. Before each change it has a tenth of them.
func TestLargeHistory(t *testing.T) {
	rounds := depth.Of(2_000, 20_000)
	prog := referencetest.Program(t, fmt.Sprintf("fn main(input: [], output: [t]):\n\tt = 0\n\tfor i in range(%d):\n\t\tt = @add(a=t, b=1)\n\tr = spread range(%d):x -> @echo(value=x)\n\tt = @double(value=t)\n", rounds, rounds))
	g, err := graph.Compile(prog, ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	o := reference.Interpret(prog, json.RawMessage(`{}`), referencetest.Actions, reference.Options{})
	n := &noise{}
	n.add(Event{Kind: Submitted})
	node := map[string]string{}
	for _, nd := range g.Nodes {
		node[nd.Action] = nd.Name
	}
	for _, c := range o.Calls {
		n.token++
		run := Event{Node: node[c.Action], Path: c.Path, Token: n.token, Attempt: 1}
		for _, kind := range []Kind{Enqueued, Leased, Started, Offered, Answered} {
			run.Kind = kind
			run.Action, run.Args = c.Action, json.RawMessage(reference.Canonical(c.Args.Object()))
			run.Answer = AnswerApplied
			n.add(run)
		}
	}
	n.add(Event{Kind: Ended, Status: reference.Completed, Result: json.RawMessage(reference.Canonical(o.Result))})
	report, err := Check(n.h, Rules{
		Invariants:  []string{"I1", "I3", "I4", "I5", "I7", "I8", "I9"},
		CommitOrder: true,
		Graph:       func(string) *graph.Graph { return g },
		Outcomes:    func(string) []reference.Outcome { return []reference.Outcome{o} },
	})
	if err != nil || report.Result() != Holds {
		t.Fatalf("%v\n%s", err, report)
	}
	if got := report[3].Judged; got != 2*rounds { // all but the first call wait for another
		t.Errorf("I5 judged %d starts, want %d", got, 2*rounds)
	}
}
