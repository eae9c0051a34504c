package scenarios_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pulley/engine/expr"
	"pulley/engine/ir"
	"pulley/engine/reference"
	"pulley/engine/worker"
	"pulley/scenarios"
)

func eachRun(t *testing.T, test func(*testing.T, scenarios.Program, scenarios.ProgramRun)) {
	t.Helper()
	list, err := scenarios.Programs()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		for i, r := range p.Runs {
			t.Run(fmt.Sprintf("%s/%d", p.Name, i+1), func(t *testing.T) { test(t, p, r) })
		}
	}
}

func parse(t *testing.T, p scenarios.Program) *ir.Program {
	t.Helper()
	tree, err := ir.Parse(p.Name+".ir", []byte(p.Source), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// A line-by-line interpreter that knows no engine gives each program's stated result. One result is right, whatever the order
// in which actions end.
func TestProgramsMeanWhatTheySay(t *testing.T) {
	eachRun(t, func(t *testing.T, p scenarios.Program, r scenarios.ProgramRun) {
		interpreter, err := reference.NewInterpreter(parse(t, p), ir.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		outcomes, all := interpreter.Possible(r.Input, interpreted(t, p), reference.Options{}, 0)
		if len(outcomes) != 1 || !all {
			t.Fatalf("%d outcomes are right, not one", len(outcomes))
		}
		if d := outcomes[0].Differs(endOf(t, p, r)); d != "" {
			t.Error("the program says that it " + d)
		}
	})
}

func endOf(t *testing.T, p scenarios.Program, r scenarios.ProgramRun) reference.End {
	t.Helper()
	if r.Fails == nil {
		return reference.End{Status: reference.Completed, Result: r.Gives}
	}
	line, col, _ := strings.Cut(r.Fails.Position, ":")
	pos := ir.Pos{File: p.Name + ".ir"}
	var err error
	if pos.Line, err = strconv.Atoi(line); err != nil {
		t.Fatal(err)
	}
	if pos.Col, err = strconv.Atoi(col); err != nil {
		t.Fatal(err)
	}
	return reference.End{Status: reference.Failed, Error: &reference.Error{
		Type: r.Fails.Type, Message: r.Fails.Message, Action: r.Fails.Action, Pos: pos,
	}}
}

// The interpreter has no clock: a sleep longer than the timeout that the program gives @sleep times out at once, and any other
// ends at once.
func interpreted(t *testing.T, p scenarios.Program) reference.Action {
	t.Helper()
	calls := actions(t)
	limit := timeoutOf(t, p)
	return func(name string, args reference.Args, attempt int) (expr.Value, *reference.Error) {
		object := map[string]json.RawMessage{}
		for _, a := range args {
			value, err := expr.Encode(a.Value)
			if err != nil {
				t.Fatal(err)
			}
			object[a.Name] = value
		}
		if name == "sleep" {
			return nil, slept(object["ms"], limit)
		}
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		result, failure := calls[name](text, attempt)
		if failure != nil {
			return nil, &reference.Error{Type: failure.Type, Message: failure.Message}
		}
		value, err := expr.Decode(result, ir.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return value, nil
	}
}

// A limit of zero means none.
func slept(ms json.RawMessage, limit time.Duration) *reference.Error {
	n, err := strconv.ParseFloat(string(ms), 64)
	if err != nil || limit == 0 || n < float64(limit.Milliseconds()) {
		return nil
	}
	return &reference.Error{Type: worker.TypeTimeout, Message: fmt.Sprintf("action sleep took longer than its timeout of %v", limit)}
}

var sleepTimeout = regexp.MustCompile(`@sleep\(.*\[timeout: (\w+)\]`)

func timeoutOf(t *testing.T, p scenarios.Program) time.Duration {
	t.Helper()
	found := sleepTimeout.FindAllStringSubmatch(p.Source, -1)
	if len(found) == 0 {
		return 0
	}
	limit, err := time.ParseDuration(found[0][1])
	if err != nil || len(found) > 1 {
		t.Fatalf("one timeout of @sleep can be told from others: %v, %v", found, err)
	}
	return limit
}
