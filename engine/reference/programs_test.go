package reference_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pulley/engine/reference"
	"pulley/internal/referencetest"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

const pipeline = `
fn main(input: [fan_out, loop_iters], output: [total]):
	items = @fetch_items(count=fan_out)
	processed = spread items:item -> @process_item(item=item)
	size = len(processed) // loop_iters
	results = []
	for chunk_id in range(loop_iters):
		chunk = processed[chunk_id * size:(chunk_id + 1) * size]
		valid = @validate_chunk(chunk_id=chunk_id, items=chunk)
		r = @aggregate_chunk(chunk_id=chunk_id, items=chunk, is_valid=valid)
		results = results + [r]
	total = @finalize(results=results)
	return total
`

func field(v expr.Value, name string) expr.Value {
	value, _, _ := v.(*starlark.Dict).Get(starlark.String(name))
	return value
}

func object(pairs ...any) expr.Value {
	d := starlark.NewDict(len(pairs) / 2)
	for i := 0; i < len(pairs); i += 2 {
		if err := d.SetKey(starlark.String(pairs[i].(string)), pairs[i+1].(starlark.Value)); err != nil {
			panic(err)
		}
	}
	return d
}

func list(v expr.Value) []expr.Value {
	l := v.(*starlark.List)
	out := make([]expr.Value, l.Len())
	for i := range out {
		out[i] = l.Index(i)
	}
	return out
}

// pipelineActions are the five steps of the pipeline: item i scores 10·i, a chunk is valid if all its scores are above zero,
// and an invalid chunk counts nothing.
func pipelineActions(name string, args reference.Args, _ int) (expr.Value, *reference.Error) {
	switch name {
	case "fetch_items":
		var items []starlark.Value
		for i := range referencetest.Int(args.Get("count")) {
			items = append(items, object("id", starlark.MakeInt(i), "value", starlark.String(fmt.Sprintf("item_%d", i))))
		}
		return starlark.NewList(items), nil
	case "process_item":
		id := referencetest.Int(field(args.Get("item"), "id"))
		return object("id", starlark.MakeInt(id), "score", starlark.MakeInt(id*10)), nil
	case "validate_chunk":
		valid := true
		for _, item := range list(args.Get("items")) {
			valid = valid && referencetest.Int(field(item, "score")) > 0
		}
		return starlark.Bool(valid), nil
	case "aggregate_chunk":
		total := 0
		for _, item := range list(args.Get("items")) {
			if args.Get("is_valid") == starlark.True {
				total += referencetest.Int(field(item, "score"))
			}
		}
		return object("chunk_id", args.Get("chunk_id"), "total", starlark.MakeInt(total)), nil
	case "finalize":
		total := 0
		for _, r := range list(args.Get("results")) {
			total += referencetest.Int(field(r, "total"))
		}
		return starlark.MakeInt(total), nil
	}
	return nil, &reference.Error{Type: "UnknownAction", Message: name}
}

func TestPipeline(t *testing.T) {
	for _, c := range []struct {
		fanOut, iters int
		want          string
		calls         int
	}{
		{8, 4, "270", 1 + 8 + 4*2 + 1},    // 10·(2+…+7): the chunk with item 0 is invalid
		{9, 4, "270", 1 + 9 + 4*2 + 1},    // the ninth item is in no chunk
		{32, 3, "3900", 1 + 32 + 3*2 + 1}, // 10·(10+…+29): two items are in no chunk
		{0, 2, "0", 1 + 0 + 2*2 + 1},
		{1, 1, "0", 1 + 1 + 2 + 1},
	} {
		input := json.RawMessage(fmt.Sprintf(`{"fan_out": %d, "loop_iters": %d}`, c.fanOut, c.iters))
		o := reference.Interpret(referencetest.Program(t, pipeline), input, pipelineActions, reference.Options{})
		if got := referencetest.Show(t, o); got != c.want || len(o.Calls) != c.calls {
			t.Errorf("%s gives %s with %d calls, want %s with %d", input, got, len(o.Calls), c.want, c.calls)
		}
	}
	o := reference.Interpret(referencetest.Program(t, pipeline), json.RawMessage(`{"fan_out": 3, "loop_iters": 0}`), pipelineActions, reference.Options{})
	if got, want := referencetest.Show(t, o), "failed: test.ir:4:12: ExpressionError: floored division by zero"; got != want {
		t.Errorf("no chunks: %s, want %s", got, want)
	}
}

const shop = `
fn charge(input: [order], output: [receipt]):
	try:
		receipt = @payments.charge(order=order) [Network, Timeout -> retry: 3, backoff: 200ms] [timeout: 5s]
	except Declined as e:
		receipt = {"paid": False, "why": e["message"]}
	return receipt

fn main(input: [orders], output: [paid]):
	paid = []
	for i, order in enumerate(orders):
		if order["total"] == 0:
			continue
		receipt = charge(order=order)
		stock, mail = parallel:
			@stock.reserve(order=order)
			@mail.send(to=order["email"], receipt=receipt)
		paid = paid + [receipt]
	return paid
`

