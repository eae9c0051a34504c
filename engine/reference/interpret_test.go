package reference_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pulley/engine/reference"
	"pulley/internal/referencetest"

	"pulley/engine/ir"
)

// meaning is a program's result, worked out by hand.
type meaning struct {
	name  string
	body  string // main's, or, if it begins with fn, the whole program
	input string // empty: {}
	want  string // the result as JSON, or the error in one line
	calls string // as callsOf writes them; - if nothing is called
	opts  reference.Options
}

func (m meaning) source() string {
	src := strings.TrimLeft(m.body, "\n")
	if strings.HasPrefix(src, "fn ") {
		return src
	}
	return "fn main(input: [], output: []):\n" + src
}

func check(t *testing.T, table []meaning) {
	t.Helper()
	for _, m := range table {
		t.Run(m.name, func(t *testing.T) {
			if m.input == "" {
				m.input = "{}"
			}
			o := interpret(t, m.source(), m.input, m.opts)
			if got := referencetest.Show(t, o); got != m.want {
				t.Errorf("result\n got %s\nwant %s", got, m.want)
			}
			if m.calls == "-" {
				m.calls = ""
			}
			if got := referencetest.CallsOf(t, o); got != m.calls {
				t.Errorf("calls\n got %s\nwant %s", got, m.calls)
			}
		})
	}
}

func TestAssignments(t *testing.T) {
	check(t, []meaning{
		{name: "a value", body: "\tx = 1 + 2\n\treturn x", want: "3"},
		{name: "again", body: "\tx = 1\n\tx = x + 1\n\treturn x", want: "2"},
		{name: "unpack a list", body: "\ta, b = [1, 2]\n\treturn b, a", want: "[2,1]"},
		{name: "swap", body: "\ta, b = [1, 2]\n\ta, b = [b, a]\n\treturn a, b", want: "[2,1]"},
		{name: "one name twice", body: "\ta, a = [1, 2]\n\treturn a", want: "2"},
		{name: "unpack an action's list", body: "\ta, b, c = @items(count=3)\n\treturn c", want: "2", calls: "items(3)"},
		{name: "too few to unpack", body: "\ta, b = [1]\n\treturn a", want: "failed: test.ir:2:5: ExpressionError: a list of 1 cannot be unpacked into 2 names"},
		{name: "no list to unpack", body: "\ta, b = \"xy\"\n\treturn a", want: "failed: test.ir:2:5: ExpressionError: a string cannot be unpacked into 2 names; only a list can"},
		{name: "a dropped value", body: "\t@noop()\n\treturn 1", want: "1", calls: "noop()"},
		{name: "nothing is None", body: "\tx = @noop()\n\treturn x", want: "null", calls: "noop()"},
		{name: "pass", body: "\tpass", want: "null"},
		{name: "a frozen list is not changed", body: "\tx = [1]\n\ty = x + [2]\n\treturn x, y", want: "[[1],[1,2]]"},
		{name: "numbers keep their kind", body: "\treturn 1, 1.0, 4 / 2, 5 // 2, 10000000000000000000000", want: "[1,1.0,2.0,2,10000000000000000000000]"},
		{name: "inputs", body: "fn main(input: [a, b], output: [b]):\n\tb = b + [a]\n", input: `{"b": [1], "a": "é"}`, want: `[1,"é"]`},
		{name: "an unset name", body: "\tif False:\n\t\tx = 1\n\treturn x", want: "failed: test.ir:4:12: ExpressionError: x has no value here"},
		{name: "an unset name that is not read", body: "\tif False:\n\t\tx = 1\n\treturn 2 if True else x", want: "2"},
		{name: "words that are names elsewhere", body: "\tretry = 1\n\tlimit = 2\n\tinput = @add(a=retry, b=limit)\n\treturn input", want: "3", calls: "add(1,2)"},
	})
}

