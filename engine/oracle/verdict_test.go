package oracle

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pulley/internal/referencetest"

	"pulley/engine/graph"
	"pulley/engine/reference"
)

// Without the kinds of events that an oracle needs, or anything to judge, there is no verdict.
func TestVacuousHistories(t *testing.T) {
	for _, v := range judge(t, "submitted i", Rules{}) {
		want := Inconclusive
		if v.Invariant == "I9" {
			want = Violated // it has not ended
		}
		if v.Result != want {
			t.Errorf("a submission and nothing else: %s", v)
		}
	}
	report := judge(t, "submitted i\nended i status=completed result=1", Rules{Invariants: []string{"I7", "I9"}})
	if report.Result() != Holds || len(report) != 2 {
		t.Errorf("two of the invariants: %s", report)
	}
}

func TestMissingEvidence(t *testing.T) {
	sources := soundRules(t)
	for invariant, kinds := range map[string][]Kind{
		"I1": {Enqueued, Leased}, "I2": {Arrived, Enqueued}, "I3": {Leased, Offered, Answered}, "I4": {Started}, "I5": {Started, Offered, Answered},
		"I6": {Element, Gathered}, "I7": {Submitted, Ended}, "I8": {Submitted, Answered}, "I9": {Submitted}, "I10": {Ended, Inspected},
	} {
		for _, kind := range kinds {
			var h History
			for _, e := range events(t, sound()) {
				if e.Kind != kind {
					h = append(h, e)
				}
			}
			rules := sources
			rules.Invariants = []string{invariant}
			report, err := Check(h, rules)
			if err != nil || report.Result() != Inconclusive || !strings.Contains(report[0].Why, fmt.Sprintf("no event %q", kind)) {
				t.Errorf("%s without %q: %v %s", invariant, kind, err, report)
			}
		}
	}
	for what, rules := range map[string]Rules{
		"I4 there is no reference outcome": {Invariants: []string{"I4"}},
		"I5 there is no graph":             {Invariants: []string{"I5"}},
		"I5 there is no graph of any":      {Invariants: []string{"I5"}, Graph: func(string) *graph.Graph { return nil }},
		"I4 there is no reference":         {Invariants: []string{"I4"}, Outcomes: func(string) []reference.Outcome { return nil }},
	} {
		report := judge(t, sound(), rules)
		if report.Result() != Inconclusive || !strings.Contains(report[0].Why, what[3:]) {
			t.Errorf("%s: %s", what, report)
		}
	}
}

func TestInspectionsThatComeTooEarly(t *testing.T) {
	early := judge(t, "submitted i\ninspected i rows=3\nended i status=completed result=1", Rules{Invariants: []string{"I10"}})
	if early.Result() != Inconclusive {
		t.Errorf("an inspection before the end: %s", early)
	}
	others := judge(t, "submitted i\nsubmitted k\nended i status=completed result=1\ninspected - rows=3", Rules{Invariants: []string{"I10"}})
	if others.Result() != Inconclusive {
		t.Errorf("an inspection of all while one runs: %s", others)
	}
	if (Report{}).Result() != Inconclusive {
		t.Error("a report without verdicts passes")
	}
}

func TestCheckRefuses(t *testing.T) {
	if _, err := Check(History{{Kind: Leased, Instance: "i", Node: "n"}}, Rules{}); err == nil || !strings.Contains(err.Error(), "history line 1: ") {
		t.Errorf("an event without token: %v", err)
	}
	if _, err := Check(nil, Rules{Invariants: []string{"I99"}}); err == nil || !strings.Contains(err.Error(), "no oracle judges I99; there are I1, I2,") {
		t.Errorf("an invariant that nobody judges: %v", err)
	}
}

func TestReportReads(t *testing.T) {
	report := judge(t, "submitted i\nenqueued i n\nleased i n token=1\nenqueued i n\nended i status=failed error=Odd\nlooked i status=failed error=Odd", Rules{Invariants: []string{"I1", "I6", "I9"}})
	want := `I1 violated (1 judged)
  I1: n was enqueued 2 times
         1  {"kind":"submitted","instance":"i"}
  >      2  {"kind":"enqueued","instance":"i","node":"n"}
         3  {"kind":"leased","instance":"i","node":"n","token":1}
  >      4  {"kind":"enqueued","instance":"i","node":"n"}
         5  {"kind":"ended","instance":"i","status":"failed","error":{"type":"Odd","message":"no","action":"odd","position":{"file":"test.ir","line":3,"col":24}}}
         6  {"kind":"looked","instance":"i","status":"failed","error":{"type":"Odd","message":"no","action":"odd","position":{"file":"test.ir","line":3,"col":24}}}
I6 inconclusive (0 judged): the history has no event "element"
I9 holds (1 judged)
`
	if got := report.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := json.Marshal(report); err != nil {
		t.Error(err)
	}
	var many strings.Builder
	for i := range 50 {
		fmt.Fprintf(&many, "submitted i%d\n", i)
	}
	v := judge(t, many.String(), Rules{Invariants: []string{"I9"}})[0]
	if v.Total != 50 || len(v.Violations) != violationsMax || !strings.Contains(v.String(), "and 40 more") {
		t.Errorf("fifty violations: %s", v)
	}
}

// An instance may end in any of the possible ways, and its calls must fit the same way.
func TestOneOfSeveralOutcomes(t *testing.T) {
	src := "fn main(input: [], output: []):\n\ttry:\n\t\tspread [1, 2, 3]:x -> @odd(value=x)\n\texcept Odd as e:\n\t\tr = @echo(value=e[\"message\"][0])\n\treturn r\n"
	r, err := reference.NewInterpreter(referencetest.Program(t, src), graphLimits)
	if err != nil {
		t.Fatal(err)
	}
	outcomes, all := r.Possible(json.RawMessage(`{}`), referencetest.Actions, reference.Options{}, 0)
	if len(outcomes) != 2 || !all {
		t.Fatalf("%d outcomes", len(outcomes))
	}
	rules := Rules{Invariants: []string{"I4", "I7"}, Outcomes: func(string) []reference.Outcome { return outcomes }}
	run := func(message, result string) string {
		return "submitted i\n" +
			"started i odd[0] token=1 attempt=1 action=odd args={\"value\":1}\n" +
			"started i odd[2] token=2 attempt=1 action=odd args={\"value\":3}\n" +
			"started i echo token=3 attempt=1 action=echo args={\"value\":\"" + message + "\"}\n" +
			"ended i status=completed result=\"" + result + "\"\n"
	}
	for _, c := range []struct{ message, result, red string }{
		{"1", "1", ""},
		{"3", "3", ""},
		{"1", "2", "I7"},
		{"2", "1", "I4"},
		{"2", "2", "I4 I7"},
	} {
		if report := judge(t, run(c.message, c.result), rules); red(report) != c.red {
			t.Errorf("%s then %s: red %q, want %q\n%s", c.message, c.result, red(report), c.red, report)
		}
	}
}
