package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pulley/engine/ir"
	"pulley/engine/plan"
)

func outcome(t *testing.T, body, n string, limits ir.Limits) string {
	t.Helper()
	output := "n"
	if strings.Contains(body, "r = ") {
		output = "r"
	}
	p, err := plan.CompileText("w.ir", []byte("fn main(input: [n], output: ["+output+"]):\n    "+strings.ReplaceAll(body, "\n", "\n    ")+"\n"), limits)
	if err != nil {
		t.Fatal(err)
	}
	d := newDriver(p)
	d.act = act
	if err := d.run(`{"n": ` + n + `}`); err != nil {
		t.Fatalf("%v\n%s", err, d.trace.String())
	}
	if f := d.end.Failure; f != nil {
		return fmt.Sprintf("%s: %s: %s", f.Pos, f.Type, f.Message)
	}
	return string(d.end.Result)
}

// Here the scheduler does not work as the text says: lists that are appended to and not read, a range's bounds instead of its
// numbers, elements that are read a few at a time.
func TestOutcomes(t *testing.T) {
	grow := "r = n\nfor i in range(2):\n    @noop()\n    r = r + [i]"
	for _, c := range []struct{ name, body, n, want string }{
		{"a list grows", grow, `[7]`, `[7,0,1]`},
		{"a string does not", grow, `"a"`, `w.ir:5:13: ExpressionError: unknown binary op: string + list`},
		{"an int does not", grow, `1`, `w.ir:5:13: ExpressionError: unknown binary op: int + list`},
		{"a float does not", grow, `1.5`, `w.ir:5:13: ExpressionError: unknown binary op: float + list`},
		{"a bool does not", grow, `true`, `w.ir:5:13: ExpressionError: unknown binary op: bool + list`},
		{"a dict does not", grow, `{"k": 1}`, `w.ir:5:13: ExpressionError: unknown binary op: dict + list`},
		{"null does not", grow, `null`, `w.ir:5:13: ExpressionError: unknown binary op: NoneType + list`},
		{"nothing does not", "for i in range(2):\n    @noop()\n    r = r + [i]", `1`, `w.ir:4:13: ExpressionError: r has no value here`},
		{"what is appended fails", "r = []\nfor i in range(2):\n    @noop()\n    r = r + [1 // (1 - i)]", `1`, `w.ir:5:13: ExpressionError: floored division by zero`},
		{"in memory, what is appended fails", "r = []\nfor i in range(2):\n    r = r + [1 // (1 - i)]", `1`, `w.ir:4:13: ExpressionError: floored division by zero`},
		{"in memory, not a list", "r = n\nfor i in range(2):\n    r = r + [i]", `1`, `w.ir:4:13: ExpressionError: unknown binary op: int + list`},
		{"read in every round", "r = []\nfor i in range(4):\n    x = @echo(value=len(r))\n    r = r + [x, r]", `1`, `[0,[],2,[0,[]],4,[0,[],2,[0,[]]],6,[0,[],2,[0,[]],4,[0,[],2,[0,[]]]]]`},
		{"written whole in between", "r = []\nfor i in range(6):\n    @noop()\n    r = r + [i]\n    if i == 3:\n        @noop()\n        r = [r]", `1`, `[[0,1,2,3],4,5]`},
		{"written again as another type", "r = []\nfor i in range(6):\n    @noop()\n    r = r + [i]\n    if i == 3:\n        @noop()\n        r = len(r)", `1`, `w.ir:5:13: ExpressionError: unknown binary op: int + list`},
		{"read later, and appended to at once", "r = []\nfor i in range(2):\n    @noop()\n    r = r + [i]\ns = r\nfor i in range(2):\n    r = r + [s]", `1`, `[0,1,[0,1],[0,1]]`},
		{"range of four", "for i in range(1, 2, 3, 4):\n    pass", `1`, `w.ir:2:14: ExpressionError: range takes one to three ints, not 4`},
		{"range of a string", "for i in range(n):\n    pass", `"x"`, `w.ir:2:14: ExpressionError: range takes ints, not a string`},
		{"range of a float", "for i in range(n):\n    pass", `1.5`, `w.ir:2:14: ExpressionError: range takes ints, not a float`},
		{"range beyond all", "for i in range(n):\n    pass", `99999999999999999999`, `w.ir:2:14: ExpressionError: range: 99999999999999999999 is too large`},
		{"range without steps", "for i in range(1, 5, 0):\n    pass", `1`, `w.ir:2:14: ExpressionError: range: a step of 0 leads nowhere`},
		{"range that fails", "for i in range(1 // 0):\n    pass", `1`, `w.ir:2:14: ExpressionError: floored division by zero`},
		{"range backwards", "r = []\nfor i in range(7, 1, -3):\n    @noop()\n    r = r + [i]", `1`, `[7,4]`},
		{"a loop over a number", "for i in n:\n    pass", `1`, `w.ir:2:14: ExpressionError: a for goes over a list or the keys of a dict, not over a int`},
		{"a loop over a dict", "r = []\nfor k in n:\n    r = r + [k]", `{"a": 1, "b": 2}`, `["a","b"]`},
		{"unpacking in a loop", "for a, b in n:\n    @noop()\nr = [a, b]", `[[1, 2], [3]]`, `w.ir:2:5: ExpressionError: a list of 1 cannot be unpacked into 2 names`},
		{"unpacking a number", "a, b = n", `1`, `w.ir:2:5: ExpressionError: a int cannot be unpacked into 2 names; only a list can`},
		{"unpacking null", "a, b = @noop()", `1`, `w.ir:2:5: ExpressionError: a NoneType cannot be unpacked into 2 names; only a list can`},
		{"unpacking too many", "a, b = parallel:\n    @noop()\n    @noop()\n    @noop()", `1`, `w.ir:2:5: ExpressionError: a list of 3 cannot be unpacked into 2 names`},
		{"elements in chunks, inline", "r = 0\nfor x in n:\n    r = r + x", list(50), `1225`},
		{"elements in chunks, across actions", "r = []\nfor x in n:\n    if x % 16 == 15:\n        @noop()\n    r = r + [x]", list(50), list(50)},
		{"elements in chunks, left early", "r = 0\nfor x in n:\n    @noop()\n    if x == 33:\n        break\n    r = r + x", list(50), `528`},
		{"as many elements as a chunk", "r = 0\nfor x in n:\n    @noop()\n    r = r + x", list(16), `120`},
		{"a sleep below zero", "sleep n", `-1`, `w.ir:2:11: ExpressionError: sleep needs a number of seconds that is not negative, not -1`},
		{"a sleep of a string", "sleep n", `"1"`, `w.ir:2:11: ExpressionError: sleep needs a number of seconds that is not negative, not "1"`},
		{"a sleep that fails", "sleep 1 // 0", `1`, `w.ir:2:11: ExpressionError: floored division by zero`},
		{"no time", "sleep n\nr = 1", `0`, `1`},
		{"a long time", "sleep n\nr = 1", `1e300`, `1`},
		{"no result", "if n:\n    r = 1", `0`, `w.ir:1:30: ExpressionError: r has no value here`},
		{"a spread over a number", "r = spread n:x -> @echo(value=x)", `1`, `w.ir:2:16: ExpressionError: a spread goes over a list or the keys of a dict, not over a int`},
		{"an argument that fails", "r = @echo(value=1 // n)", `0`, `w.ir:2:21: ExpressionError: floored division by zero`},
		{"an element whose argument fails", "r = spread range(2):x -> @echo(value=1 // x)", `0`, `w.ir:2:42: ExpressionError: floored division by zero`},
		{"a condition that fails", "while 1 // n:\n    pass", `0`, `w.ir:2:11: ExpressionError: floored division by zero`},
		{"a guard that fails", "if n == 1:\n    r = 1\nelif 1 // n:\n    r = 2\nelse:\n    r = 3", `0`, `w.ir:4:10: ExpressionError: floored division by zero`},
		{"what elements share has grown", "r = []\nfor i in range(3):\n    @noop()\n    r = r + [i]\nr = spread range(3):x limit 1 -> @echo(value=r + [x])", `0`, `[[0,1,2,0],[0,1,2,1],[0,1,2,2]]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := outcome(t, c.body, c.n, ir.Limits{}); got != c.want {
				t.Errorf("got  %s\nwant %s\nof\n%s", got, c.want, c.body)
			}
		})
	}
}

func list(n int) string {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	data, err := json.Marshal(numbers)
	if err != nil {
		panic(err)
	}
	return string(data)
}