func TestOutputs(t *testing.T) {
	check(t, []meaning{
		{name: "one", body: "fn main(input: [], output: [x]):\n\tx = 1\n", want: "1"},
		{name: "several", body: "fn main(input: [], output: [x, y]):\n\ty = 2\n\tx = 1\n", want: "[1,2]"},
		{name: "none", body: "fn main(input: [], output: []):\n\tx = 1\n", want: "null"},
		{name: "one without a value", body: "fn main(input: [], output: [x]):\n\tif False:\n\t\tx = 1\n", want: "failed: test.ir:1:29: ExpressionError: x has no value here"},
		{name: "the second of two without a value", body: "fn main(input: [], output: [x, y]):\n\tx = 1\n\tif False:\n\t\ty = 1\n", want: "failed: test.ir:1:32: ExpressionError: y has no value here"},
		{name: "a bare return", body: "fn main(input: [], output: [x]):\n\tx = 1\n\treturn\n", want: "null"},
		{name: "a return of another value", body: "fn main(input: [], output: [x]):\n\tx = 1\n\treturn x + 1\n", want: "2"},
		{name: "a return of several", body: "\treturn 1, [2], {\"a\": 3}", want: `[1,[2],{"a":3}]`},
		{name: "a return that fails", body: "\treturn 1, 1 // 0", want: "failed: test.ir:2:15: ExpressionError: floored division by zero"},
		{name: "nothing after a return", body: "\treturn 1\n\t@noop()", want: "1"},
	})
}

func TestBranches(t *testing.T) {
	const ifs = `
fn main(input: [x], output: [y]):
	if x == 1:
		y = @echo(value="one")
	elif x == 2:
		y = @echo(value="two")
	elif x / 0 > 1:
		y = 0
	else:
		y = "many"
`
	check(t, []meaning{
		{name: "if", body: ifs, input: `{"x": 1}`, want: `"one"`, calls: `echo("one")`},
		{name: "elif", body: ifs, input: `{"x": 2}`, want: `"two"`, calls: `echo("two")`},
		{name: "a guard that fails", body: ifs, input: `{"x": 3}`, want: "failed: test.ir:6:10: ExpressionError: floating-point division by zero"},
		{name: "else", body: "\tif []:\n\t\ty = 1\n\telse:\n\t\ty = 2\n\treturn y", want: "2"},
		{name: "no else continues", body: "\ty = 1\n\tif y > 1:\n\t\ty = 5\n\treturn y", want: "1"},
		{name: "what counts as true", body: "\tn = 0\n\tfor v in [0, 1, \"\", \"a\", [], [0], {}, {\"a\": 1}, None, 0.0, 0.5, False, True]:\n\t\tif v:\n\t\t\tn = n + 1\n\treturn n", want: "6"},
		{name: "nested", body: "\tif True:\n\t\tif False:\n\t\t\ty = 1\n\t\telse:\n\t\t\ty = 2\n\treturn y", want: "2"},
	})
}

