package behaviour_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/depth"
	"pulley/internal/yamlfile"
	"pulley/scenarios/behaviour"
	"pulley/scenarios/dist"
	"pulley/scenarios/template"
)

func law(t *testing.T, text string, unit dist.Unit) *dist.Law {
	t.Helper()
	l, err := dist.Parse(text, unit, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func gives(t *testing.T, text string) *template.Template {
	t.Helper()
	var r yamlfile.Report
	compiled := template.Compile(yamlfile.Parse("s.yaml", []byte(text), &r), nil, &r)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return compiled
}

func made(t *testing.T, seed uint64, list ...behaviour.Description) *behaviour.Actions {
	t.Helper()
	a, err := behaviour.New(seed, list...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func call(r *worker.Registry, action, args string, attempt int) string {
	result, failed := r.Execute(context.Background(), backend.Task{Action: action, Args: json.RawMessage(args), Attempt: attempt})
	if failed != nil {
		return failed.Type + ": " + failed.Message
	}
	return string(result)
}

func TestResults(t *testing.T) {
	a := made(t, 1,
		behaviour.Description{Name: "orders.price", Gives: gives(t, "\"= {'id': order['id'], 'total': 2 * order['n']}\"")},
		behaviour.Description{Name: "fixed", Gives: gives(t, "{ok: true, list: [1, = x]}")},
		behaviour.Description{Name: "hash", Service: law(t, "const:0s", dist.Durations)},
		behaviour.Description{Name: "charge"},
	)
	for _, c := range []struct{ action, args, want string }{
		{"orders.price", `{"order":{"id":"a","n":4}}`, `{"id":"a","total":8}`},
		{"orders.price", `{"ordr":1}`, `ArgumentError: action orders.price: argument order is missing`},
		{"orders.price", `{"order":{"id":"a"}}`, `ResultError: action orders.price: what it gives: s.yaml:1:1: ExpressionError: key "n" not in dict`},
		{"fixed", `{"x":null}`, `{"ok":true,"list":[1,null]}`},
		{"hash", `{"data":"abc","rounds":1}`, `"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`},
		{"hash", `{"data":"abc"}`, `ArgumentError: action hash: argument rounds is missing`},
		{"sleep", `{"ms":0}`, `null`},
		{"sleep", `{"ms":-1}`, `ArgumentError: action sleep: argument ms is -1, must be at least 0 and less than 9223372036854`},
		{"task", `{"id":"a","seconds":0,"inputs":[1,2]}`, `1366846103`},
	} {
		timed, instant := call(a.Timed(), c.action, c.args, 1), call(a.Instant(), c.action, c.args, 1)
		if timed != instant || timed != c.want && c.action != "task" {
			t.Errorf("%s(%s): %s, and at once %s; want %s", c.action, c.args, timed, instant, c.want)
		}
	}
	// The number computed from the arguments depends on each of them and on the action, but not on their notation.
	one := call(a.Timed(), "charge", `{"a":1,"b":[1,2.5]}`, 1)
	if same := call(a.Timed(), "charge", `{ "b": [1, 25e-1], "a": 1 }`, 3); same != one {
		t.Errorf("%s, and written differently %s", one, same)
	}
	for _, other := range []string{`{"a":2,"b":[1,2.5]}`, `{"a":1,"b":[2.5,1]}`, `{"a":1.0,"b":[1,2.5]}`, `{"a":1}`} {
		if call(a.Timed(), "charge", other, 1) == one {
			t.Errorf("%s gives the same", other)
		}
	}
	if call(a.Timed(), behaviour.StepName, `{"a":1,"b":[1,2.5]}`, 1) == one {
		t.Error("another action gives the same")
	}
}

func TestNothingWaitsAtOnce(t *testing.T) {
	a := made(t, 1, behaviour.Description{Name: "charge", Service: law(t, "const:1h", dist.Durations)})
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			action, args string
			takes        time.Duration
		}{
			{"charge", `{}`, time.Hour}, {"sleep", `{"ms":60000}`, time.Minute}, {"task", `{"id":"a","seconds":7,"inputs":[]}`, 7 * time.Second}, {"noop", `{}`, 0},
		} {
			begun := time.Now()
			instant := call(a.Instant(), c.action, c.args, 1)
			if took := time.Since(begun); took != 0 {
				t.Errorf("%s took %v, and should take no time", c.action, took)
			}
			if timed := call(a.Timed(), c.action, c.args, 1); timed != instant || time.Since(begun) != c.takes {
				t.Errorf("%s took %v for %s, and should take %v for %s", c.action, time.Since(begun), timed, c.takes, instant)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("the lease is lost"))
		if _, failed := a.Timed().Execute(ctx, backend.Task{Action: "charge", Args: json.RawMessage(`{}`)}); failed == nil || failed.Message != "the lease is lost" {
			t.Errorf("an attempt that is cancelled gives %v", failed)
		}
	})
}

// The service time must count towards a node's timeout.
func TestTimesOutWithinItsNode(t *testing.T) {
	a := made(t, 1, behaviour.Description{Name: "slow", Service: law(t, "const:1m", dist.Durations)})
	program := compiled(t, "fn main(input: [], output: [x]):\n    x = @slow() [timeout: 5s]\n")
	synctest.Test(t, func(t *testing.T) {
		task := backend.Task{Action: "slow", Args: json.RawMessage(`{}`), Attempt: 1, Program: program}
		task.Lease.Key.Run.Node = actionNode(program.Graph())
		begun := time.Now()
		_, failed := a.Timed().Execute(t.Context(), task)
		if failed == nil || failed.Type != worker.TypeTimeout || time.Since(begun) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), failed)
		}
	})
	if got := a.Timeouts(program.Graph()); len(got) != 1 || !strings.Contains(got[0], "s.ir:2:9: @slow takes longer than its timeout of 5s in 1e+02 of 100 attempts") {
		t.Errorf("warnings %q", got)
	}
	fast := made(t, 1, behaviour.Description{Name: "slow", Service: law(t, "uniform:0s..4s", dist.Durations)})
	if got := fast.Timeouts(program.Graph()); len(got) != 0 {
		t.Errorf("warnings %q", got)
	}
}

