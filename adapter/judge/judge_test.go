package judge_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pulley/adapter/judge"
	"pulley/adapter/protocol"
)

// TestRulesAreThoseOfTheDocument finds each rule in docs/adapter.md, once, with its sentence; and no rule more.
func TestRulesAreThoseOfTheDocument(t *testing.T) {
	data, err := os.ReadFile("../../docs/adapter.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(data), "\n## Promises\n")
	if !found {
		t.Fatal("docs/adapter.md has no section Promises")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	names, sentences := map[judge.Rule]bool{}, map[string]bool{}
	for _, d := range judge.Rules() {
		if names[d.Rule] || sentences[d.Violated] {
			t.Errorf("%s is there twice, or its sentence", d.Rule)
		}
		names[d.Rule], sentences[d.Violated] = true, true
		text := "`" + string(d.Rule) + "`: " + d.Violated
		if n := strings.Count(section, text); n != 1 {
			t.Errorf("docs/adapter.md has %q %d times, want once", text, n)
		}
	}
	// Every `name`: in the last column, or in the list, is a rule.
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			line = cells[3]
		} else if !strings.HasPrefix(line, "- ") {
			continue
		}
		parts := strings.Split(line, "`")
		for i := 1; i < len(parts)-1; i += 2 {
			if strings.HasPrefix(parts[i+1], ":") && !names[judge.Rule(parts[i])] {
				t.Errorf("docs/adapter.md names a violation %s, which no rule finds", parts[i])
			}
		}
	}
}

// pair is a workload of two tasks.
var pair = protocol.Workload{Name: "pair", Result: "b", Tasks: []protocol.Task{{Name: "a", Add: 7}, {Name: "b", Needs: []string{"a"}, Add: 5, MS: 2}}}

// historyOf makes a history of entries a millisecond apart, all of one incarnation unless they name another.
func historyOf(entries ...judge.Entry) *judge.History {
	h := &judge.History{Promises: promises, Workloads: []protocol.Workload{pair}, Processes: 1, Slots: 1}
	for i, e := range entries {
		if e.AtNS == 0 {
			e.AtNS = int64(i) * 1e6
		}
		if e.Incarnation == 0 {
			e.Incarnation = 1
		}
		h.Entries = append(h.Entries, e)
	}
	return h
}

func sent(batch int64, id string) judge.Entry {
	return judge.Entry{Kind: judge.Sent, Batch: batch, Instances: []protocol.Instance{{ID: id, Workload: "pair"}}}
}

func accepted(batch int64) judge.Entry { return judge.Entry{Kind: judge.Submitted, Batch: batch} }

func started(id, task string, inputs map[string]string) judge.Entry {
	return judge.Entry{Kind: judge.Started, Instance: id, Task: task, Attempt: 1, Inputs: inputs}
}

func finished(id, task, value string) judge.Entry {
	return judge.Entry{Kind: judge.Finished, Instance: id, Task: task, Attempt: 1, Value: value}
}

func ended(id, value string) judge.Entry {
	return judge.Entry{Kind: judge.Ended, Instance: id, Status: protocol.Completed, Value: value}
}

func looked(batch int64, id string, status protocol.Status, value string) []judge.Entry {
	return []judge.Entry{
		{Kind: judge.Asked, Batch: batch, IDs: []string{id}},
		{Kind: judge.Looked, Batch: batch, States: []protocol.State{{ID: id, Status: status, Value: value}}},
	}
}

// whole is an instance's history from submission to look.
func whole() []judge.Entry {
	return append([]judge.Entry{
		{Kind: judge.Opened}, sent(1, "i"), accepted(1),
		started("i", "a", nil), finished("i", "a", "7:x"), started("i", "b", map[string]string{"a": "7:x"}), finished("i", "b", "12:y   "),
		ended("i", "12:y"),
	}, looked(2, "i", protocol.Completed, "12:y")...)
}