func TestLoops(t *testing.T) {
	small := reference.Options{Limits: ir.Limits{LoopIterations: 3}}
	check(t, []meaning{
		{name: "a list", body: "\tn = 0\n\tfor x in [1, 2, 3]:\n\t\tn = @add(a=n, b=x)\n\treturn n, x", want: "[6,3]", calls: "0:add(0,1) 1:add(1,2) 2:add(3,3)"},
		{name: "the empty list", body: "\tn = 0\n\tfor x in []:\n\t\tn = 1\n\treturn n", want: "0"},
		{name: "keys in their order", body: "\tks = []\n\tfor k in {\"b\": 1, \"a\": 2}:\n\t\tks = ks + [k]\n\treturn ks", want: `["b","a"]`},
		{name: "two targets", body: "\tout = []\n\tfor k, v in {\"b\": 1, \"a\": 2}.items():\n\t\tout = out + [k, v]\n\treturn out", want: `["b",1,"a",2]`},
		{name: "enumerate", body: "\tout = []\n\tfor i, v in enumerate([\"x\", \"y\"]):\n\t\tout = out + [i, v]\n\treturn out", want: `[0,"x",1,"y"]`},
		{name: "two targets and no pair", body: "\tfor a, b in [[1, 2], [3]]:\n\t\tpass", want: "failed: test.ir:2:5: ExpressionError: a list of 1 cannot be unpacked into 2 names"},
		{name: "what cannot be gone over", body: "\tfor c in \"abc\":\n\t\tpass", want: "failed: test.ir:2:14: ExpressionError: a for goes over a list or the keys of a dict, not over a string"},
		{name: "the list is evaluated once", body: "\txs = [1, 2]\n\tn = 0\n\tfor x in xs:\n\t\txs = xs + [x]\n\t\tn = n + 1\n\treturn n, xs", want: "[2,[1,2,1,2]]"},
		{name: "break", body: "\tfor x in [1, 2, 3]:\n\t\tif x == 2:\n\t\t\tbreak\n\t\t@noop()\n\treturn x", want: "2", calls: "0:noop()"},
		{name: "continue", body: "\tn = 0\n\tfor x in [1, 2, 3]:\n\t\tif x == 2:\n\t\t\tcontinue\n\t\tn = n + x\n\treturn n", want: "4"},
		{name: "break leaves the inner loop only", body: "\tn = 0\n\tfor x in range(3):\n\t\tfor y in range(3):\n\t\t\tif y == 1:\n\t\t\t\tbreak\n\t\t\tn = n + 1\n\treturn n", want: "3"},
		{name: "return from a nested loop", body: "\tfor x in range(3):\n\t\tfor y in range(3):\n\t\t\tif x + y == 3:\n\t\t\t\treturn x, y", want: "[1,2]"},
		{name: "paths of nested loops", body: "\tfor x in range(2):\n\t\tfor y in range(2):\n\t\t\t@echo(value=y)\n\treturn 1", want: "1", calls: "0.0:echo(0) 0.1:echo(1) 1.0:echo(0) 1.1:echo(1)"},
		{name: "while", body: "\tn = 3\n\twhile n > 0:\n\t\tn = @add(a=n, b=-1)\n\treturn n", want: "0", calls: "0:add(3,-1) 1:add(2,-1) 2:add(1,-1)"},
		{name: "while with break", body: "\tn = 0\n\twhile True:\n\t\tn = n + 1\n\t\tif n == 5:\n\t\t\tbreak\n\treturn n", want: "5"},
		{name: "while with continue", body: "\tn = 0\n\tm = 0\n\twhile n < 5:\n\t\tn = n + 1\n\t\tif n % 2 == 0:\n\t\t\tcontinue\n\t\tm = m + n\n\treturn m", want: "9"},
		{name: "while with return", body: "\tn = 0\n\twhile True:\n\t\tn = n + 1\n\t\tif n == 4:\n\t\t\treturn n", want: "4"},
		{name: "a condition that fails", body: "\twhile 1 // 0:\n\t\tpass", want: "failed: test.ir:2:11: ExpressionError: floored division by zero"},
		{name: "as many rounds as are allowed", body: "\tn = 0\n\twhile n < 3:\n\t\tn = n + 1\n\treturn n", want: "3", opts: small},
		{name: "a round too many of a while", body: "\tn = 0\n\twhile n < 4:\n\t\tn = n + 1\n\treturn n", opts: small, want: "failed: test.ir:3:5: LimitExceeded: loop iterations: 4 is over the limit of 3; make it smaller or raise the limit"},
		{name: "a round too many of a for", body: "\tn = 0\n\tfor x in [1, 2, 3, 4]:\n\t\tn = @echo(value=x)\n\treturn n", opts: small, calls: "0:echo(1) 1:echo(2) 2:echo(3)", want: "failed: test.ir:3:5: LimitExceeded: loop iterations: 4 is over the limit of 3; make it smaller or raise the limit"},
		{name: "a loop is never cut in silence", body: "\twhile True:\n\t\tpass", opts: small, want: "failed: test.ir:2:5: LimitExceeded: loop iterations: 4 is over the limit of 3; make it smaller or raise the limit"},
		{name: "a body that fails", body: "\tfor x in [1, 0]:\n\t\ty = 1 // x", want: "failed: test.ir:3:13: ExpressionError: floored division by zero"},
	})
}

