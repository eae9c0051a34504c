package scenarios

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pulley/engine/plan"
	"pulley/engine/reference"
)

// Answers must be found whatever the order and spacing of arguments, and calls without an answer reported.
func TestAnswers(t *testing.T) {
	table, err := NewTable([]Answer{
		{Action: "a", Args: json.RawMessage(`{"x": 1, "y": [2]}`), Attempt: 1, Result: json.RawMessage("{\n \"r\": 1}")},
		{Action: "a", Args: json.RawMessage(`{"y":[2],"x":1}`), Attempt: 2, Failure: &plan.Failure{Type: "T", Message: "m"}},
		{Action: "a", Args: json.RawMessage(`{"x":1,"y":[2]}`), Attempt: 1, Result: json.RawMessage("2")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		action, args string
		attempt      int
		want, typ    string
	}{
		{"a", `{"y":[2], "x":1}`, 1, `{"r":1}`, ""},
		{"a", `{"x":1,"y":[2]}`, 2, "", "T"},
		{"a", `{"x":1,"y":[2]}`, 3, "", TypeUnknownCall},
		{"a", `{"x":1.0,"y":[2]}`, 1, "", TypeUnknownCall},
		{"b", `{"x":1,"y":[2]}`, 1, "", TypeUnknownCall},
		{"a", `{"x"`, 1, "", TypeUnknownCall},
	} {
		result, failure := table.Answer(c.action, json.RawMessage(c.args), c.attempt)
		typ := ""
		if failure != nil {
			typ = failure.Type
		}
		if string(result) != c.want || typ != c.typ {
			t.Errorf("@%s%s, attempt %d: %s, %v; want %s, %s", c.action, c.args, c.attempt, result, failure, c.want, c.typ)
		}
	}
	for _, wrong := range []Answer{{Action: "a", Args: json.RawMessage(`{`)}, {Action: "a", Args: json.RawMessage(`{}`), Result: json.RawMessage(`[`)}} {
		if _, err := NewTable([]Answer{wrong}); err == nil {
			t.Errorf("%s and %s are an answer", wrong.Args, wrong.Result)
		}
	}
}

func TestChanged(t *testing.T) {
	answer := func(action, args, result string, failure *plan.Failure) Answer {
		return Answer{Action: action, Args: json.RawMessage(args), Attempt: 1, Result: json.RawMessage(result), Failure: failure}
	}
	failed := &plan.Failure{Type: "T", Message: "m"}
	before := []Answer{answer("a", "{}", `{"x": 1, "y": 2}`, nil), answer("b", "{}", "", failed), answer("c", "{}", "1", nil), answer("d", "{}", "1", nil)}
	for _, c := range []struct {
		after []Answer
		want  []string
	}{
		{before, nil},
		{[]Answer{answer("d", "{}", "1", nil), answer("c", "{}", "1", nil), answer("b", "{}", "", &plan.Failure{Type: "T", Message: "m"}), answer("a", "{}", `{"y":2,"x":1}`, nil)}, nil},
		{[]Answer{answer("a", "{}", `{"x": 1, "y": 3}`, nil), answer("b", "{}", "", &plan.Failure{Type: "T", Message: "n"}), answer("c", "{}", "1.0", nil), answer("d", "{}", "1", nil)}, []string{"a", "b", "c"}},
		{[]Answer{answer("a", "{}", `{"x": 1, "y": 2}`, nil), answer("b", "{}", "1", nil), answer("c", "{}", "", failed), answer("d", `{"z":1}`, "1", nil)}, []string{"b", "c", "d"}},
		{append([]Answer{answer("e", "{}", "1", nil)}, before...), []string{"e"}},
	} {
		got, err := Changed(before, c.after)
		if err != nil || !cmp.Equal(got, c.want) {
			t.Errorf("%v, %v; want %v", got, err, c.want)
		}
	}
}

// Each call must be made once, and an interpreter with the answers must end the same way.
func TestAsk(t *testing.T) {
	w, err := find(t, "pipeline").Build(8, Options{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := w.Possible()
	if err != nil {
		t.Fatal(err)
	}
	if w.Answers, err = w.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	given, err := w.Possible()
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Answers) < 10 || len(given) != 1 || !reference.Same(run[0].Result, given[0].Result) || string(w.Expected) != reference.Canonical(given[0].Result) {
		t.Errorf("%d answers, %v and %v; expected %s", len(w.Answers), run[0].Result, given[0].Result, w.Expected)
	}
	w.Answers = w.Answers[1:]
	if missing, err := w.Possible(); err != nil || missing[0].Error == nil || missing[0].Error.Type != TypeUnknownCall {
		t.Errorf("without an answer: %v, %v", missing, err)
	}
}
