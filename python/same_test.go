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

	"github.com/google/uuid"

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

type ran struct {
	Name    string
	Program string
	Errors  []python.Translation
	Input   json.RawMessage
	Status  string
	Result  json.RawMessage
	Error   *[2]string // type and message
	Line    int        // at which it failed; 0: not compared
	Refused string     // why the compiler refuses the file; then the rest is empty

	Positions []python.Position
}

func (c ran) file() string {
	file, _, _ := strings.Cut(c.Name, " ")
	return file
}

func (c ran) wanted(t *testing.T) ended {
	want := ended{Status: c.Status, Result: value(t, c.Result), Line: c.Line}
	if c.Error != nil {
		want.Error = c.Error[0] + ": " + c.Error[1]
	}
	return want
}

type ended struct {
	Status string
	Result expr.Value
	Error  string
	Line   int
}

func (e ended) String() string {
	return fmt.Sprintf("%s %v %s, line %d", e.Status, e.Result, e.Error, e.Line)
}

// The line is compared if want has one.
func (e ended) same(t *testing.T, want ended) bool {
	return e.Status == want.Status && e.Error == want.Error && (want.Line == 0 || e.Line == want.Line) &&
		expr.Equal(e.Result, want.Result) && keys(t, e.Result) == keys(t, want.Result)
}

func TestSameAsPython(t *testing.T) {
	t.Parallel()
	holdAgainstPython(t, 100)
}

// patience bounds every wait. It only takes minutes on a busy machine.
const patience = 20 * time.Minute

// seedVariable selects random workflows: the first seed, and how many.
const seedVariable = "PULLEY_PYTHON_SEEDS"

func TestSameAtRandom(t *testing.T) {
	t.Parallel()
	first, count := seeds(t, depth.Of(40, 400))
	holdAgainstPython(t, 1, "--random", strconv.Itoa(first), strconv.Itoa(count))
}

// seeds reads the first seed and their number from the environment; else count seeds from 1 on.
func seeds(t *testing.T, count int) (first, n int) {
	t.Helper()
	text := cmp.Or(os.Getenv(seedVariable), "1 "+strconv.Itoa(count))
	if found, err := fmt.Sscanf(text, "%d %d", &first, &n); found != 2 {
		t.Fatalf("%s is %q; write the first seed and how many: %v", seedVariable, text, err)
	}
	return first, n
}

func holdAgainstPython(t *testing.T, least int, args ...string) {
	cases := byPython(t, args...)
	if len(cases) < least {
		t.Fatalf("%d cases", len(cases))
	}
	run := newRunner(t)
	for _, c := range cases {
		run.check(t, c)
	}
}

func byPython(t *testing.T, args ...string) []ran {
	t.Helper()
	ctx, cancel := depth.Within(t.Context(), t, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, find(t), append([]string{"tests/compiler/cases.py"}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1")
	cmd.WaitDelay = 10 * time.Second
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	var cases []ran
	for line := range bytes.Lines(out) {
		var c ran
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

type runner struct {
	actions *worker.Registry
	engine  *engine.Engine
}

func newRunner(t *testing.T) *runner {
	store := memory.New(memory.Options{})
	t.Cleanup(store.Close)
	return newRunnerOn(t, store)
}

func newRunnerOn(t *testing.T, store backend.Backend) *runner {
	actions, err := worker.NewRegistry(worker.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{Backend: store, Workers: actions, Signals: true})
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
	})
	return &runner{actions, e}
}

func (r *runner) check(t *testing.T, c ran) {
	t.Helper()
	want := c.wanted(t)
	for _, by := range []struct {
		name string
		run  func(*testing.T, ran) ended
	}{{"the interpreter", r.interpret}, {"memory", r.onEngine}} {
		if got := by.run(t, c); !got.same(t, want) {
			t.Errorf("%s\nCPython: %v\n%s: %v\n%s", c.Name, want, by.name, got, c.Program)
		}
	}
}

func (r *runner) interpret(t *testing.T, c ran) ended {
	return c.ended(t, r.interpreter(t, c.Program).Run(c.Input, r.act(t), reference.Options{}))
}

func (r *runner) interpreter(t *testing.T, program string) *reference.Interpreter {
	t.Helper()
	p, err := ir.Parse("case.ir", []byte(program), ir.Limits{})
	if err != nil {
		t.Fatalf("%v\n%s", err, program)
	}
	i, err := reference.NewInterpreter(p, ir.Limits{})
	if err != nil {
		t.Fatalf("%v\n%s", err, program)
	}
	return i
}

func (r *runner) act(t *testing.T) reference.Action {
	return reference.OnJSON(ir.Limits{}, func(name string, args json.RawMessage, attempt int) (json.RawMessage, *reference.Error) {
		if name == worker.WaitSignal { // nobody sends one, and all of these waits time out
			return nil, &reference.Error{Type: worker.TypeTimeout, Message: "no signal came"}
		}
		result, failure := r.actions.Execute(t.Context(), backend.Task{Action: name, Args: args, Attempt: attempt})
		if failure != nil {
			return nil, &reference.Error{Type: failure.Type, Message: failure.Message}
		}
		return result, nil
	})
}

func (c ran) ended(t *testing.T, o reference.Outcome) ended {
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

func (r *runner) onEngine(t *testing.T, c ran) ended { return r.wait(t, c, r.submit(t, c)) }

func (r *runner) submit(t *testing.T, c ran) uuid.UUID {
	ready, err := plan.CompileText("case.ir", []byte(c.Program), ir.Limits{})
	if err != nil {
		t.Fatalf("%s: %v\n%s", c.Name, err, c.Program)
	}
	id, err := r.engine.Submit(t.Context(), engine.SubmitRequest{Program: ready, Input: c.Input})
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return id
}

func (r *runner) wait(t *testing.T, c ran, id uuid.UUID) ended {
	ctx, cancel := depth.Within(t.Context(), t, patience)
	defer cancel()
	instance, err := r.engine.Wait(ctx, id)
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

func (c ran) python(typ, message string) string {
	typ, message = (&python.Source{Errors: c.Errors}).Error(typ, message)
	return typ + ": " + message
}

func (c ran) line(at ir.Pos) int {
	s := python.Source{Positions: c.Positions}
	return s.Place(at).Line
}

// keys returns the keys of all dicts in order, which expr.Equal does not compare.
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

// No data is None.
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