func TestRanges(t *testing.T) {
	loop := func(args string) string {
		return "\tout = []\n\tfor i in range(" + args + "):\n\t\tout = out + [i]\n\treturn out"
	}
	check(t, []meaning{
		{name: "to", body: loop("3"), want: "[0,1,2]"},
		{name: "from and to", body: loop("1, 3"), want: "[1,2]"},
		{name: "by", body: loop("1, 8, 3"), want: "[1,4,7]"},
		{name: "down", body: loop("5, 0, -2"), want: "[5,3,1]"},
		{name: "nowhere", body: loop("3, 3"), want: "[]"},
		{name: "backwards", body: loop("3, 1"), want: "[]"},
		{name: "a range of a call", body: loop("len([1, \")\"]), min(4, 5)"), want: "[2,3]"},
		{name: "a step of nothing", body: loop("1, 3, 0"), want: "failed: test.ir:3:14: ExpressionError: range: a step of 0 leads nowhere"},
		{name: "no int", body: loop("1.5"), want: "failed: test.ir:3:14: ExpressionError: range takes ints, not a float"},
		{name: "far too large", body: loop("10000000000000000000"), want: "failed: test.ir:3:14: ExpressionError: range: 10000000000000000000 is too large"},
		{name: "larger than a value, left early", body: "\tfor i in range(1000000000000):\n\t\tif i == 7:\n\t\t\treturn i", want: "7"},
		{name: "not a range by itself", body: "\tfor i in [range(2)][0]:\n\t\tpass\n\treturn i", want: "1"},
	})
}

func TestActionsAndRetries(t *testing.T) {
	small := reference.Options{Limits: ir.Limits{ValueBytes: 100}}
	check(t, []meaning{
		{name: "arguments in their order", body: "\tx = @echo(value=1, extra=[2], again={\"a\": None})\n\treturn x", want: "1", calls: `echo(1,[2],{"a":null})`},
		{name: "an error", body: "\t@fail(type=\"Bad\", message=\"no\")", want: "failed: test.ir:2:5: @fail: Bad: no", calls: `fail("Bad","no")!`},
		{name: "enough retries", body: "\tx = @flaky(times=2) [retry: 2]\n\treturn x", want: "3", calls: "flaky(2)! flaky(2)#2! flaky(2)#3"},
		{name: "a retry too few", body: "\tx = @flaky(times=2) [retry: 1]\n\treturn x", want: "failed: test.ir:2:9: @flaky: Flaky: attempt 2", calls: "flaky(2)! flaky(2)#2!"},
		{name: "no retries", body: "\tx = @flaky(times=1) [retry: 0]\n\treturn x", want: "failed: test.ir:2:9: @flaky: Flaky: attempt 1", calls: "flaky(1)!"},
		{name: "retries of another type", body: "\tx = @flaky(times=1) [Other -> retry: 5]\n\treturn x", want: "failed: test.ir:2:9: @flaky: Flaky: attempt 1", calls: "flaky(1)!"},
		{name: "retries of the type", body: "\tx = @flaky(times=1) [Other, Flaky -> retry: 1, backoff: 5s]\n\treturn x", want: "2", calls: "flaky(1)! flaky(1)#2"},
		{name: "retries of every type", body: "\tx = @flaky(times=1) [Exception -> retry: 1]\n\treturn x", want: "2", calls: "flaky(1)! flaky(1)#2"},
		{name: "the first policy that matches decides", body: "\tx = @flaky(times=3) [Flaky -> retry: 1] [retry: 9]\n\treturn x", want: "failed: test.ir:2:9: @flaky: Flaky: attempt 2", calls: "flaky(3)! flaky(3)#2!"},
		{name: "attempts count over all policies", body: "\t@turns() [A -> retry: 2] [B -> retry: 3]", want: "failed: test.ir:2:5: @turns: A: attempt 3", calls: "turns()! turns()#2! turns()#3!"},
		{name: "arguments are evaluated once, before", body: "\t@echo(value=1 // 0) [retry: 3]", want: "failed: test.ir:2:17: ExpressionError: floored division by zero"},
		{name: "an error without a type", body: "\ttry:\n\t\t@untyped()\n\texcept Error as e:\n\t\treturn e", want: `{"type":"Error","message":"no type","action":"untyped"}`, calls: "untyped()!"},
		{name: "a result that is no value", body: "\ttry:\n\t\t@set() [ResultError -> retry: 1]\n\texcept ResultError:\n\t\treturn \"caught\"", want: `"caught"`, calls: "set()! set()#2!"},
		{name: "a result over the limit", body: "\ttry:\n\t\t@huge(bytes=101)\n\texcept LimitExceeded:\n\t\treturn \"caught\"", opts: small, want: `"caught"`, calls: "huge(101)!"},
		{name: "an expression over the limit", body: "\ttry:\n\t\tx = \"ab\" * 100\n\texcept:\n\t\treturn \"caught\"", opts: small, want: "failed: test.ir:3:13: LimitExceeded: bytes of a string: 200 is over the limit of 100; make it smaller or raise the limit"},
		{name: "sleep does not wait", body: "\tsleep 3600\n\tsleep 0.5\n\tsleep 0\n\treturn 1", want: "1"},
		{name: "sleep backwards", body: "\tsleep -1", want: "failed: test.ir:2:11: ExpressionError: sleep needs a number of seconds that is not negative, not -1"},
		{name: "sleep for no number", body: "\tsleep \"1s\"", want: `failed: test.ir:2:11: ExpressionError: sleep needs a number of seconds that is not negative, not "1s"`},
		{name: "sleep for what fails", body: "\tsleep 1 // 0", want: "failed: test.ir:2:11: ExpressionError: floored division by zero"},
	})
}