func compiled(t *testing.T, source string) *plan.Program {
	t.Helper()
	p, err := plan.CompileText("s.ir", []byte(source), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func actionNode(g *graph.Graph) graph.NodeID {
	for _, n := range g.Nodes {
		if n.Kind == graph.Action {
			return n.ID
		}
	}
	return -1
}

// Timed and instant actions and equal seeds must fail alike, other seeds not, and retries draw anew.
func TestFailures(t *testing.T) {
	described := behaviour.Description{Name: "charge", Fails: []behaviour.Failure{
		{Share: 0.1, Type: "Network", Message: "connection reset"}, {Share: 0.05, Type: "Declined", Message: "no funds"},
	}}
	a, same, other := made(t, 7, described), made(t, 7, described), made(t, 8, described)
	n := depth.Of(4000, 100_000)
	count := map[string]int{}
	differ, again := 0, 0
	for i := range n {
		args := fmt.Sprintf(`{"order":%d}`, i)
		got := call(a.Timed(), "charge", args, 1)
		if call(same.Instant(), "charge", args, 1) != got {
			t.Fatalf("%s: %s, and not the same the next time", args, got)
		}
		if _, failed, _ := strings.Cut(got, ": "); failed == "" {
			got = "completed"
		}
		count[got]++
		if fails := func(a *behaviour.Actions, attempt int) bool {
			return strings.Contains(call(a.Instant(), "charge", args, attempt), ": ")
		}; got != "completed" {
			if !fails(other, 1) {
				differ++
			}
			if fails(a, 2) {
				again++
			}
		}
	}
	failed := n - count["completed"]
	for got, c := range map[int]struct {
		share float64
		of    int
	}{count["Network: connection reset"]: {0.1, n}, count["Declined: no funds"]: {0.05, n}, failed - differ: {0.15, failed}, again: {0.15, failed}} {
		if off := math.Abs(float64(got) - c.share*float64(c.of)); off > 4*math.Sqrt(float64(c.of)*c.share*(1-c.share)) {
			t.Errorf("%d of %d, and the share should be %v", got, c.of, c.share)
		}
	}
}

// Times depend only on the attempt, the node run, the instance and the seed.
func TestServiceTimes(t *testing.T) {
	described := behaviour.Description{Name: "charge", Service: law(t, "exp:1s", dist.Durations)}
	a, same, other := made(t, 1, described), made(t, 1, described), made(t, 2, described)
	synctest.Test(t, func(t *testing.T) {
		took := func(a *behaviour.Actions, task backend.Task) time.Duration {
			task.Action, task.Args = "charge", json.RawMessage(`{}`)
			begun := time.Now()
			a.Timed().Execute(t.Context(), task)
			return time.Since(begun)
		}
		instance := uuid.MustParse("00000000-0000-4000-8000-000000000001")
		task := func(id uuid.UUID, path graph.Path, attempt int) backend.Task {
			return backend.Task{Attempt: attempt, Lease: backend.Lease{Key: backend.Key{Instance: id, Run: graph.Run{Path: path}}}}
		}
		base := task(instance, "1", 1)
		first := took(a, base)
		if took(a, base) != first || took(same, base) != first {
			t.Error("the same attempt takes another time")
		}
		if took(other, base) == first || took(a, task(uuid.UUID{}, "1", 1)) == first || took(a, task(instance, "2", 1)) == first || took(a, task(instance, "1", 2)) == first {
			t.Error("another attempt takes the same time")
		}
	})
}

// Results must have exactly the drawn size, resist compression, and depend on the arguments.
func TestPayloads(t *testing.T) {
	a := made(t, 1,
		behaviour.Description{Name: "blob", Payload: law(t, "const:4kB", dist.Bytes)},
		behaviour.Description{Name: "dict", Payload: law(t, "uniform:1kB..3kB", dist.Bytes), Gives: gives(t, "{id: = n}")},
		behaviour.Description{Name: "small", Payload: law(t, "const:5B", dist.Bytes), Gives: gives(t, "{id: = n}")},
		behaviour.Description{Name: "taken", Payload: law(t, "const:5B", dist.Bytes), Gives: gives(t, "{payload: 1}")},
		behaviour.Description{Name: "huge", Payload: law(t, "const:1GB", dist.Bytes)},
	)
	for action, size := range map[string]func(int) bool{
		"blob":  func(n int) bool { return n == 4000 },
		"dict":  func(n int) bool { return n >= 1000 && n <= 3000 },
		"small": func(n int) bool { return n == len(`{"id":1,"payload":""}`) },
		"huge":  func(n int) bool { return n == 1<<20 },
	} {
		one, two := call(a.Timed(), action, `{"n":1}`, 1), call(a.Instant(), action, `{"n":1}`, 9)
		if !size(len(one)) || one != two || !json.Valid([]byte(one)) {
			t.Errorf("%s: %d bytes: %.80s", action, len(one), one)
		}
		if other := call(a.Timed(), action, `{"n":2}`, 1); other == one {
			t.Errorf("%s gives the same for other arguments", action)
		}
	}
	if got := call(a.Timed(), "taken", `{}`, 1); !strings.Contains(got, "has a key payload already") {
		t.Error(got)
	}
}

func TestCheck(t *testing.T) {
	a := made(t, 1, behaviour.Description{Name: "charge", Gives: gives(t, "= order")}, behaviour.Description{Name: "mail.send2"})
	g := compiled(t, `fn main(input: [], output: [x]):
    a = @charge(order=1, more=2)
    b = @charge(oder=1)
    c = @chrage(order=1)
    d = @add(a=1, c=2)
    e = @mail.send2(anything=1)
    f = @xyzzy()
    x = @step(any=1)
`).Graph()
	var got []string
	for _, err := range a.Check(g) {
		got = append(got, err.Error())
	}
	want := []string{
		"s.ir:3:9: @charge lacks order; write order=…",
		"s.ir:4:9: @chrage is no action; did you mean @charge?",
		"s.ir:5:9: @add takes no c; it takes a, b",
		"s.ir:5:9: @add lacks b; write b=…",
		"s.ir:7:9: @xyzzy is no action; describe it under actions, or write one that is built in: @" + strings.Join(behaviour.BuiltinNames(), ", @"),
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, err := behaviour.New(1, behaviour.Description{Name: "a"}, behaviour.Description{Name: "a"}); err == nil {
		t.Error("an action was described twice")
	}
	if !behaviour.Builtin("task") || behaviour.Builtin("charge") || a.Service("charge") != nil {
		t.Error("what is built in is not known")
	}
}
