package oracle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pulley/internal/referencetest"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/reference"
)

// Lines are "kind instance [node[path]] field=value...", where the instance is - for none.
func events(t testing.TB, lines string) History {
	t.Helper()
	var h History
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		h = append(h, event(t, line))
	}
	return h
}

func event(t testing.TB, line string) Event {
	t.Helper()
	words := strings.Fields(line)
	e := Event{Kind: Kind(words[0]), Instance: strings.Trim(words[1], "-")}
	for _, w := range words[2:] {
		field, value, isField := strings.Cut(w, "=")
		if !isField {
			node, path, _ := strings.Cut(strings.TrimSuffix(w, "]"), "[")
			e.Node, e.Path = node, path
			continue
		}
		n, _ := strconv.Atoi(value)
		switch field {
		case "token":
			e.Token = int64(n)
		case "attempt":
			e.Attempt = n
		case "answer":
			e.Answer = Answer(value)
		case "again":
			e.Again = value == "yes"
		case "completed":
			e.Completed = n
		case "required":
			e.Required = n
		case "index":
			e.Index = n
		case "action":
			e.Action = value
		case "args":
			e.Args = json.RawMessage(value)
		case "value":
			e.Value = json.RawMessage(value)
		case "status":
			e.Status = reference.Status(value)
		case "result":
			e.Result = json.RawMessage(value)
		case "error":
			e.Error = &reference.Error{Type: value, Message: "no", Action: "odd", Pos: ir.Pos{File: "test.ir", Line: 3, Col: 24}}
		case "at":
			e.AtNS = int64(n)
		case "since":
			e.SinceNS = int64(n)
		case "until":
			e.UntilNS = int64(n)
		case "call":
			e.Call = int64(n)
		case "by":
			e.Source = value
		case "process":
			e.Process = value
		case "owner":
			e.Owner = value
		case "bad":
			e.Bad = value
		case "rows":
			e.Rows = map[string]int{"queue": n, "readiness": 0}
		default:
			t.Fatalf("no field %q in %q", field, line)
		}
	}
	return e
}

func attempt(run string, token, number int, action, args string) string {
	return fmt.Sprintf(`leased i %[1]s token=%[2]d attempt=%[3]d
started i %[1]s token=%[2]d attempt=%[3]d action=%[4]s args=%[5]s
offered i %[1]s token=%[2]d
answered i %[1]s token=%[2]d attempt=%[3]d answer=applied
`, run, token, number, action, args)
}

const soundSource = `
fn main(input: [], output: []):
	xs = @items(count=2)
	r = spread xs:x -> @flaky(times=x) [retry: 1]
	t = 0
	for i in range(2):
		if i > 0:
			t = @add(a=t, b=i)
	@noop()
	return r, t
`

// sound is a right history of that program: element 1 takes two attempts; its element arrives first.
func sound() string {
	return `submitted i
enqueued i items
` + attempt("items", 1, 1, "items", `{"count":2}`) + `enqueued i flaky[0]
enqueued i flaky[1]
leased i flaky[1] token=2 attempt=1
started i flaky[1] token=2 attempt=1 action=flaky args={"times":1}
offered i flaky[1] token=2
answered i flaky[1] token=2 attempt=1 answer=applied again=yes
` + attempt("flaky[1]", 3, 2, "flaky", `{"times":1}`) + `element i spread_all index=1 value=2
arrived i spread_all completed=1 required=2
leased i flaky[0] token=4 attempt=1
started i flaky[0] token=4 attempt=1 action=flaky args={"times":0}
leased i flaky[0] token=5 attempt=1
offered i flaky[0] token=4
answered i flaky[0] token=4 attempt=1 answer=stale
started i flaky[0] token=5 attempt=1 action=flaky args={"times":0}
offered i flaky[0] token=5
answered i flaky[0] token=5 attempt=1 answer=applied
element i spread_all index=0 value=1
arrived i spread_all completed=2 required=2
enqueued i spread_all
gathered i spread_all required=2 value=[1,2]
enqueued i add[1]
` + attempt("add[1]", 6, 1, "add", `{"b":1,"a":0}`) + `enqueued i noop
` + attempt("noop", 7, 1, "noop", `{}`) + `ended i status=completed result=[[1,2],1]
looked i status=completed result=[[1,2],1]
inspected i rows=0
inspected - rows=0
`
}