func TestTry(t *testing.T) {
	check(t, []meaning{
		{name: "no error", body: "\ttry:\n\t\tx = 1\n\texcept:\n\t\tx = 2\n\treturn x", want: "1"},
		{name: "every error", body: "\ttry:\n\t\t@fail(type=\"Bad\", message=\"no\")\n\texcept:\n\t\tx = 2\n\treturn x", want: "2", calls: `fail("Bad","no")!`},
		{name: "by Exception", body: "\ttry:\n\t\t@fail(type=\"Bad\", message=\"no\")\n\texcept Exception:\n\t\tx = 2\n\treturn x", want: "2", calls: `fail("Bad","no")!`},
		{name: "by type and bound", body: "\ttry:\n\t\t@fail(type=\"Bad\", message=\"no\")\n\texcept Worse:\n\t\treturn 1\n\texcept Odd, Bad as e:\n\t\treturn e, isexception(e, \"Bad\"), isexception(e, \"Exception\"), isexception(e, \"Odd\"), e[\"message\"]",
			want: `[{"type":"Bad","message":"no","action":"fail"},true,true,false,"no"]`, calls: `fail("Bad","no")!`},
		{name: "the first that matches", body: "\ttry:\n\t\t@fail(type=\"Bad\", message=\"no\")\n\texcept Bad:\n\t\tx = 1\n\texcept:\n\t\tx = 2\n\treturn x", want: "1", calls: `fail("Bad","no")!`},
		{name: "none that matches", body: "\ttry:\n\t\t@fail(type=\"Bad\", message=\"no\")\n\texcept Worse:\n\t\tx = 1\n\treturn 3", want: "failed: test.ir:3:9: @fail: Bad: no", calls: `fail("Bad","no")!`},
		{name: "retries come before", body: "\ttry:\n\t\tx = @flaky(times=1) [retry: 1]\n\texcept:\n\t\tx = 0\n\treturn x", want: "2", calls: "flaky(1)! flaky(1)#2"},
		{name: "what was assigned before the error stays", body: "\tx = 0\n\ttry:\n\t\tx = 1\n\t\t@fail(type=\"Bad\", message=\"no\")\n\t\tx = 2\n\texcept:\n\t\tpass\n\treturn x", want: "1", calls: `fail("Bad","no")!`},
		{name: "an error in a handler goes outward", body: "\ttry:\n\t\ttry:\n\t\t\t@fail(type=\"A\", message=\"1\")\n\t\texcept A:\n\t\t\t@fail(type=\"B\", message=\"2\")\n\t\texcept B:\n\t\t\treturn \"inner\"\n\texcept B as e:\n\t\treturn e[\"message\"]", want: `"2"`, calls: `fail("A","1")! fail("B","2")!`},
		{name: "an expression cannot be caught", body: "\ttry:\n\t\tx = 1 // 0\n\texcept:\n\t\treturn 1", want: "failed: test.ir:3:13: ExpressionError: floored division by zero"},
		{name: "an unset name cannot be caught", body: "\tif False:\n\t\tx = 1\n\ttry:\n\t\ty = x\n\texcept:\n\t\treturn 1", want: "failed: test.ir:5:13: ExpressionError: x has no value here"},
		{name: "return inside try inside a loop", body: "\tfor x in [1, 2]:\n\t\ttry:\n\t\t\treturn x\n\t\texcept:\n\t\t\tpass", want: "1"},
		{name: "break inside try", body: "\tfor x in [1, 2]:\n\t\ttry:\n\t\t\tbreak\n\t\texcept:\n\t\t\tpass\n\treturn x", want: "1"},
		{name: "continue inside a handler", body: "\tn = 0\n\tfor x in range(4):\n\t\ttry:\n\t\t\t@odd(value=x)\n\t\texcept Odd:\n\t\t\tcontinue\n\t\tn = n + 1\n\treturn n", want: "2", calls: "0:odd(0) 1:odd(1)! 2:odd(2) 3:odd(3)!"},
		{name: "a loop inside try", body: "\ttry:\n\t\tfor x in range(4):\n\t\t\t@odd(value=x)\n\texcept:\n\t\treturn x", want: "1", calls: "0:odd(0) 1:odd(1)!"},
		{name: "a bound error stays", body: "\ttry:\n\t\t@fail(type=\"A\", message=\"1\")\n\texcept as e:\n\t\tpass\n\treturn e[\"type\"]", want: `"A"`, calls: `fail("A","1")!`},
	})
}