// shopActions decline what costs more than 100, lose the network once for what costs 50, and for good for what costs 13.
func shopActions(name string, args reference.Args, attempt int) (expr.Value, *reference.Error) {
	if name != "payments.charge" {
		return starlark.None, nil
	}
	switch total := referencetest.Int(field(args.Get("order"), "total")); {
	case total > 100:
		return nil, &reference.Error{Type: "Declined", Message: "too much"}
	case total == 13, total == 50 && attempt == 1:
		return nil, &reference.Error{Type: "Network", Message: "lost"}
	default:
		return object("paid", starlark.True, "attempts", starlark.MakeInt(attempt)), nil
	}
}

func TestShop(t *testing.T) {
	run := func(orders string) reference.Outcome {
		return reference.Interpret(referencetest.Program(t, shop), json.RawMessage(`{"orders": `+orders+`}`), shopActions, reference.Options{})
	}
	o := run(`[{"total": 7, "email": "a"}, {"total": 0, "email": "b"}, {"total": 50, "email": "c"}, {"total": 500, "email": "d"}]`)
	if got, want := referencetest.Show(t, o), `[{"paid":true,"attempts":1},{"paid":true,"attempts":2},{"paid":false,"why":"too much"}]`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	wantCalls := `0:payments.charge({"total":7,"email":"a"}) 0:stock.reserve({"total":7,"email":"a"}) 0:mail.send("a",{"paid":true,"attempts":1}) ` +
		`2:payments.charge({"total":50,"email":"c"})! 2:payments.charge({"total":50,"email":"c"})#2 2:stock.reserve({"total":50,"email":"c"}) 2:mail.send("c",{"paid":true,"attempts":2}) ` +
		`3:payments.charge({"total":500,"email":"d"})! 3:stock.reserve({"total":500,"email":"d"}) 3:mail.send("d",{"paid":false,"why":"too much"})`
	if got := referencetest.CallsOf(t, o); got != wantCalls {
		t.Errorf("calls\n got %s\nwant %s", got, wantCalls)
	}
	o = run(`[{"total": 13, "email": "a"}]`)
	if got, want := referencetest.Show(t, o), "failed: test.ir:3:19: @payments.charge: Network: lost"; got != want || len(o.Calls) != 4 {
		t.Errorf("got %s after %d calls, want %s after 4", got, len(o.Calls), want)
	}
}

func TestInputsAreRefused(t *testing.T) {
	const takesTwo = "fn main(input: [a, b], output: [a]):\n\tpass\n"
	for input, want := range map[string]string{
		``:                         "refused: test.ir:1:1: InputError: ",
		`{"a": 1`:                  "refused: test.ir:1:1: InputError: ",
		`[1, 2]`:                   "refused: test.ir:1:1: InputError: the input must be a JSON object, not a list",
		`{"a": 1}`:                 "refused: test.ir:1:1: InputError: the input lacks b",
		`{"a": 1, "b": 2, "c": 3}`: "refused: test.ir:1:1: InputError: main takes no c; it takes a, b",
	} {
		if got := referencetest.Show(t, interpret(t, takesTwo, input, reference.Options{})); !strings.HasPrefix(got, want) {
			t.Errorf("input %q: %s, want %s", input, got, want)
		}
	}
	got := referencetest.Show(t, interpret(t, "fn main(input: [], output: []):\n\tpass\n", `{"x": 1}`, reference.Options{}))
	if want := "refused: test.ir:1:1: InputError: main takes no x; it takes nothing"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	big := reference.Options{Limits: ir.Limits{ValueBytes: 10}}
	if got := referencetest.Show(t, interpret(t, takesTwo, `{"a": "0123456789", "b": 1}`, big)); !strings.Contains(got, "over the limit") {
		t.Errorf("an input over the limit: %s", got)
	}
}

func TestBudget(t *testing.T) {
	const endless = "fn main(input: [], output: []):\n\twhile True:\n\t\tspread [1]:x -> @noop()\n"
	o := interpret(t, endless, `{}`, reference.Options{StepsMax: 50})
	if o.Status != reference.Undecided || o.Error.Type != reference.TypeBudget {
		t.Errorf("an endless program: %s", referencetest.Show(t, o))
	}
	if d := o.Differs(reference.End{Status: reference.Completed, Result: json.RawMessage("null")}); d == "" {
		t.Error("an undecided outcome agrees with an end")
	}
	for steps := range 60 { // wherever the budget ends, the outcome is Undecided
		src := "fn f(input: [], output: []):\n\t@fail(type=\"A\", message=\"\") [retry: 3]\n\nfn main(input: [], output: []):\n\ttry:\n\t\tfor i in range(2):\n\t\t\tparallel:\n\t\t\t\tf()\n\t\t\t\t@noop()\n\texcept:\n\t\twhile False:\n\t\t\tpass\n"
		o := interpret(t, src, `{}`, reference.Options{StepsMax: steps + 1})
		if o.Status != reference.Undecided && o.Status != reference.Completed {
			t.Errorf("budget of %d: %s", steps+1, referencetest.Show(t, o))
		}
	}
}

