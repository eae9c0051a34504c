package reference_test

import "testing"

// The results were worked out by hand.
func TestWaysOut(t *testing.T) {
	check(t, []meaning{
		{name: "return in a try in a loop in a function in a loop", body: `
fn find(input: [n], output: [r]):
	r = "none"
	for x in range(3):
		try:
			@odd(value=x + n)
			if x == 2:
				return "even"
		except Odd as e:
			return e["message"]

fn main(input: [], output: [out]):
	out = []
	for n in range(2):
		r = find(n=n)
		out = out + [r]
`, want: `["1 is odd","1 is odd"]`, calls: "0.0:odd(0) 0.1:odd(1)! 1.0:odd(1)!"},
		{name: "a return does not run the handlers", body: "\ttry:\n\t\ttry:\n\t\t\treturn 1\n\t\texcept:\n\t\t\treturn 2\n\texcept:\n\t\treturn 3", want: "1"},
		{name: "the handler before it matches first", body: "\ttry:\n\t\t@fail(type=\"B\", message=\"1\")\n\texcept A:\n\t\tx = 1\n\texcept A, B:\n\t\tx = 2\n\texcept B:\n\t\tx = 3\n\texcept:\n\t\tx = 4\n\treturn x", want: "2", calls: `fail("B","1")!`},
		{name: "a handler is not tried by those beside it", body: "\ttry:\n\t\ttry:\n\t\t\t@fail(type=\"A\", message=\"1\")\n\t\texcept A:\n\t\t\t@fail(type=\"B\", message=\"2\")\n\t\texcept B:\n\t\t\treturn \"beside\"\n\texcept B as e:\n\t\treturn e[\"message\"]", want: `"2"`, calls: `fail("A","1")! fail("B","2")!`},
		{name: "an error in a handler in a loop ends the loop", body: "\tn = 0\n\ttry:\n\t\tfor x in range(4):\n\t\t\tn = x\n\t\t\ttry:\n\t\t\t\t@odd(value=x)\n\t\t\texcept Odd:\n\t\t\t\t@fail(type=\"A\", message=\"1\")\n\texcept A:\n\t\treturn n", want: "1", calls: `0:odd(0) 1:odd(1)! 1:fail("A","1")!`},
		{name: "break in a handler in a while in a try", body: "\tn = 0\n\ttry:\n\t\twhile True:\n\t\t\ttry:\n\t\t\t\t@odd(value=n)\n\t\t\texcept Odd:\n\t\t\t\tbreak\n\t\t\tn = n + 1\n\t\tn = n + 10\n\texcept:\n\t\tn = 99\n\treturn n", want: "11", calls: "0:odd(0) 1:odd(1)!"},
		{name: "names bound by handlers in each other", body: "\ttry:\n\t\t@fail(type=\"A\", message=\"1\")\n\texcept A as e:\n\t\ttry:\n\t\t\t@fail(type=\"B\", message=\"2\")\n\t\texcept B as e:\n\t\t\tpass\n\treturn e[\"type\"]", want: `"B"`, calls: `fail("A","1")! fail("B","2")!`},
		{name: "names of loops in each other", body: "\tout = []\n\tfor x in [1, 2]:\n\t\tfor x in [x * 10, x * 10 + 1]:\n\t\t\tout = out + [x]\n\t\tout = out + [x]\n\treturn out", want: "[10,11,11,20,21,21]"},
		{name: "an element's name in a call's arguments in a loop over it", body: "\tout = []\n\tfor x in [1, 2]:\n\t\tr = spread [x, x + 1]:x -> @double(value=x)\n\t\tout = out + [x, r]\n\treturn out", want: "[1,[2,4],2,[4,6]]", calls: "0.0:double(1) 0.1:double(2) 1.0:double(2) 1.1:double(3)"},
		{name: "a caught error leaves what the loop had", body: "\txs = []\n\ttry:\n\t\tfor x in range(4):\n\t\t\txs = xs + [x]\n\t\t\t@odd(value=x)\n\texcept Odd:\n\t\txs = xs + [\"e\"]\n\treturn xs, x", want: `[[0,1,"e"],1]`, calls: "0:odd(0) 1:odd(1)!"},
		{name: "unpacking that fails in a try", body: "\ttry:\n\t\ta, b = @items(count=3)\n\texcept:\n\t\treturn 1", want: "failed: test.ir:3:9: ExpressionError: a list of 3 cannot be unpacked into 2 names", calls: "items(3)"},
		{name: "a return of one branch is its value", body: `
fn f(input: [n], output: []):
	for x in range(5):
		if x == n:
			return x * 10

fn main(input: [], output: []):
	a, b = parallel:
		f(n=1)
		f(n=3)
	return a, b
`, want: "[10,30]"},
	})
}