// TestHistories judges histories that differ in one thing from a right one.
func TestHistories(t *testing.T) {
	open := func(more ...judge.Entry) []judge.Entry {
		list := append([]judge.Entry{{Kind: judge.Opened}, sent(1, "i"), accepted(1)}, more...)
		return list
	}
	waited := func(ms float64) judge.Entry {
		return judge.Entry{Kind: judge.Waited, WaitedMS: ms, AtNS: int64(ms*1e6) + 1e9}
	}
	cases := []struct {
		name    string
		entries []judge.Entry
		change  func(h *judge.History)
		want    judge.Result
		rule    judge.Rule
		says    string // in the text
	}{
		{"right", whole(), nil, judge.Keeps, "", "It keeps its promises."},
		{"nothing", nil, nil, judge.Inconclusive, "", "no instance was submitted"},
		{"not looked up", whole()[:8], nil, judge.Inconclusive, "", "1 instances were accepted or ended, and not looked up afterwards"},
		{"ends only", append([]judge.Entry{sent(1, "i"), accepted(1), ended("i", "12:")}, looked(2, "i", protocol.Completed, "12:")...),
			func(h *judge.History) { h.Report = protocol.ReportEnds }, judge.Keeps, "", ""},
		{"a wrong sum", append([]judge.Entry{sent(1, "i"), accepted(1), ended("i", "7:")}, looked(2, "i", protocol.Completed, "7:")...),
			func(h *judge.History) { h.Report = protocol.ReportEnds }, judge.Breaks, judge.RuleResult, "the sum of its result is 12"},
		{"the store knows nothing", append(open(), looked(2, "i", protocol.Unknown, "")...), nil, judge.Breaks, judge.RuleSubmit, "does not know it"},
		{"it promised nothing", append(open(), looked(2, "i", protocol.Unknown, "")...),
			func(h *judge.History) { h.Promises.Submit = protocol.None }, judge.Keeps, "", "1 lost"},
		{"not accepted", append([]judge.Entry{sent(1, "i"), {Kind: judge.Unanswered, Batch: 1}}, looked(2, "i", protocol.Unknown, "")...),
			nil, judge.Keeps, "", "1 batches unanswered"},
		{"a look without an answer", append([]judge.Entry{
			{Kind: judge.Asked, Batch: 8, IDs: []string{"i"}}, {Kind: judge.Unanswered, Batch: 8}, {Kind: judge.Asked, Batch: 9, IDs: []string{"i"}}, {Kind: judge.Refused, Batch: 9},
		}, whole()...), nil, judge.Keeps, "", ""},
		{"an accepted look", append([]judge.Entry{{Kind: judge.Asked, Batch: 8, IDs: []string{"i"}}, accepted(8)}, whole()...),
			nil, judge.Inconclusive, "", "an answer to a batch that was not sent"},
		{"asked before it was accepted", []judge.Entry{
			sent(1, "i"), looked(2, "i", protocol.Unknown, "")[0], accepted(1), looked(2, "i", protocol.Unknown, "")[1],
		}, nil, judge.Inconclusive, "", "not looked up afterwards"},
		{"open", append(open(), looked(2, "i", protocol.Open, "")...), nil, judge.Inconclusive, "", "nobody waited long enough"},
		{"waited too short", append(open(waited(29_000)), looked(2, "i", protocol.Open, "")...), nil, judge.Inconclusive, "", "nobody waited long enough"},
		{"never begun", append(open(waited(61_000)), looked(2, "i", protocol.Open, "")...), nil, judge.Breaks, judge.RuleSubmit, "nothing happened for the 61000 ms"},
		{"open, by ends only", append(open(waited(61_000)), looked(2, "i", protocol.Open, "")...), func(h *judge.History) { h.Report = protocol.ReportEnds },
			judge.Inconclusive, "", "executions were not reported"},
		{"never continued", append(open(started("i", "a", nil), waited(61_000)), looked(2, "i", protocol.Open, "")...), nil, judge.Breaks, judge.RuleRecovers, "within 3000 ms"},
		{"a fault lasts", append(open(started("i", "a", nil), judge.Entry{Kind: judge.FaultBegan, Fault: "cut"}, waited(61_000)), looked(2, "i", protocol.Open, "")...),
			nil, judge.Inconclusive, "", "nobody waited long enough"},
		{"nobody works", append(open(started("i", "a", nil), judge.Entry{Kind: judge.Killed}, waited(61_000)), looked(2, "i", protocol.Open, "")...),
			nil, judge.Inconclusive, "", "nobody waited long enough"},
		{"awaits its retry", append(open(started("i", "a", nil), judge.Entry{Kind: judge.Failed, Instance: "i", Task: "a", Attempt: 1}, waited(61_000)),
			looked(2, "i", protocol.Open, "")...), nil, judge.Inconclusive, "", "open since a task failed"},
		{"a value of another task", append(open(started("i", "a", nil), finished("i", "a", "7:x"), started("i", "b", map[string]string{"a": "9:z"})),
			looked(2, "i", protocol.Open, "")...), nil, judge.Breaks, judge.RuleValue, "which no execution has given"},
		{"no token", []judge.Entry{sent(1, "i"), started("i", "a", nil), finished("i", "a", "7:")}, nil, judge.Inconclusive, "", "has no token (1 times)"},
		{"a wrong sum of the adapter", []judge.Entry{sent(1, "i"), started("i", "a", nil), finished("i", "a", "8:x")}, nil, judge.Inconclusive, "", "not that of its inputs"},
		{"an unknown task", []judge.Entry{sent(1, "i"), started("i", "c", nil)}, nil, judge.Inconclusive, "", "a task that its workload does not have"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := historyOf(c.entries...)
			if c.change != nil {
				c.change(h)
			}
			v := judge.Judge(h)
			text := v.Text()
			if v.Result != c.want || !strings.Contains(text, c.says) {
				t.Errorf("want %s with %q, got\n%s", c.want, c.says, text)
			}
			if c.rule != "" && (len(v.Violations) != 1 || v.Violations[0].Rule != c.rule || len(v.Violations[0].Lines) == 0) {
				t.Errorf("want a violation of %s, got\n%s", c.rule, text)
			}
		})
	}
}