func TestFunctions(t *testing.T) {
	check(t, []meaning{
		{name: "a frame of its own", body: `
fn f(input: [x], output: [y]):
	x = x + 1
	y = x * 10

fn main(input: [], output: []):
	x = 1
	y = 5
	z = f(x=y)
	return x, y, z
`, want: "[1,5,60]"},
		{name: "locals do not stay between calls", body: `
fn f(input: [first], output: []):
	if first:
		local = 1
	return local

fn main(input: [], output: []):
	a = f(first=True)
	b = f(first=False)
	return a, b
`, want: "failed: test.ir:4:12: ExpressionError: local has no value here"},
		{name: "the caller's names are not seen", body: `
fn f(input: [], output: [y]):
	if False:
		secret = 1
	y = secret

fn main(input: [], output: []):
	secret = 1
	r = f()
	return r
`, want: "failed: test.ir:4:9: ExpressionError: secret has no value here"},
		{name: "arguments in any order", body: `
fn sub(input: [a, b], output: [r]):
	r = a - b

fn main(input: [], output: [x]):
	x = sub(b=1, a=5)
`, want: "4"},
		{name: "several outputs", body: `
fn two(input: [], output: [a, b]):
	a = 1
	b = 2

fn main(input: [], output: []):
	x, y = two()
	return y, x
`, want: "[2,1]"},
	})
}

