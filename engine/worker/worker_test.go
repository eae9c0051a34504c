package worker

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

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

func builtins(t *testing.T) *Registry {
	t.Helper()
	r, err := NewRegistry(Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func task(action, args string) backend.Task {
	return backend.Task{Action: action, Args: json.RawMessage(args), Attempt: 1}
}

func show(result json.RawMessage, failure *plan.Failure) string {
	if failure != nil {
		return failure.Type + ": " + failure.Message
	}
	return string(result)
}

const big = "123456789012345678901234567890"

var builtinCases = []struct{ action, args, want string }{
	{"echo", `{"value": {"b": [1, 1.0, null], "a": "ü\n"}}`, `{"b":[1,1.0,null],"a":"ü\n"}`},
	{"echo", `{"value": ` + big + `}`, big},
	{"echo", `{}`, "ArgumentError: action echo: argument value is missing"},
	{"echo", `{"value": 1, "valeu": 2}`, "ArgumentError: action echo: unknown argument valeu; it takes value"},
	{"echo", `[1]`, "ArgumentError: action echo: the arguments cannot be read: JSON at byte 0: '[' stands where an object should stand"},
	{"echo", `null`, "ArgumentError: action echo: the arguments cannot be read: JSON at byte 0: 'n' stands where an object should stand"},
	{"echo", `{"value": 1e999}`, "ArgumentError: action echo: the arguments cannot be read: JSON at byte 10: the number 1e999 is too large for a float"},
	{"add", `{"a": 1, "b": 2}`, "3"},
	{"add", `{"a": 1, "b": 2.5}`, "3.5"},
	{"add", `{"a": 1, "b": 2.0}`, "3.0"},
	{"add", `{"a": ` + big + `, "b": 1}`, "123456789012345678901234567891"},
	{"add", `{"a": "x", "b": "y"}`, `"xy"`},
	{"add", `{"a": [1], "b": ["y"]}`, `[1,"y"]`},
	{"add", `{"a": "x", "b": 1}`, "ArgumentError: action add: argument b must be a string like a, not an int"},
	{"add", `{"a": {}, "b": {}}`, "ArgumentError: action add: argument a must be a number, a string or a list, not a dict"},
	{"add", `{"a": true, "b": 1}`, "ArgumentError: action add: argument a must be a number, a string or a list, not a bool"},
	{"double", `{"value": 21}`, "42"},
	{"double", `{"value": 0.5}`, "1.0"},
	{"double", `{"value": null}`, "ArgumentError: action double: argument value must be a number, a string or a list, not None"},
	{"sum", `{"values": []}`, "0"},
	{"sum", `{"values": [1, 2, ` + big + `]}`, "123456789012345678901234567893"},
	{"sum", `{"values": [1, 0.5]}`, "1.5"},
	{"sum", `{"values": [1, "x"]}`, "ArgumentError: action sum: argument values must be a list of numbers; element 1 is a string"},
	{"sum", `{"values": 3}`, "ArgumentError: action sum: argument values must be a list, not an int"},
	{"items", `{"count": 3}`, "[0,1,2]"},
	{"items", `{"count": 0}`, "[]"},
	{"items", `{"count": -1}`, "ArgumentError: action items: argument count is -1, must be at least 0"},
	{"items", `{"count": -` + big + `}`, "ArgumentError: action items: argument count is -" + big + ", must be at least 0"},
	{"items", `{"count": 2.0}`, "ArgumentError: action items: argument count must be an int, not a float"},
	{"items", `{"count": ` + big + `}`, "LimitExceeded: action items: argument count is " + big + ", must be at most 524288"},
	{"hash", `{"data": "", "rounds": 1}`, `"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`},
	{"hash", `{"data": "abc", "rounds": 1}`, `"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`},
	{"hash", `{"data": "abc", "rounds": 2}`, `"dfe7a23fefeea519e9bbfdd1a6be94c4b2e4529dd6b7cbea83f9959c2621b13c"`},
	{"hash", `{"data": "abc", "rounds": 0}`, "ArgumentError: action hash: argument rounds is 0, must be at least 1"},
	{"hash", `{"data": 1, "rounds": 1}`, "ArgumentError: action hash: argument data must be a string, not an int"},
	{"sleep", `{"ms": 0}`, "null"},
	{"sleep", `{"ms": 0.001}`, "null"},
	{"sleep", `{"ms": -1}`, "ArgumentError: action sleep: argument ms is -1, must be at least 0 and less than 9223372036854"},
	{"sleep", `{"ms": 1e300}`, "ArgumentError: action sleep: argument ms is 1e+300, must be at least 0 and less than 9223372036854"},
	{"sleep", `{"ms": "1"}`, "ArgumentError: action sleep: argument ms must be a number, not a string"},
	{"fail", `{"type": "Declined", "message": "no funds"}`, "Declined: no funds"},
	{"fail", `{"type": "", "message": "no type"}`, "Error: no type"},
	{"fail", `{"type": 1, "message": ""}`, "ArgumentError: action fail: argument type must be a string, not an int"},
	{"flaky", `{"times": 0}`, "1"},
	{"flaky", `{"times": 1}`, "Flaky: attempt 1 of 1 that fail"},
	{"noop", `{}`, "null"},
	{"noop", `{"x": 1}`, "ArgumentError: action noop: unknown argument x; it takes none"},
	{"nope", `{}`, "UnknownAction: unknown action @nope; did you mean @noop?"},
	{"somewhere.else", `{}`, "UnknownAction: unknown action @somewhere.else; register it, or write one of those that are"},

	{"fetch_items", `{"count": 2}`, `[{"id":0,"value":"item_0"},{"id":1,"value":"item_1"}]`},
	{"fetch_items", `{"count": 9999999}`, "LimitExceeded: action fetch_items: argument count is 9999999, must be at most 43690"},
	{"process_item", `{"item": {"id": 7, "value": "item_7"}}`, `{"id":7,"hash":"hash_7","score":70}`},
	{"process_item", `{"item": {"value": "item_7"}}`, `ArgumentError: action process_item: argument item has no "id"`},
	{"process_item", `{"item": 7}`, `ArgumentError: action process_item: argument item must be a dict, not an int`},
	{"validate_chunk", `{"chunk_id": 0, "items": [{"score": 10}, {"score": 20}]}`, "true"},
	{"validate_chunk", `{"chunk_id": 0, "items": [{"score": 0}, {"score": 20}]}`, "false"},
	{"validate_chunk", `{"chunk_id": 0, "items": []}`, "true"},
	{"validate_chunk", `{"chunk_id": 0, "items": [{"score": "x"}]}`, `ArgumentError: action validate_chunk: argument items[0] must be a dict whose "score" is a number, not a string`},
	{"aggregate_chunk", `{"chunk_id": 3, "items": [{"score": 10}, {"score": 20}], "is_valid": true}`, `{"chunk_id":3,"total":30,"digest":"chunk_3"}`},
	{"aggregate_chunk", `{"chunk_id": 3, "items": [{"score": 10}], "is_valid": false}`, `{"chunk_id":3,"total":0,"digest":"chunk_3"}`},
	{"aggregate_chunk", `{"chunk_id": 3, "items": [], "is_valid": 1}`, `ArgumentError: action aggregate_chunk: argument is_valid must be a bool, not an int`},
	{"aggregate_chunk", `{"chunk_id": "3", "items": [], "is_valid": true}`, `ArgumentError: action aggregate_chunk: argument chunk_id must be an int, not a string`},
	{"finalize", `{"results": [{"total": 30}, {"total": 12}]}`, "42"},
	{"finalize", `{"results": []}`, "0"},
	{"finalize", `{"results": [{}]}`, `ArgumentError: action finalize: argument results[0] has no "total"`},

	{"payments.charge", `{"order": {"total": 100}}`, `{"paid":true,"total":100}`},
	{"payments.charge", `{"order": {"total": 100.5}}`, "Declined: 100.5 is more than the card's limit of 100"},
	{"payments.charge", `{"order": {}}`, `ArgumentError: action payments.charge: argument order has no "total"`},
	{"payments.charge", `{"order": {"total": "1"}}`, `ArgumentError: action payments.charge: argument order must be a dict whose "total" is a number, not a string`},
	{"stock.reserve", `{"order": {"total": 1}}`, "true"},
	{"mail.send", `{"to": "a@example.org", "receipt": null}`, `"a@example.org"`},
	{"mail.send", `{"to": 1, "receipt": null}`, "ArgumentError: action mail.send: argument to must be a string, not an int"},
}

func TestBuiltins(t *testing.T) {
	for _, c := range builtinCases {
		t.Run(c.action+c.args, func(t *testing.T) {
			if got := show(builtins(t).Execute(t.Context(), task(c.action, c.args))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestEveryBuiltinRefusesEveryWrongKind(t *testing.T) {
	values := []string{`null`, `true`, `1`, `1.5`, `"x"`, `[]`, `[null]`, `{}`, `{"id": null}`}
	r := builtins(t)
	for _, a := range r.Describe() {
		if a.Doc == "" || a.Args == nil {
			t.Errorf("%s does not say what it does", a.Name)
		}
		for _, v := range values {
			args := map[string]json.RawMessage{}
			for _, name := range a.Args {
				args[name] = json.RawMessage(v)
			}
			text, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			result, failure := r.Execute(t.Context(), task(a.Name, string(text)))
			if failure == nil && !json.Valid(result) || failure != nil && failure.Type == TypePanic {
				t.Errorf("%s(%s) gave %s", a.Name, v, show(result, failure))
			}
		}
	}
}

func TestFlakyCountsAttempts(t *testing.T) {
	r := builtins(t)
	for attempt, want := range map[int]string{2: "Flaky: attempt 2 of 2 that fail", 3: "3", 4: "4"} {
		again := task("flaky", `{"times": 2}`)
		again.Attempt = attempt
		if got := show(r.Execute(t.Context(), again)); got != want {
			t.Errorf("attempt %d gave %s, want %s", attempt, got, want)
		}
	}
}

func TestHowFunctionsEnd(t *testing.T) {
	long := strings.Repeat("ü", messageBytes)
	for _, c := range []struct {
		name string
		fn   Func
		want string
	}{
		{"nothing", func(context.Context, Call) (any, error) { return nil, nil }, "null"},
		{"int", func(context.Context, Call) (any, error) { return int64(math.MaxInt64), nil }, "9223372036854775807"},
		{"float", func(context.Context, Call) (any, error) { return 3.0, nil }, "3.0"},
		{"raw", func(context.Context, Call) (any, error) { return json.RawMessage(` {"a": 1.0} `), nil }, `{"a":1.0}`},
		{"struct", func(context.Context, Call) (any, error) {
			return struct {
				A int    `json:"a"`
				B string `json:"b"`
			}{1, "<"}, nil
		}, `{"a":1,"b":"<"}`},
		{"map", func(context.Context, Call) (any, error) { return map[string]any{"b": []int{1}, "a": nil}, nil }, `{"a":null,"b":[1]}`},
		{"a channel", func(context.Context, Call) (any, error) { return make(chan int), nil }, "ResultError: action act: its result cannot be JSON:"},
		{"not JSON", func(context.Context, Call) (any, error) { return json.RawMessage(`{"a":`), nil }, "ResultError: action act: its result cannot be JSON:"},
		{"not finite", func(context.Context, Call) (any, error) { return math.NaN(), nil }, "ResultError: action act: its result cannot be JSON:"},
		{"not UTF-8", func(context.Context, Call) (any, error) { return "\xff", nil }, "ResultError: action act: its result cannot be JSON:"},
		{"too large", func(context.Context, Call) (any, error) { return strings.Repeat("x", 2<<20), nil }, "LimitExceeded: action act: its result:"},
		{"error", func(context.Context, Call) (any, error) { return nil, errors.New("plain") }, "Error: plain"},
		{"typed", func(context.Context, Call) (any, error) {
			return nil, fmt.Errorf("wrapped: %w", &Error{Type: "Declined", Message: "no"})
		}, "Declined: no"},
		{"typed as a death", func(context.Context, Call) (any, error) { return nil, &Error{Type: typeDied, Message: "no"} }, "Error: no"},
		{"long type", func(context.Context, Call) (any, error) { return nil, &Error{Type: long, Message: "no"} }, long[:typeBytes] + "… (shortened): no"},
		{"panic", func(context.Context, Call) (any, error) { panic("oh") }, "Panic: action act panicked: oh"},
		{"out of range", func(_ context.Context, call Call) (any, error) { return []int{}[call.Attempt], nil },
			"Panic: action act panicked: runtime error: index out of range [1] with length 0"},
		{"broken text", func(context.Context, Call) (any, error) { return nil, errors.New("a\xffb") }, "Error: a\uFFFDb"},
		{"long text", func(context.Context, Call) (any, error) { return nil, errors.New(long) }, "Error: " + long[:messageBytes] + "… (shortened)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewRegistry(Action{Name: "act", Run: c.fn})
			if err != nil {
				t.Fatal(err)
			}
			got := show(r.Execute(t.Context(), task("act", `{}`)))
			if got != c.want && !(strings.HasSuffix(c.want, ":") && strings.HasPrefix(got, c.want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestPanicIsReportedWithItsStack(t *testing.T) {
	r, err := NewRegistry(Action{Name: "act", Run: func(context.Context, Call) (any, error) { panic("oh") }})
	if err != nil {
		t.Fatal(err)
	}
	var seen string
	r.OnPanic(func(action string, value any, stack []byte) {
		seen = fmt.Sprintf("%s %v %t", action, value, strings.Contains(string(stack), "TestPanicIsReportedWithItsStack"))
	})
	_, failure := r.Execute(t.Context(), task("act", `{}`))
	if seen != "act oh true" || strings.Contains(failure.Message, "goroutine") {
		t.Errorf("seen %q, failure %q", seen, failure.Message)
	}
}

// The first action is node first.
func program(t *testing.T, src string) (*plan.Program, *graph.Node) {
	t.Helper()
	p, err := plan.CompileText("test.ir", []byte(src), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	g := p.Graph()
	for _, n := range g.Nodes {
		if n.Kind == graph.Action {
			return p, n
		}
	}
	t.Fatal("no action")
	return nil, nil
}

func TestTimeoutHasTypeAndPosition(t *testing.T) {
	p, node := program(t, "fn main(input: [], output: [x]):\n    x = @sleep(ms=60000)\n    return x\n")
	node.Timeout = 2 * time.Second // as its policy would set it
	for _, c := range []struct {
		name string
		fn   Func
	}{
		{"an error", sleepFunc(t)},
		{"a late result", func(ctx context.Context, _ Call) (any, error) { <-ctx.Done(); return 1, nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := NewRegistry(Action{Name: "sleep", Run: c.fn})
				if err != nil {
					t.Fatal(err)
				}
				late := task("sleep", `{"ms": 60000}`)
				late.Program, late.Lease.Key.Run.Node = p, node.ID
				begun := time.Now()
				_, failure := r.Execute(t.Context(), late)
				want := &plan.Failure{Type: TypeTimeout, Message: "action sleep took longer than its timeout of 2s", Action: "sleep", Pos: node.Pos}
				if diff := cmp.Diff(want, failure); diff != "" || time.Since(begun) != 2*time.Second {
					t.Errorf("after %v: %s", time.Since(begun), diff)
				}
				if node.Pos.Line != 2 {
					t.Errorf("the position is %v", node.Pos)
				}
			})
		})
	}
}

func sleepFunc(t *testing.T) Func {
	t.Helper()
	for _, a := range Builtins() {
		if a.Name == "sleep" {
			return a.Run
		}
	}
	t.Fatal("no sleep")
	return nil
}

func TestCancelledActionsEnd(t *testing.T) {
	cause := errors.New("lease lost")
	for _, c := range []struct{ action, args string }{
		{"sleep", `{"ms": 3600000}`},
		{"hash", `{"data": "x", "rounds": 1000000000}`},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if _, failure := builtins(t).Execute(ctx, task(c.action, c.args)); failure == nil || failure.Message != "lease lost" {
			t.Errorf("%s continued: %v", c.action, failure)
		}
	}
}

func TestCheckNamesUnknownActionsByPosition(t *testing.T) {
	p, _ := program(t, `fn main(input: [], output: [x]):
    x = @ecko(value=1)
    y = @add(a=x, b=1)
    z = @parcels.ship(to=y)
    return z
`)
	err := builtins(t).Check(p.Graph())
	want := "test.ir:2:9: unknown action @ecko; did you mean @echo?\ntest.ir:4:9: unknown action @parcels.ship; register it, or write one of those that are"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
	var at *ir.Error
	if !errors.As(err, &at) || at.Pos.Line != 2 {
		t.Errorf("no position in %v", err)
	}
	built, err := graph.New("built").Build()
	if err == nil {
		if err := builtins(t).Check(built); err != nil {
			t.Error(err)
		}
	}
}

func TestBind(t *testing.T) {
	type args struct {
		Order struct {
			Total any `json:"total"`
		} `json:"order"`
		Name  string
		Note  string `json:"note,omitempty"`
		inner int
	}
	for _, c := range []struct{ args, want string }{
		{`{"order": {"total": 12345678901234567890}, "Name": "x"}`, "ok 12345678901234567890 x "},
		{`{"order": {"total": 1.0}, "Name": "x", "note": "n"}`, "ok 1.0 x n"},
		{`{"order": {}}`, "ArgumentError: action act: argument Name is missing"},
		{`{"order": {}, "Name": "x", "inner": 1}`, "ArgumentError: action act: unknown argument inner; it takes order, Name, note"},
		{`{"order": {}, "Name": 1}`, "ArgumentError: action act: argument Name must be a string, not a number"},
		{`{"order": 1, "Name": "x"}`, "ArgumentError: action act: argument order must be a"},
		{`7`, "ArgumentError: action act: the arguments cannot be read: JSON at byte 0: '7' stands where an object should stand"},
	} {
		var into args
		got := ""
		if err := (Call{Action: "act", Args: json.RawMessage(c.args)}).Bind(&into); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprintf("ok %v %s %s", into.Order.Total, into.Name, into.Note)
		}
		if got != c.want && !strings.HasPrefix(got, c.want+" ") {
			t.Errorf("%s\ngot  %s\nwant %s", c.args, got, c.want)
		}
		_ = into.inner
	}
	for _, into := range []any{nil, args{}, (*args)(nil), new(int)} {
		if err := (Call{Args: json.RawMessage(`{}`)}).Bind(into); err == nil || !strings.Contains(err.Error(), "pointer to a struct") {
			t.Errorf("%T: %v", into, err)
		}
	}
}

func TestRegistryRefusesWhatCannotBeCalled(t *testing.T) {
	fn := func(context.Context, Call) (any, error) { return nil, nil }
	r := builtins(t)
	for name, want := range map[string]string{
		"": "is not an action's name", "a b": "is not an action's name", "a..b": "is not an action's name", "1a": "is not an action's name",
		"echo": "registered already",
	} {
		if err := r.Register(name, fn); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := r.Register("act", nil); err == nil {
		t.Error("an action without a function was taken")
	}
	if err := r.Register("parcels.ship", fn); err != nil {
		t.Error(err)
	}
	if _, err := NewRegistry(Action{Name: "x", Run: fn}, Action{Name: "x", Run: fn}); err == nil {
		t.Error("two of a name were taken")
	}
}

func TestKeyIsTheNodeRun(t *testing.T) {
	p, node := program(t, "fn main(input: [], output: [x]):\n    x = @echo(value=1)\n    return x\n")
	one := task("echo", `{}`)
	one.Program = p
	one.Lease.Key = backend.Key{Instance: uuid.UUID{1}, Run: graph.Run{Node: node.ID}}
	two := one
	two.Attempt, two.Lease.Token = 2, 9
	three := one
	three.Lease.Key.Run.Path = "0.1"
	keys := map[string]bool{}
	for _, tk := range []backend.Task{one, two, three} {
		n, limits := nodeOf(tk)
		keys[newCall(tk, n, limits).Key()] = true
	}
	if len(keys) != 2 {
		t.Errorf("got %v", keys)
	}
}