// TestCounts checks the figures of a run with a kill.
func TestCounts(t *testing.T) {
	h := historyOf(
		judge.Entry{Kind: judge.Opened}, judge.Entry{Kind: judge.Opened, Incarnation: 2},
		sent(1, "i"), sent(2, "j"), accepted(1), judge.Entry{Kind: judge.Unanswered, Batch: 2},
		started("i", "a", nil),
		judge.Entry{Kind: judge.Killed, AtNS: 1e9},
		judge.Entry{Kind: judge.Started, Instance: "i", Task: "a", Attempt: 2, Incarnation: 2, AtNS: 3e9},
		judge.Entry{Kind: judge.Finished, Instance: "i", Task: "a", Attempt: 2, Incarnation: 2, AtNS: 3e9, Value: "7:x"},
		judge.Entry{Kind: judge.Problem, Message: "lost a lease"},
	)
	c := judge.Judge(h).Counts
	want := judge.Counts{
		InstancesSubmitted: 2, InstancesAccepted: 1, BatchesUnanswered: 1, Problems: 1, Kills: 1,
		Executions: 2, RepeatedExecutions: 1, RepeatedPerKill: 1,
		Restarts: judge.Restarts{Instances: 1, P50MS: 2000, P99MS: 2000, MaxMS: 2000},
	}
	if c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
}

// What a dead process had worked on last continues when another process works on it, or when it ends; lines that the dead one had written do
// not count, nor does what others had in hand.
func TestRestarts(t *testing.T) {
	at := func(kind judge.Kind, instance string, incarnation, second int) judge.Entry {
		return judge.Entry{Kind: kind, Instance: instance, Incarnation: incarnation, AtNS: int64(second) * 1e9}
	}
	h := historyOf(
		at(judge.Started, "i", 1, 0), at(judge.Finished, "i", 1, 1), at(judge.Finished, "j", 1, 2), at(judge.Started, "k", 1, 2), at(judge.Started, "k", 2, 3),
		at(judge.Finished, "l", 1, 3), at(judge.Finished, "m", 1, 3), at(judge.Ended, "n", 1, 3), at(judge.Finished, "o", 1, 3),
		at(judge.Killed, "", 1, 10),
		at(judge.Finished, "i", 1, 11), at(judge.Ended, "m", 1, 11), at(judge.Started, "k", 3, 12), at(judge.Started, "i", 2, 13), at(judge.Ended, "j", 3, 14),
		at(judge.Died, "", 2, 20),
		at(judge.Started, "i", 3, 25), at(judge.Started, "o", 3, 40),
	)
	want := judge.Restarts{Instances: 4, Missing: 1, P50MS: 4000, P99MS: 30000, MaxMS: 30000}
	if got := judge.Judge(h).Counts.Restarts; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestVerdictIsJSON checks the names of a verdict's and a history's fields.
func TestVerdictIsJSON(t *testing.T) {
	h := historyOf(whole()...)
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var again judge.History
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	v := judge.Judge(&again)
	if text, err = json.Marshal(v); err != nil || v.Result != judge.Keeps {
		t.Fatal(v.Text(), err)
	}
	for _, name := range []string{`"result":"keeps"`, `"instances_submitted":1`, `"p50_ms":0`} {
		if !strings.Contains(string(text), name) {
			t.Errorf("%s lacks %s", text, name)
		}
	}
}

// TestManyViolations checks that a verdict stays small.
func TestManyViolations(t *testing.T) {
	var entries []judge.Entry
	for i := range 100 {
		id := string(rune('A'+i/26)) + string(rune('a'+i%26))
		entries = append(entries, sent(int64(i), id), accepted(int64(i)))
		entries = append(entries, looked(int64(1000+i), id, protocol.Unknown, "")...)
	}
	v := judge.Judge(historyOf(entries...))
	if len(v.Violations) != 20 || v.Totals[judge.RuleSubmit] != 100 || !strings.Contains(v.Text(), "and 97 more") {
		t.Errorf("%d violations of %d\n%s", len(v.Violations), v.Totals[judge.RuleSubmit], v.Text())
	}
}