func TestWaysThroughFunctions(t *testing.T) {
	check(t, []meaning{
		{name: "return from a loop in a try in a function", body: `
fn find(input: [xs], output: []):
	for x in xs:
		try:
			@odd(value=x)
		except Odd as e:
			return e["message"]
	return "none"

fn main(input: [], output: []):
	a = find(xs=[2, 3, 5])
	b = find(xs=[2])
	return a, b
`, want: `["3 is odd","none"]`, calls: "0:odd(2) 1:odd(3)! 0:odd(2)"},
		{name: "an error goes through functions", body: `
fn inner(input: [], output: []):
	@fail(type="Deep", message="down")

fn outer(input: [], output: []):
	inner()

fn main(input: [], output: []):
	try:
		outer()
	except Deep as e:
		return e["message"]
`, want: `"down"`, calls: `fail("Deep","down")!`},
		{name: "paths go through functions", body: `
fn f(input: [n], output: []):
	for i in range(n):
		@echo(value=i)

fn main(input: [], output: []):
	for k in range(2):
		f(n=k + 1)
	return 1
`, want: "1", calls: "0.0:echo(0) 1.0:echo(0) 1.1:echo(1)"},
		{name: "a missing output", body: `
fn f(input: [], output: [r]):
	if False:
		r = 1

fn main(input: [], output: []):
	f()
`, want: "failed: test.ir:1:26: ExpressionError: r has no value here"},
	})
}

func TestSpreads(t *testing.T) {
	small := reference.Options{Limits: ir.Limits{SpreadElements: 2, ValueBytes: 60}}
	check(t, []meaning{
		{name: "in order", body: "\tr = spread [3, 1, 2]:x -> @double(value=x)\n\treturn r", want: "[6,2,4]", calls: "0:double(3) 1:double(1) 2:double(2)"},
		{name: "with a limit", body: "\tr = spread [3, 1, 2]:x limit 2 -> @double(value=x)\n\treturn r", want: "[6,2,4]", calls: "0:double(3) 1:double(1) 2:double(2)"},
		{name: "nothing", body: "\tr = spread []:x -> @double(value=x)\n\treturn r", want: "[]"},
		{name: "over keys", body: "\tr = spread {\"b\": 1, \"a\": 2}:k -> @echo(value=k)\n\treturn r", want: `["b","a"]`, calls: `0:echo("b") 1:echo("a")`},
		{name: "over what has no elements", body: "\tr = spread 5:x -> @echo(value=x)\n\treturn r", want: "failed: test.ir:2:16: ExpressionError: a spread goes over a list or the keys of a dict, not over a int"},
		{name: "over what fails", body: "\tr = spread [1 // 0]:x -> @echo(value=x)\n\treturn r", want: "failed: test.ir:2:16: ExpressionError: floored division by zero"},
		{name: "the element's name keeps its value outside", body: "\tx = \"mine\"\n\tr = spread [1]:x -> @echo(value=x)\n\treturn x", want: `"mine"`, calls: "0:echo(1)"},
		{name: "the element's name is not known after", body: "\tif False:\n\t\tx = 0\n\tr = spread [1]:x -> @echo(value=x)\n\treturn x", want: "failed: test.ir:5:12: ExpressionError: x has no value here", calls: "0:echo(1)"},
		{name: "inside a loop", body: "\tout = []\n\tfor n in range(3):\n\t\tr = spread range(n):x -> @add(a=n, b=x)\n\t\tout = out + [r]\n\treturn out", want: "[[],[1],[2,3]]", calls: "1.0:add(1,0) 2.0:add(2,0) 2.1:add(2,1)"},
		{name: "over a function", body: `
fn work(input: [x], output: [y]):
	a = @double(value=x)
	y = @add(a=a, b=1)

fn main(input: [], output: [r]):
	r = spread [1, 2]:x -> work(x=x)
`, want: "[3,5]", calls: "0:double(1) 0:add(2,1) 1:double(2) 1:add(4,1)"},
		{name: "a spread in a spread", body: `
fn row(input: [n], output: [r]):
	r = spread range(n):x -> @double(value=x)

fn main(input: [], output: [r]):
	r = spread [2, 1]:n -> row(n=n)
`, want: "[[0,2],[0]]", calls: "0.0:double(0) 0.1:double(1) 1.0:double(0)"},
		{name: "unpacked", body: "\ta, b = spread [1, 2]:x -> @double(value=x)\n\treturn b", want: "4", calls: "0:double(1) 1:double(2)"},
		{name: "one fails", body: "\tspread [2, 3, 4]:x -> @odd(value=x)", want: "failed: test.ir:2:27: @odd: Odd: 3 is odd", calls: "0:odd(2)? 1:odd(3)! 2:odd(4)?"},
		{name: "the first of several that fail surfaces", body: "\tspread [1, 2, 3]:x -> @odd(value=x)", want: "failed: test.ir:2:27: @odd: Odd: 1 is odd", calls: "0:odd(1)!? 1:odd(2)? 2:odd(3)!?"},
		{name: "retries of an element", body: "\tr = spread [0, 1]:x -> @flaky(times=x) [retry: 1]\n\treturn r", want: "[1,2]", calls: "0:flaky(0) 1:flaky(1)! 1:flaky(1)#2"},
		{name: "caught", body: "\ttry:\n\t\tr = spread [2, 3]:x -> @odd(value=x)\n\texcept Odd as e:\n\t\tr = e[\"message\"]\n\treturn r", want: `"3 is odd"`, calls: "0:odd(2)? 1:odd(3)!"},
		{name: "an argument that fails", body: "\ttry:\n\t\tr = spread [1, 0]:x -> @echo(value=1 // x)\n\texcept:\n\t\treturn 1", want: "failed: test.ir:3:44: ExpressionError: floored division by zero", calls: "0:echo(1)?"},
		{name: "as many elements as are allowed", body: "\tr = spread [1, 2]:x -> @echo(value=x)\n\treturn r", opts: small, want: "[1,2]", calls: "0:echo(1) 1:echo(2)"},
		{name: "an element too many", body: "\tr = spread [1, 2, 3]:x -> @echo(value=x)\n\treturn r", opts: small, want: "failed: test.ir:2:9: LimitExceeded: elements of a spread: 3 is over the limit of 2; make it smaller or raise the limit"},
		{name: "a list of results too large", body: "\tr = spread [30, 30]:x -> @huge(bytes=x)\n\treturn 1", opts: small, want: "failed: test.ir:2:9: LimitExceeded: bytes of a value: 67 is over the limit of 60; make it smaller or raise the limit", calls: "0:huge(30) 1:huge(30)"},
	})
}

