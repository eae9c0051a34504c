package python_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/expr"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/reference"
	"pulley/engine/worker"
	"pulley/internal/depth"
	"pulley/python"
)

// ran is a workflow with an input, and what CPython made of them.
type ran struct {
	Name    string
	Program string
	Errors  []python.Translation
	Input   json.RawMessage
	Status  string
	Result  json.RawMessage
	Error   *[2]string // type and message
	Line    int        // at which it failed; 0: not compared

	Positions []python.Position
}

// ended is how a run ended, with the error as Python has it.
type ended struct {
	Status string
	Result expr.Value
	Error  string
	Line   int
}

func (e ended) String() string {
	return fmt.Sprintf("%s %v %s, line %d", e.Status, e.Result, e.Error, e.Line)
}

// TestSameAsPython holds the interpreter and an engine in memory against CPython: the workflows of tests/workflows must have
// the same results and errors everywhere.
func TestSameAsPython(t *testing.T) {
	t.Parallel()
	holdAgainstPython(t, 100)
}

// seedVariable names workflows at random to be tried: the first seed, and how many.
const seedVariable = "PULLEY_PYTHON_SEEDS"

// TestSameAtRandom does so with workflows that are written at random.
func TestSameAtRandom(t *testing.T) {
	t.Parallel()
	seeds := strings.Fields(cmp.Or(os.Getenv(seedVariable), "1 "+strconv.Itoa(depth.Of(40, 400))))
	if len(seeds) != 2 {
		t.Fatalf("%s must be two numbers", seedVariable)
	}
	holdAgainstPython(t, 1, "--random", seeds[0], seeds[1])
}

func holdAgainstPython(t *testing.T, least int, args ...string) {
	cmd := exec.CommandContext(t.Context(), find(t), append([]string{"tests/compiler/cases.py"}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1")
	cmd.WaitDelay = 10 * time.Second
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	run := newRunner(t)
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) < least {
		t.Fatalf("%d cases", len(lines))
	}
	for _, line := range lines {
		var c ran
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		run.check(t, c)
	}
}

// runner runs programs by the interpreter and by an engine in memory, with the actions that are built in.
type runner struct {
	actions *worker.Registry
	engine  *engine.Engine
}

func newRunner(t *testing.T) *runner {
	actions, err := worker.NewRegistry(worker.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New(memory.Options{})
	e, err := engine.New(engine.Config{Backend: store, Workers: actions})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		store.Close()
	})
	return &runner{actions, e}
}

func (r *runner) check(t *testing.T, c ran) {
	t.Helper()
	want := ended{Status: c.Status, Result: value(t, c.Result)}
	if c.Error != nil {
		want.Error = c.Error[0] + ": " + c.Error[1]
		want.Line = c.Line
	}
	for _, by := range []struct {
		name string
		run  func(*testing.T, ran) ended
	}{{"the interpreter", r.interpret}, {"memory", r.inMemory}} {
		got := by.run(t, c)
		if got.Status != want.Status || want.Line != 0 && got.Line != want.Line || got.Error != want.Error || !expr.Equal(got.Result, want.Result) || keys(t, got.Result) != keys(t, want.Result) {
			t.Errorf("%s\nCPython: %v\n%s: %v\n%s", c.Name, want, by.name, got, c.Program)
		}
	}
}

func (r *runner) interpret(t *testing.T, c ran) ended {
	p, err := ir.Parse("case.ir", []byte(c.Program), ir.Limits{})
	if err != nil {
		t.Fatalf("%s: %v\n%s", c.Name, err, c.Program)
	}
	i, err := reference.NewInterpreter(p, ir.Limits{})
	if err != nil {
		t.Fatalf("%s: %v\n%s", c.Name, err, c.Program)
	}
	act := reference.OnJSON(ir.Limits{}, func(name string, args json.RawMessage, attempt int) (json.RawMessage, *reference.Error) {
		result, failure := r.actions.Execute(t.Context(), backend.Task{Action: name, Args: args, Attempt: attempt})
		if failure != nil {
			return nil, &reference.Error{Type: failure.Type, Message: failure.Message}
		}
		return result, nil
	})
	o := i.Run(c.Input, act, reference.Options{})
	end := ended{Status: string(o.Status), Result: o.Result}
	if o.Error != nil {
		end.Error = c.python(o.Error.Type, o.Error.Message)
		end.Line = c.line(o.Error.Pos)
	}
	if end.Result == nil {
		end.Result = value(t, nil)
	}
	return end
}

func (r *runner) inMemory(t *testing.T, c ran) ended {
	ready, err := plan.CompileText("case.ir", []byte(c.Program), ir.Limits{})
	if err != nil {
		t.Fatalf("%s: %v\n%s", c.Name, err, c.Program)
	}
	id, err := r.engine.Submit(t.Context(), engine.SubmitRequest{Program: ready, Input: c.Input})
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	instance, err := r.engine.Wait(t.Context(), id)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	end := ended{Status: string(instance.Status), Result: value(t, instance.Result)}
	if instance.Failure != nil {
		end.Error = c.python(instance.Failure.Type, instance.Failure.Message)
		end.Line = c.line(instance.Failure.Pos)
	}
	return end
}

// python gives type and message of an error as Python has them.
func (c ran) python(typ, message string) string {
	typ, message = (&python.Source{Errors: c.Errors}).Error(typ, message)
	return typ + ": " + message
}

// line gives the line in Python of a place in the program.
func (c ran) line(at ir.Pos) int {
	s := python.Source{Positions: c.Positions}
	return s.Place(at).Line
}

// keys gives the keys of all dicts in a value, in their order, which expr.Equal does not look at.
func keys(t *testing.T, v expr.Value) string {
	data, err := expr.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, text := range regexp.MustCompile(`"(?:[^"\\]|\\.)*":`).FindAll(data, -1) {
		found = append(found, string(text))
	}
	return strings.Join(found, " ")
}

// value decodes JSON; nothing is None.
func value(t *testing.T, data json.RawMessage) expr.Value {
	if len(data) == 0 {
		data = json.RawMessage("null")
	}
	v, err := expr.Decode(data, ir.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}