func soundRules(t testing.TB) Rules {
	t.Helper()
	prog := referencetest.Program(t, soundSource)
	g, err := graph.Compile(prog, ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	o := reference.Interpret(prog, json.RawMessage(`{}`), referencetest.Actions, reference.Options{})
	if got := referencetest.Show(t, o); got != "[[1,2],1]" {
		t.Fatalf("the reference gives %s", got)
	}
	return Rules{
		Invariants:  strings.Fields("I1 I2 I3 I4 I5 I6 I7 I8 I9 I10"), // the others need several owners, or something bad
		CommitOrder: true,
		Graph:       func(string) *graph.Graph { return g },
		Outcomes:    func(string) []reference.Outcome { return []reference.Outcome{o} },
	}
}

func judge(t testing.TB, lines string, rules Rules) Report {
	t.Helper()
	report, err := Check(events(t, lines), rules)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func red(r Report) string {
	var out []string
	for _, v := range r {
		if v.Result == Violated {
			out = append(out, v.Invariant)
		}
	}
	return strings.Join(out, " ")
}

func TestSoundHistory(t *testing.T) {
	for _, change := range []func(*Rules){
		func(*Rules) {},
		func(r *Rules) { r.CommitOrder = false },
		func(r *Rules) { r.Partial = true },
		func(r *Rules) { r.CommitOrder, r.Partial = false, true },
	} {
		rules := soundRules(t)
		change(&rules)
		report := judge(t, sound(), rules)
		for _, v := range report {
			if v.Result != Holds || v.Judged == 0 {
				t.Errorf("a right history: %s", v)
			}
		}
		if report.Result() != Holds || len(report) != len(rules.Invariants) {
			t.Errorf("%s with %d verdicts", report.Result(), len(report))
		}
	}
}

// plant is one change of the sound history that must turn oracles red.
type plant struct {
	name   string
	red    string
	before string // the line before which something is inserted; "" for the end
	insert string
	drop   []string
	swap   [2]string
	says   string // part of a violation's message
	loose  string // red without commit order, if different; none for nothing
}

func (p plant) apply(t *testing.T) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(sound()), "\n")
	find := func(line string) int {
		i := slices.Index(lines, line)
		if i < 0 {
			t.Fatalf("the sound history has no line %q", line)
		}
		return i
	}
	at := len(lines)
	if p.before != "" {
		at = find(p.before)
	}
	if p.insert != "" {
		lines = slices.Insert(lines, at, strings.Split(strings.TrimSpace(p.insert), "\n")...)
	}
	if p.swap[0] != "" {
		i, j := find(p.swap[0]), find(p.swap[1])
		lines[i], lines[j] = lines[j], lines[i]
	}
	for _, d := range p.drop {
		i := find(d)
		lines = slices.Delete(lines, i, i+1)
	}
	return strings.Join(lines, "\n")
}

const (
	answer5 = "answered i flaky[0] token=5 attempt=1 answer=applied"
	ended   = "ended i status=completed result=[[1,2],1]"
	looked  = "looked i status=completed result=[[1,2],1]"
)