func TestParallels(t *testing.T) {
	check(t, []meaning{
		{name: "in the order of writing", body: "\tr = parallel:\n\t\t@echo(value=1)\n\t\t@double(value=4)\n\treturn r", want: "[1,8]", calls: "echo(1) double(4)"},
		{name: "unpacked", body: "\ta, b = parallel:\n\t\t@echo(value=1)\n\t\t@noop()\n\treturn b, a", want: "[null,1]", calls: "echo(1) noop()"},
		{name: "dropped", body: "\tparallel:\n\t\t@noop()\n\t\t@noop()\n\treturn 1", want: "1", calls: "noop() noop()"},
		{name: "with functions", body: `
fn f(input: [x], output: [x]):
	x = x + 1

fn main(input: [], output: [r]):
	r = parallel:
		f(x=1)
		@echo(value=5)
		f(x=2)
`, want: "[2,5,3]", calls: "echo(5)"},
		{name: "one fails", body: "\ttry:\n\t\tparallel:\n\t\t\t@echo(value=1)\n\t\t\t@fail(type=\"A\", message=\"1\")\n\texcept A:\n\t\treturn \"caught\"", want: `"caught"`, calls: `echo(1)? fail("A","1")!`},
		{name: "paths of a parallel in a loop", body: "\tfor i in range(2):\n\t\tparallel:\n\t\t\t@echo(value=i)\n\t\t\t@noop()\n\treturn i", want: "1", calls: "0:echo(0) 0:noop() 1:echo(1) 1:noop()"},
	})
}

func interpret(t testing.TB, src, input string, opts reference.Options) reference.Outcome {
	t.Helper()
	return reference.Interpret(referencetest.Program(t, src), json.RawMessage(input), referencetest.Actions, opts)
}