func TestLongInlineLoop(t *testing.T) {
	src := "fn main(input: [], output: [n]):\n\tn = 0\n\tfor i in range(100000):\n\t\tn = n + i\n"
	if got := referencetest.Show(t, interpret(t, src, `{}`, reference.Options{Limits: ir.Limits{InlineSteps: 1}})); got != "4999950000" {
		t.Error(got)
	}
}

func TestPrepareRefusesTreesThatNoParserMakes(t *testing.T) {
	x := func(text string) *ir.Expr { return &ir.Expr{Text: text} }
	name := func(text string) ir.Name { return ir.Name{Text: text} }
	fn := func(name string, body ...ir.Stmt) *ir.Function {
		return &ir.Function{Name: ir.Name{Text: name}, Inputs: []ir.Name{{Text: "a"}}, Body: body}
	}
	call := func(args ...string) ir.Stmt {
		c := &ir.Call{Name: "f"}
		for _, a := range args {
			c.Args = append(c.Args, ir.Arg{Name: name(a), Value: x("1")})
		}
		return &ir.Assign{Value: c}
	}
	for want, stmt := range map[string]ir.Stmt{
		"no function g":                            &ir.Assign{Value: &ir.Call{Name: "g"}},
		"the call of f lacks a":                    call(),
		"has an argument that it does not take":    call("a", "b"),
		"it takes a":                               call("a", "a"),
		"break and continue stand inside a loop":   &ir.Break{},
		"an expression is missing":                 &ir.Sleep{},
		"a right-hand side of unknown kind <nil>":  &ir.Assign{},
		"a statement of unknown kind <nil>":        nil,
		"a spread or parallel without its call":    &ir.Assign{Value: &ir.Spread{Over: x("[]")}},
		"got end of file":                          &ir.Sleep{Seconds: x("1 +")},
		"break and continue":                       &ir.If{Arms: []ir.Arm{{Cond: x("1"), Body: []ir.Stmt{&ir.Continue{}}}}},
		"break and continue stand inside a loop o": &ir.Try{Handlers: []ir.Handler{{Body: []ir.Stmt{&ir.Break{}}}}},
	} {
		_, err := reference.NewInterpreter(&ir.Program{Functions: []*ir.Function{fn("f", &ir.Pass{}), fn("main", stmt)}}, ir.Limits{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for want, prog := range map[string]*ir.Program{
		"no function main":            {Functions: []*ir.Function{fn("f", &ir.Pass{})}},
		"two functions are named f":   {Functions: []*ir.Function{fn("f", &ir.Pass{}), fn("f", &ir.Pass{})}},
		"no function main (no file)":  {},
		"nested: no function nowhere": {Functions: []*ir.Function{fn("main", &ir.Assign{Value: &ir.Parallel{Do: []ir.Invocation{&ir.Call{Name: "nowhere"}}}})}},
	} {
		o := reference.Interpret(prog, json.RawMessage(`{"a": 1}`), referencetest.Actions, reference.Options{})
		want = strings.TrimSuffix(strings.TrimPrefix(want, "nested: "), " (no file)")
		if o.Status != reference.Refused || !strings.Contains(o.Error.Message, want) {
			t.Errorf("%s, want %q", referencetest.Show(t, o), want)
		}
	}
	recursion := fn("f", call("a"))
	o := reference.Interpret(&ir.Program{Functions: []*ir.Function{recursion, fn("main", call("a"))}}, json.RawMessage(`{"a": 1}`), referencetest.Actions, reference.Options{})
	if o.Status != reference.Failed || o.Error.Type != reference.TypeLimit {
		t.Errorf("recursion: %s", referencetest.Show(t, o))
	}
}

func TestPoliciesOfTime(t *testing.T) {
	src := "fn main(input: [], output: [r]):\n\tr = @flaky(times=1) [retry: 1, backoff: 10h] [timeout: 1s]\n"
	prog := referencetest.Program(t, src)
	if a := prog.Functions[0].Body[0].(*ir.Assign).Value.(*ir.Action); a.Timeout != time.Second || a.Retries[0].Backoff != 10*time.Hour {
		t.Fatalf("the program has other policies: %+v", a)
	}
	if got := referencetest.Show(t, reference.Interpret(prog, json.RawMessage(`{}`), referencetest.Actions, reference.Options{})); got != "2" {
		t.Errorf("%s: neither a backoff nor a timeout is the interpreter's affair", got)
	}
}