var plants = []plant{
	{name: "enqueued twice", red: "I1", before: answer5, insert: "enqueued i flaky[0]", says: "flaky[0] was enqueued 2 times"},
	{name: "leased, never enqueued", red: "I1", drop: []string{"enqueued i noop"}, says: "noop was leased without having been enqueued"},

	{name: "overflow", red: "I2", before: "enqueued i add[1]", insert: "arrived i spread_all completed=3 required=2", says: "spread_all has 3 arrivals and requires 2"},
	{name: "a lost update of a counter", red: "I2", before: "enqueued i add[1]", insert: "arrived i spread_all completed=2 required=2", says: "two arrivals at spread_all were both counted as number 2"},
	{name: "required changes", red: "I2", before: "enqueued i add[1]", insert: "arrived i spread_all completed=2 required=3", says: "requires"},
	{name: "enqueued too early", red: "I2", drop: []string{"arrived i spread_all completed=2 required=2"}, says: "spread_all was enqueued with 1 of 2 arrivals"},
	{name: "full and never enqueued", red: "I2", drop: []string{"enqueued i spread_all"}, says: "spread_all has all of its 2 arrivals and was not enqueued"},
	{name: "an arrival counted for two", red: "I2", drop: []string{"arrived i spread_all completed=1 required=2"}, says: "spread_all counts 2 arrivals, but only 1 were recorded"},

	{name: "token ignored", red: "I3", swap: [2]string{"answered i flaky[0] token=4 attempt=1 answer=stale", looked}, drop: []string{looked}, before: answer5,
		insert: "answered i flaky[0] token=4 attempt=1 answer=applied\n" + looked, says: "a completion of flaky[0] was applied with token 4; the current one was 5"},
	{name: "applied twice", red: "I3", before: ended, insert: "offered i flaky[0] token=5\n" + answer5, says: "the completion of flaky[0] with token 5 was applied twice"},
	{name: "the current token answered stale", red: "I3 I9", insert: "submitted k\nenqueued k x\nleased k x token=9\noffered k x token=9\nanswered k x token=9 answer=stale", says: "the completion of x with token 9, the current one, was answered stale"},
	{name: "a token given twice", red: "I3", before: "offered i noop token=7", insert: "leased i noop token=7 attempt=1", says: "token 7 of noop was given twice"},
	{name: "a token that nobody has", red: "I3", before: ended, insert: "offered i noop token=99", says: "offered with token 99, which nobody was given"},
	{name: "an answer to nothing", red: "I3", before: ended, insert: "answered i items token=77 answer=stale", says: "answered that was not offered"},
	{name: "a token that goes back", red: "I3", before: "leased i flaky[0] token=4 attempt=1", insert: "leased i flaky[1] token=1 attempt=1", says: "token 1 of flaky[1] was given after token 3", loose: "none"},
	{name: "a retry applied with an old token", red: "I3", before: "answered i flaky[1] token=2 attempt=1 answer=applied again=yes", insert: "leased i flaky[1] token=22 attempt=1\nleased i flaky[1] token=33 attempt=2", says: "the current one was 22"},

	{name: "other arguments", red: "I4", swap: [2]string{`started i noop token=7 attempt=1 action=noop args={}`, looked}, drop: []string{looked}, before: "offered i noop token=7",
		insert: `started i noop token=7 attempt=1 action=noop args={"x":1}` + "\n" + looked, says: "the reference interpreter does not call @noop at [] {\"x\":1}"},
	{name: "arguments of another iteration", red: "I4 I5", before: "offered i noop token=7", insert: `started i add[0] token=8 attempt=1 action=add args={"a":0,"b":1}`, says: "does not call @add at [0]"},
	{name: "a call too many", red: "I4 I5", before: "offered i noop token=7", insert: `started i other token=8 attempt=1 action=noop args={}`, says: "2 node runs received @noop at [] {}; the reference interpreter calls it 1 times"},
	{name: "a retry too many", red: "I4", before: "offered i noop token=7", insert: `started i noop token=7 attempt=2 action=noop args={}`, says: "attempt 2 of @noop at [] {}; the reference interpreter takes 1"},
	{name: "a call too few", red: "I4", drop: []string{`started i noop token=7 attempt=1 action=noop args={}`}, says: "0 node runs received @noop"},
	{name: "attempts that differ", red: "I4", before: "offered i noop token=7", insert: `started i noop token=7 attempt=1 action=noop args={"x":1}`, says: "two attempts of noop received different arguments"},
	{name: "arguments that are no object", red: "I4", before: "offered i noop token=7", insert: `started i noop token=7 attempt=1 action=noop args=[]`, says: "the arguments of noop are not a JSON object"},

	{name: "started before its element's list", red: "I5", swap: [2]string{`started i add[1] token=6 attempt=1 action=add args={"b":1,"a":0}`, "arrived i spread_all completed=1 required=2"}, says: "add[1] started before flaky[0] had committed"},
	{name: "started before the loop was over", red: "I5", swap: [2]string{`started i noop token=7 attempt=1 action=noop args={}`, "enqueued i add[1]"}, says: "noop started before add[1] had committed"},
	{name: "started between offer and answer", red: "I5", loose: "none", swap: [2]string{`started i noop token=7 attempt=1 action=noop args={}`, "answered i add[1] token=6 attempt=1 answer=applied"}, says: "noop started before add[1] had committed"},
	{name: "a predecessor that never committed", red: "I5", drop: []string{"answered i items token=1 attempt=1 answer=applied"}, says: "flaky[1] started, and items has not committed", loose: "none"},
	{name: "a predecessor in the loop that never committed", red: "I5", drop: []string{"answered i add[1] token=6 attempt=1 answer=applied"}, says: "noop started, and add[1] has not committed", loose: "none"},
	{name: "a predecessor that was never offered", red: "I5", drop: []string{"offered i items token=1", "answered i items token=1 attempt=1 answer=applied"}, says: "flaky[1] started, and items has not committed"},
	{name: "a node of no workflow", red: "I4 I5", before: ended, insert: "started i ghost token=1 action=ghost args={}", says: "the workflow has no action ghost"},
	{name: "a path that does not fit", red: "I4 I5", before: ended, insert: "started i noop[3] token=1 action=noop args={}", says: "the workflow has no action noop[3]"},

	{name: "a list in order of arrival", red: "I6", swap: [2]string{"gathered i spread_all required=2 value=[1,2]", looked}, drop: []string{looked}, before: "enqueued i add[1]", insert: "gathered i spread_all required=2 value=[2,1]\n" + looked, says: "of spread_all is not the value that arrived"},
	{name: "a list too short", red: "I6", before: "enqueued i add[1]", insert: "gathered i spread_all required=2 value=[1]", says: "spread_all gathered 1 elements of 2"},
	{name: "no list", red: "I6", before: "enqueued i add[1]", insert: "gathered i spread_all required=2 value=7", says: "did not gather a JSON list"},
	{name: "an element twice", red: "I6", before: "enqueued i add[1]", insert: "element i spread_all index=1 value=2", says: "element 1 of spread_all arrived twice"},
	{name: "an element that did not arrive", red: "I6", drop: []string{"element i spread_all index=0 value=1"}, says: "element 0 of spread_all did not arrive"},
	{name: "an element beyond the last", red: "I6", before: "enqueued i spread_all", insert: "element i spread_all index=2 value=0", says: "3 elements arrived at spread_all, which has 2"},

	{name: "ended twice", red: "I7", insert: ended, says: "the instance ended 2 times"},
	{name: "the end changed", red: "I7", insert: "looked i status=failed error=Odd", says: "the end changed: completed with [[1,2],1], and then failed with"},
	{name: "the result changed", red: "I7", insert: "looked i status=completed result=[[1,2],1.0]", says: "the end changed"},
	{name: "another result", red: "I7", drop: []string{looked, ended}, insert: "ended i status=completed result=[[1,2],0]\ninspected i rows=0\ninspected - rows=0", says: "result [[1,2],0]; the reference interpreter gives [[1,2],1]"},
	{name: "an end without a beginning", red: "I7", before: "submitted i", insert: "submitted k\nended k status=failed error=Odd", drop: []string{"submitted i"}, says: "an instance ended that was not submitted"},
	{name: "running after the end", red: "I7", insert: "looked i status=running", says: "the instance had ended and was running again", loose: "none"},
	{name: "leased after the end", red: "I7", before: looked, insert: "enqueued i ghost\nleased i ghost token=1", says: "ghost was leased after the instance had ended", loose: "none"},
	{name: "applied after the end", red: "I7", swap: [2]string{ended, "answered i noop token=7 attempt=1 answer=applied"}, says: "a completion of noop was applied after the instance had ended", loose: "none"},

	{name: "done and given out again", red: "I8", before: "enqueued i noop", insert: "leased i add[1] token=60 attempt=1", says: "add[1] was done with token 6 and was given out again with token 60"},
	{name: "a forgotten instance", red: "I8", insert: "looked i status=", says: "the store had acknowledged the instance and does not know it"},

	{name: "never ended", red: "I9", insert: "submitted k\nlooked k status=running", says: "the instance was submitted and has not ended"},

	{name: "rows left", red: "I10", insert: "inspected i rows=2", says: "2 rows of queue are left after the end"},
	{name: "rows left over all", red: "I10", insert: "inspected - rows=1", says: "1 rows of queue are left after the end"},
}

func TestPlantedViolations(t *testing.T) {
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			lines := p.apply(t)
			rules := soundRules(t)
			report := judge(t, lines, rules)
			if got := red(report); got != p.red {
				t.Errorf("red: %q, want %q\n%s", got, p.red, report)
			}
			if !strings.Contains(report.String(), p.says) || report.Result() != Violated {
				t.Errorf("no violation says %q:\n%s", p.says, report)
			}
			rules.CommitOrder = false
			want := p.red
			if p.loose != "" {
				want = strings.TrimPrefix(p.loose, "none")
			}
			if got := red(judge(t, lines, rules)); got != want {
				t.Errorf("red without commit order: %q, want %q", got, want)
			}
		})
	}
}
