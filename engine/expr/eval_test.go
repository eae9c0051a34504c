package expr_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

// In env, "unset" has no value.
func env(t testing.TB) map[string]expr.Value {
	vars := map[string]expr.Value{}
	for name, text := range map[string]string{
		"i": `7`, "x": `2.5`, "s": `"a,b,c"`, "xs": `[3,1,2]`, "d": `{"b":1,"a":[2]}`, "n": `null`, "yes": `true`,
		"order": order, "sum": `10`, "len": `"len"`, "words": `["bb","a","ccc"]`,
		"err": `{"type":"Declined","message":"no","action":"pay"}`, "big": `100000000000000000000`,
		"pairs": `[["k",1],["l",2]]`, "key": `"a"`, "lo": `1`, "table": `[[2,"x"],[1,"z"],[1,"y"]]`,
	} {
		vars[name] = mustDecode(t, text)
	}
	return vars
}

func TestEval(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`i`, `7`}, {`None`, `null`}, {`True`, `true`}, {`(i)`, `7`}, {`1.0`, `1.0`}, {`'it\'s'`, `"it's"`},
		{`"\u00e9\n"`, `"é\n"`}, {`0x1F`, `31`}, {`123456789012345678901234567890`, `123456789012345678901234567890`},
		{`i + 1`, `8`}, {`i - 10`, `-3`}, {`i * 3`, `21`}, {`i / 2`, `3.5`}, {`6 / 3`, `2.0`}, {`-7 // 2`, `-4`}, {`-7 % 3`, `2`},
		{`7 % -3`, `-2`}, {`7.5 // 2`, `3.0`}, {`-i`, `-7`}, {`-x`, `-2.5`}, {`- -i`, `7`}, {`-1`, `-1`}, {`i + x`, `9.5`}, {`x * i`, `17.5`},
		{`2.5 - x`, `0.0`}, {`big * big`, `10000000000000000000000000000000000000000`}, {`big // 7 * 7 + big % 7 == big`, `true`},
		{`-big`, `-100000000000000000000`}, {`big - big`, `0`}, {`7.5 % 2`, `1.5`}, {`4611686018427387904 * 2`, `9223372036854775808`},
		{`s + "!"`, `"a,b,c!"`}, {`"ab" * 3`, `"ababab"`}, {`2 * "ab"`, `"abab"`}, {`"ab" * -1`, `""`}, {`"ab" * -big`, ``},
		{`xs + [4]`, `[3,1,2,4]`}, {`[0] * 3`, `[0,0,0]`}, {`2 * xs`, `[3,1,2,3,1,2]`}, {`[]`, `[]`},
		{`1 == 1.0`, `true`}, {`i == 7`, `true`}, {`i != 7`, `false`}, {`x == 2.5`, `true`}, {`True == 1`, `false`}, {`n == None`, `true`},
		{`xs == [3, 1, 2]`, `true`}, {`zip([1], [2]) == [[1, 2]]`, `true`}, {`range(3) == [0, 1, 2]`, `true`}, {`xs != xs`, `false`},
		{`d == {"a": [2], "b": 1}`, `true`}, {`i < 8`, `true`}, {`i <= lo`, `false`}, {`i > lo`, `true`}, {`i >= lo`, `true`}, {`lo < x`, `true`}, {`x < lo`, `false`},
		{`s < "b"`, `true`}, {`s >= key`, `true`}, {`xs < [3, 2]`, `true`}, {`xs < xs + [0]`, `true`}, {`[1, 2] > [1]`, `true`}, {`[False] < [True]`, `true`},
		{`yes <= yes`, `true`}, {`yes < False or False < yes`, `true`}, {`big > i`, `true`}, {`big > x`, `true`}, {`x < big`, `true`}, {`i == -7`, `false`}, {`s == key`, `false`},
		{`big == 1e20 and 1e20 == big`, `true`}, {`[[[[[[[[[[[[1]]]]]]]]]]]] == [[[[[[[[[[[[1]]]]]]]]]]]]`, `true`},
		{`1 in xs`, `true`}, {`1.0 in xs`, `true`}, {`9 not in xs`, `true`}, {`"a" in d`, `true`}, {`key in d`, `true`}, {`key not in d`, `false`}, {`1 in d`, `false`},
		{`"b," in s`, `true`}, {`key in s`, `true`}, {`[1] in [[1]]`, `true`},
		{`0 or "x"`, `"x"`}, {`xs and i`, `7`}, {`[] and unset`, `[]`}, {`i or unset`, `7`}, {`not xs`, `false`}, {`not not n`, `false`},
		{`i if yes else unset`, `7`}, {`unset if n else i`, `7`}, {`[unset for v in []]`, `[]`},
		{`xs[0]`, `3`}, {`xs[-1]`, `2`}, {`xs[lo]`, `1`}, {`xs[-lo]`, `2`}, {`s[2]`, `"b"`}, {`s[lo]`, `","`}, {`d["b"]`, `1`}, {`d[key]`, `[2]`}, {`d[key][0]`, `2`},
		{`xs[:]`, `[3,1,2]`}, {`xs[1:]`, `[1,2]`}, {`xs[:-1]`, `[3,1]`}, {`xs[::-1]`, `[2,1,3]`}, {`s[::2]`, `"abc"`}, {`s[lo:4]`, `",b,"`}, {`xs[5:]`, `[]`}, {`xs[2:1]`, `[]`},
		{`xs[None:2:None]`, `[3,1]`}, {`xs[-100:100]`, `[3,1,2]`}, {`[][::-1]`, `[]`}, {`range(10)[8:2:-3]`, `[8,5]`}, {`""[0:5]`, `""`},
		{`{}`, `{}`}, {`{"b": 1, "a": i}`, `{"b":1,"a":7}`}, {`{key: 1}`, `{"a":1}`}, {`{"paid": False, "why": err["message"]}`, `{"paid":false,"why":"no"}`},
		{`[v * 2 for v in xs]`, `[6,2,4]`}, {`[v for v in xs if v > 1 if v < 3]`, `[2]`}, {`[a + b for a in "x y".split() for b in ["1", "2"]]`, `["x1","x2","y1","y2"]`},
		{`{k: v for k, v in pairs}`, `{"k":1,"l":2}`}, {`[k for k in d]`, `["b","a"]`}, {`[a + b for a, (b, c) in [[1, [2, 3]]]]`, `[3]`}, {`[a for [a, b] in pairs]`, `["k","l"]`},
		{`[i for i in [i]]`, `[7]`}, {`[[v for v in row] for row in [[1], [2]]]`, `[[1],[2]]`}, {`[i for j in [1] for i in [j]]`, `[1]`}, {`[(v) for (v) in xs]`, `[3,1,2]`},
		{`range(3)`, `[0,1,2]`}, {`range(1, 4)`, `[1,2,3]`}, {`range(5, 0, -2)`, `[5,3,1]`}, {`range(0)`, `[]`}, {`range(3, 1)`, `[]`}, {`range(0, 7, 3)`, `[0,3,6]`},
		{`len(xs)`, `3`}, {`len(s)`, `5`}, {`len(d)`, `2`}, {`enumerate(words)`, `[[0,"bb"],[1,"a"],[2,"ccc"]]`}, {`enumerate(words, 5)[0]`, `[5,"bb"]`}, {`enumerate(iterable=words, start=9223372036854775807)[1][0]`, `9223372036854775808`},
		{`zip(xs, words)`, `[[3,"bb"],[1,"a"],[2,"ccc"]]`}, {`zip(xs, [1])`, `[[3,1]]`}, {`zip()`, `[]`}, {`min(xs)`, `1`}, {`max(xs)`, `3`}, {`max(1, x, 2)`, `2.5`}, {`min("b", "a")`, `"a"`},
		{`max(words, key=len)`, `"ccc"`}, {`max([1, 1.0])`, `1`}, {`sorted(xs)`, `[1,2,3]`}, {`sorted(xs, reverse=True)`, `[3,2,1]`}, {`sorted(words, key=len)`, `["a","bb","ccc"]`},
		{`sorted(table)`, `[[1,"y"],[1,"z"],[2,"x"]]`}, {`sorted(["b", "B", "a"], key=str, reverse=True)`, `["b","a","B"]`}, {`sorted([2, 1, 1.0, 2.0], reverse=True)`, `[2,2.0,1,1.0]`}, {`sorted(d)`, `["a","b"]`}, {`sorted([])`, `[]`},
		{`reversed(xs)`, `[2,1,3]`}, {`any([0, 1])`, `true`}, {`all([0, 1])`, `false`}, {`any([])`, `false`}, {`str(1.0)`, `"1.0"`}, {`str(s)`, `"a,b,c"`}, {`str([1, "a", None, {"k": [2]}])`, `"[1, \"a\", None, {\"k\": [2]}]"`},
		{`int("12")`, `12`}, {`int(2.9)`, `2`}, {`int("ff", 16)`, `255`}, {`int(True)`, `1`}, {`int("100000000000000000000")`, `100000000000000000000`}, {`float("1.5")`, `1.5`}, {`float(big)`, `100000000000000000000.0`}, {`float(i)`, `7.0`},
		{`bool([])`, `false`}, {`bool()`, `false`}, {`list(d)`, `["b","a"]`}, {`list()`, `[]`}, {`str(d.items())`, `"[[\"b\", 1], [\"a\", [2]]]"`}, {`dict()`, `{}`}, {`dict(d)`, `{"b":1,"a":[2]}`}, {`dict(pairs)`, `{"k":1,"l":2}`},
		{`dict([["a", 1]], b=2)`, `{"a":1,"b":2}`}, {`dict(d, a=1)`, `{"b":1,"a":1}`}, {`dict(d.items() + {"c": 3}.items())`, `{"b":1,"a":[2],"c":3}`}, {`sum(xs)`, `6`}, {`sum([])`, `0`}, {`sum([1, 2.5])`, `3.5`}, {`sum([1, big])`, `100000000000000000001`},
		{`isexception(err, "Declined")`, `true`}, {`isexception(err, "Timeout")`, `false`}, {`isexception(err, "Exception")`, `true`}, {`isexception(err)`, `true`}, {`isexception(d, "Declined")`, `false`}, {`isexception(i)`, `false`},
		{`isexception({"type": 1, "message": "", "action": ""})`, `false`}, {`isexception({"type": "A", "message": "", "action": 1})`, `false`}, {`isexception({"type": "A", "message": "", "action": None})`, `true`},
		// A variable may be named like a function.
		{`sum + sum([1])`, `11`}, {`[len(len) for len in words]`, `[2,1,3]`}, {`len[0] + str(len(len))`, `"l3"`},
		{`s.split(",")`, `["a","b","c"]`}, {`s.split(",", 1)`, `["a","b,c"]`}, {`" a  b ".split()`, `["a","b"]`}, {`s.rsplit(",", 1)`, `["a,b","c"]`}, {`"a b c".rsplit(None, 9223372036854775807)`, `["a","b","c"]`}, {`"a b c".split(None, 1)`, `["a","b c"]`}, {`s.split(",", -1)`, `["a","b","c"]`}, {`s.split(",", -big)`, `["a","b","c"]`},
		{`"-".join(words)`, `"bb-a-ccc"`}, {`"-".join(d)`, `"b-a"`}, {`s.upper()`, `"A,B,C"`}, {`"AbC".lower()`, `"abc"`}, {`"ab cd".title()`, `"Ab Cd"`}, {`"ab".capitalize()`, `"Ab"`},
		{`s.replace(",", "")`, `"abc"`}, {`s.replace(",", "--", 1)`, `"a--b,c"`}, {`"ab".replace("", "-")`, `"-a-b-"`}, {`s.startswith("a,")`, `true`}, {`s.startswith(["x", "a"])`, `true`}, {`s.endswith(["x", "c"])`, `true`}, {`s.startswith("b", 2)`, `true`},
		{`s.find("b")`, `2`}, {`s.find("z")`, `-1`}, {`s.index("b")`, `2`}, {`s.rindex(",")`, `3`}, {`s.rfind(",")`, `3`}, {`s.count(",")`, `2`}, {`"xxaxx".strip("x")`, `"a"`}, {`" a ".strip()`, `"a"`}, {`" a ".lstrip()`, `"a "`}, {`"ab".rstrip("b")`, `"a"`},
		{`s.partition(",")`, `["a",",","b,c"]`}, {`s.rpartition(",")`, `["a,b",",","c"]`}, {`"a\nb\n".splitlines()`, `["a","b"]`}, {`"ab".removeprefix("a")`, `"b"`}, {`"ab".removesuffix("b")`, `"a"`}, {`"12".isdigit()`, `true`}, {`"ab".elems()`, `["a","b"]`}, {`"é".codepoint_ords()`, `[233]`},
		{`"{} {}".format(1, "a")`, `"1 a"`}, {`"{1}{0}{k}".format(1, 2, k=[3])`, `"21[3]"`}, {`"{{}}".format()`, `"{}"`}, {`"%s %d%% %r" % ["a", 5, "b"]`, `"a 5% \"b\""`}, {`"%s" % xs`, `"[3, 1, 2]"`}, {`"%(a)s" % {"a": 1}`, `"1"`}, {`"%x" % 255`, `"ff"`}, {`"%s" % None`, `"None"`}, {`"%s=%s%%" % ["a", 1]`, `"a=1%"`}, {`"100%%" % []`, `"100%"`}, {`["%s=%s" % p for p in zip(["a"], [1])]`, `["a=1"]`},
		{`d.get("a")`, `[2]`}, {`d.get("z")`, `null`}, {`d.get(key, 1)`, `[2]`}, {`d.get("z", 1)`, `1`}, {`d.get(1, 2)`, `2`}, {`d.keys()`, `["b","a"]`}, {`d.values()`, `[1,[2]]`}, {`d.items()`, `[["b",1],["a",[2]]]`}, {`order["customer"]["name"].upper()`, `"ADA"`},
		{`[o["sku"] for o in order["items"] if o["count"] > 1]`, `["a-1"]`},
	} {
		if c.want == "" {
			continue
		}
		v, err := eval(mustCompile(t, c.text), env(t))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := mustEncode(t, v); got != c.want || !isNormal(v) {
			t.Errorf("%s is %s (normal: %v), want %s", c.text, got, isNormal(v), c.want)
		}
	}
}

func TestEvalRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`unset`, `unset has no value here`},
		{`unset + 1`, `unset has no value here`},
		{`unset if yes else 1`, `unset has no value here`},
		{`[unset for v in [1]]`, `unset has no value here`},
		{`[1 for v in xs for w in w]`, `w has no value here`},
		{`1 + "a"`, `unknown binary op: int + string`},
		{`xs - [1]`, `unknown binary op: list - list`},
		{`-s`, `unknown unary op: - string`},
		{`i < s`, `int < string not implemented`},
		{`s < i`, `string < int not implemented`},
		{`n >= n`, `NoneType >= NoneType not implemented`},
		{`d < d`, `dict < dict not implemented`},
		{`xs > [[1]]`, `int > list not implemented`},
		{`1 / 0`, `floating-point division by zero`},
		{`i // 0`, `floored division by zero`},
		{`i % (i - 7)`, `integer modulo by zero`},
		{`1e308 * 10`, `the result is not a finite float (+inf)`},
		{`-1e308 - 1e308`, `the result is not a finite float (-inf)`},
		{`1e308 / 1e-10`, `the result is not a finite float (+inf)`},
		{`float("nan")`, `the result is not a finite float (nan)`},
		{`float("inf") > 1`, `the result is not a finite float (+inf)`},
		{`sum([1e308, 1e308])`, `sum: the result is not a finite float (+inf)`},
		{`xs[3]`, `list index 3 out of range [-3:2]`},
		{`xs[i]`, `list index 7 out of range [-3:2]`},
		{`xs[-i]`, `list index -7 out of range [-3:2]`},
		{`[][lo]`, `index 1 out of range: empty list`},
		{`xs[key]`, `list index: got string, want int`},
		{`xs["a"]`, `list index: got string, want int`},
		{`xs[big]`, `list index: 100000000000000000000 out of range`},
		{`d["z"]`, `key "z" not in dict`},
		{`d[s]`, `key "a,b,c" not in dict`},
		{`d[i]`, `a dict's key must be a string, not int`},
		{`d[0]`, `key 0 not in dict`},
		{`i[key]`, `unhandled index operation int[string]`},
		{`i[1:]`, `invalid slice operand int`},
		{`d[1:]`, `invalid slice operand dict`},
		{`xs[::0]`, `zero is not a valid slice step`},
		{`xs["a":]`, `invalid start index: got string, want int`},
		{`xs[:"a"]`, `invalid end index: got string, want int`},
		{`xs[::"a"]`, `invalid slice step: got string, want int`},
		{`1 in i`, `unknown binary op: int in int`},
		{`1 in s`, `'in <string>' requires string as left operand, not int`},
		{`{1: 2}`, `a dict's key must be a string, not int`},
		{`{n: 3}`, `a dict's key must be a string, not NoneType`},
		{`{v: 1 for v in xs}`, `a dict's key must be a string, not int`},
		{`{"a": 1, key: 2}`, `duplicate key: "a"`},
		{`[v for v in i]`, `int value is not iterable`},
		{`[v for v in s]`, `string value is not iterable`},
		{`[a for a, b in xs]`, `got int in sequence assignment`},
		{`[a for a, b in [[1, 2, 3]]]`, `too many values to unpack (got 3, want 2)`},
		{`range("a")`, `range: for parameter 1: got string, want int`},
		{`range(1, "a")`, `range: got string, want int`},
		{`range(1, 2, 0)`, `range: step argument must not be zero`},
		{`range(9223372036854775807)`, `range: 9223372036854775807 is too large`},
		{`range(-big)`, `range: -100000000000000000000 out of range (want value in signed 64-bit range)`},
		{`range()`, `range: got 0 arguments, want at least 1`},
		{`len(i)`, `len: value of type int has no len`},
		{`len()`, `len: got 0 arguments, want 1`},
		{`enumerate(i)`, `enumerate: int value is not iterable`},
		{`enumerate(s)`, `enumerate: string value is not iterable`},
		{`enumerate(xs, "a")`, `enumerate: for parameter start: got string, want int`},
		{`zip(xs, i)`, `zip: int value is not iterable`},
		{`zip(xs, foo=1)`, `zip does not accept keyword arguments`},
		{`min()`, `min requires at least one positional argument`},
		{`min([])`, `min: argument is an empty sequence`},
		{`min(i)`, `min: int value is not iterable`},
		{`max(1, "a")`, `max: string > int not implemented`},
		{`max(xs, foo=1)`, `max: unexpected keyword argument "foo"`},
		{`max(xs, key=len)`, `len: value of type int has no len`},
		{`sorted(i)`, `sorted: int value is not iterable`},
		{`sorted([1, "a", 2, "b"])`, `sorted: string < int not implemented`},
		{`sorted(xs, key=len)`, `len: value of type int has no len`},
		{`sorted()`, `sorted: missing argument for iterable`},
		{`str()`, `str: got 0 arguments, want 1`},
		{`int("x")`, `int: invalid literal with base 10: x`},
		{`int([])`, `int: cannot convert list to int`},
		{`float(xs)`, `float got list, want number or string`},
		{`dict(i)`, `dict: int value is not iterable`},
		{`dict(1, 2)`, `dict: got 2 arguments, want at most 1`},
		{`dict([1])`, `dict: element 0 is not a list of key and value`},
		{`dict([["a", 1], [1, 2, 3]])`, `dict: element 1 is not a list of key and value`},
		{`dict([[1, 2]])`, `a dict's key must be a string, not int`},
		{`sum(i)`, `sum: got int, want a list of numbers`},
		{`sum(words)`, `sum: element 0 is a string, not a number`},
		{`sum([1, True])`, `sum: element 1 is a bool, not a number`},
		{`sum()`, `sum: got 0 arguments, want 1`},
		{`isexception()`, `isexception: got 0 arguments, want at least 1`},
		{`isexception(err, 1)`, `isexception: for parameter 2: got int, want string`},
		{`xs.index(1)`, `list has no .index method; only strings and dicts have methods`},
		{`i.upper()`, `int has no .upper method; only strings and dicts have methods`},
		{`d.upper()`, `dict has no .upper method`},
		{`s.get("a")`, `string has no .get method`},
		{`d.get()`, `get: got 0 arguments, want at least 1`},
		{`d.get([1, 2])`, `get: unhashable type: list`},
		{`s.split("")`, `split: empty separator`},
		{`s.split(1)`, `split: got int for separator, want string`},
		{`s.split(",", "a")`, `split: for parameter 2: got string, want int`},
		{`s.index("z")`, `index: substring not found`},
		{`"-".join(xs)`, `join: in list, want string, got int`},
		{`"-".join(i)`, `join: for parameter 1: got int, want iterable`},
		{`"-".join()`, `join: got 0 arguments, want 1`},
		{`s.replace("a")`, `replace: got 1 arguments, want at least 2`},
		{`s.replace("a", 1)`, `replace: for parameter 2: got int, want string`},
		{`s.startswith()`, `startswith: got 0 arguments, want at least 1`},
		{`s.startswith([1])`, `startswith: want string, got int, for element 0`},
		{`"{}".format()`, `format: tuple index out of range`},
		{`"{a}".format(b=1)`, `format: keyword a not found`},
		{`"%d" % "a"`, `%d format requires integer: cannot convert string to int`},
		{`"%s %s" % []`, `not enough arguments for format string`},
		{`"\xff" + "a"`, `…`}, // refused by the parser or as a value
		{`"é"[0]`, `the string "\xc3" is not valid UTF-8`},
		{`"ab" * -big`, `repeat count -100000000000000000000 too large`},
	} {
		compiled, err := expr.Compile(&ir.Expr{Pos: where, Text: c.text}, ir.Limits{})
		if err == nil {
			_, err = eval(compiled, env(t))
		}
		if c.want == `…` {
			if err == nil {
				t.Errorf("%s: no error", c.text)
			}
			continue
		}
		checkError(t, c.text, err, expr.TypeExpression, c.want)
		var failed *expr.EvalError
		if errors.As(err, &failed) && failed.Pos != where {
			t.Errorf("%s: position %v", c.text, failed.Pos)
		}
	}
}

func TestEvalCountsItsArguments(t *testing.T) {
	c := mustCompile(t, `a + b`)
	_, err := c.Eval(make([]expr.Value, 1))
	checkError(t, "one of two", err, expr.TypeExpression, `got 1 values for the 2 names of the expression`)
}

func TestErrorsAreShort(t *testing.T) {
	args := map[string]expr.Value{"s": starlark.String(strings.Repeat("é\n", 1000))}
	for _, text := range []string{`int(s)`, `{}[s]`, `{s: 1, s + "": 2}`, `s.format()[s]`} {
		_, err := eval(mustCompile(t, text), args)
		var failed *expr.EvalError
		if !errors.As(err, &failed) || len(failed.Msg) > 500 || strings.Contains(failed.Msg, "\n") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{`1 + 2`, nil},
		{`b + a[b]`, []string{"a", "b"}},
		{`True and None`, nil},
		{`len(xs)`, []string{"xs"}},
		{`len`, []string{"len"}},
		{`len + len(x)`, []string{"len", "x"}},
		{`sorted(xs, key=len)`, []string{"xs"}},
		{`dict(key=len)`, []string{"len"}},
		{`max(a, b, key=str)`, []string{"a", "b"}},
		{`[x for x in xs]`, []string{"xs"}},
		{`[x for x in x]`, []string{"x"}},
		{`[x + y for x in xs if z]`, []string{"xs", "y", "z"}},
		{`[y for x in xs for y in x]`, []string{"xs"}},
		{`[x for x in xs] + [x]`, []string{"x", "xs"}},
		{`{k: w for k, v in d.items()}`, []string{"d", "w"}},
		{`[[x for x in y] for y in z]`, []string{"z"}},
		{`a.get(b, c)[d:e:f]`, []string{"a", "b", "c", "d", "e", "f"}},
		{`"{x}".format(x=y)`, []string{"y"}},
		{`a if b else c`, []string{"a", "b", "c"}},
		{`{a: {b: -c}}`, []string{"a", "b", "c"}},
	} {
		compiled := mustCompile(t, c.text)
		if got := compiled.Names(); !slices.Equal(got, c.want) {
			t.Errorf("%s: names %v, want %v", c.text, got, c.want)
		}
		if compiled.Expr().Text != c.text {
			t.Errorf("%s: Expr is %q", c.text, compiled.Expr().Text)
		}
	}
}

func TestManyNames(t *testing.T) {
	var terms []string
	args := map[string]expr.Value{}
	for i := range 1000 {
		name := fmt.Sprintf("v%d", i)
		terms = append(terms, name)
		args[name] = starlark.MakeInt(i)
	}
	for _, text := range []string{strings.Join(terms, " + "), "sum([" + strings.Join(terms, ", ") + "])"} {
		v, err := eval(mustCompile(t, text), args)
		if err != nil || !expr.Equal(v, starlark.MakeInt(999*1000/2)) {
			t.Errorf("the sum of 1,000 names is %v, %v", v, err)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	nested := strings.Repeat("(", 65) + "1" + strings.Repeat(")", 65)
	for _, c := range []struct{ text, want string }{
		{``, `got end of file, want primary expression`},
		{`1 +`, `got end of file, want primary expression`},
		{`a b`, `got identifier after expression, want EOF`},
		{`x = 1`, `got '=' after expression, want EOF`},
		{`1 < 2 < 3`, `< does not associate with < (use parens)`},
		{`a ** b`, `got '**' after expression, want EOF`},
		{`"a`, `unexpected EOF in string`},
		{`return`, `got return, want primary expression`},
		{`lambda: 1`, `there is no lambda; write a comprehension`},
		{`sorted(xs, key=lambda x: x)`, `key= takes the name of a built-in function, such as key=len`},
		{`sorted(xs, key=foo)`, `key= takes the name of a built-in function, such as key=len`},
		{`b"x"`, `bytes are not values; write a string`},
		{`{x for x in xs}`, `got for, want ':'`},
		{`a | b`, `there is no operator |`},
		{`a & b`, `there is no operator &`},
		{`a ^ b`, `there is no operator ^`},
		{`a << 1`, `there is no operator <<`},
		{`~a`, `there is no operator ~ before a value; write not or -`},
		{`+a`, `there is no operator + before a value; write not or -`},
		{`(1, 2)`, `there are no tuples; write a list: [a, b]`},
		{`a, b`, `there are no tuples; write a list: [a, b]`},
		{`()`, `there are no tuples; write a list: [a, b]`},
		{`sorted(xs, key=None)`, `key= takes the name of a built-in function, such as key=len`},
		{`a.b`, `values have no fields; write x["b"] for x.b`},
		{`a.b.c()`, `there is no method .c; …`},
		{`f(1)`, `unknown function f; an expression can call all, any, bool, dict, enumerate, float, int, isexception, len, list, max, min, range, reversed, sorted, str, sum, zip; write an action as @f(…), and call a fn of the program in a statement of its own`},
		{`print(1)`, `unknown function print; …`},
		{`None()`, `unknown function None; …`},
		{`[f(x) for x in xs]`, `unknown function f; …`},
		{`xs[0](1)`, `only built-in functions and methods can be called in an expression`},
		{`len(xs)(1)`, `only built-in functions and methods can be called in an expression`},
		{`max(*xs)`, `arguments cannot be passed with *; write them out`},
		{`dict(**d)`, `arguments cannot be passed with **; write them out`},
		{`"".foo()`, `there is no method .foo; dicts have get, items, keys and values, strings have those of Starlark, such as split, join and replace`},
		{`xs.append(1)`, `values cannot be changed in place by .append; write xs + [x]`},
		{`d.pop("a")`, `values cannot be changed in place by .pop; …`},
		{`d.update(e)`, `values cannot be changed in place by .update; …`},
		{`d.setdefault("a", 1)`, `values cannot be changed in place by .setdefault; write d.get(key, default)`},
		{`[1 for None in xs]`, `None is not a variable`},
		{`[1 for a, (True) in xs]`, `True is not a variable`},
		{`[1 for xs[0] in xs]`, `a comprehension binds names; write for x in … or for x, y in …`},
		{`[1 for a.b in xs]`, `a comprehension binds names; …`},
		{`dict(a=1, a=2)`, `keyword argument "a" is repeated`},
		{`max(key=len, 1)`, `positional argument may not follow named`},
		{`len(` + strings.Repeat("1, ", 300) + `)`, `300 positional arguments in call, limit is 255`},
		{nested, `nesting of brackets: 65 is over the limit of 64; make it smaller or raise the limit`},
		{`x` + strings.Repeat("[0]", 65), `nesting of brackets: 65 …`},
		{"1" + strings.Repeat(" + 1", 5000), `depth of an expression: 4001 is over the limit of 4000; …`},
		{strings.Repeat("not ", 5000) + "x", `…`},
		{strings.Repeat("-", 900) + "x", ``},
		{strings.Repeat("1 if x else ", 5000) + "1", `…`},
		{strings.Repeat(" ", 1<<20) + "1", `bytes of an expression: 1048577 is over the limit of 1048576; make it smaller or raise the limit`},
	} {
		_, err := expr.Compile(&ir.Expr{Pos: where, Text: c.text}, ir.Limits{})
		shown := c.text[:min(len(c.text), 40)]
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", shown, err)
			}
			continue
		}
		var failed *ir.Error
		if !errors.As(err, &failed) {
			t.Errorf("%s: error %v, want: %s", shown, err, c.want)
			continue
		}
		prefix, open := strings.CutSuffix(c.want, "…")
		if failed.Msg != c.want && !(open && strings.HasPrefix(failed.Msg, strings.TrimSpace(prefix))) {
			t.Errorf("%s:\n got %s\nwant %s", shown, failed.Msg, c.want)
		}
		if failed.Pos != where || strings.Contains(failed.Error(), "\n") {
			t.Errorf("%s: %q", shown, failed.Error())
		}
	}
}

func TestEvalIsConcurrent(t *testing.T) {
	texts := []string{`[v * 2 for v in xs if v in d["a"] or v > 1]`, `dict(d, c=range(3))`, `"{}-{}".format(s, xs)`, `range(100)`, `{"a": [1]}`, `1 / 0`}
	vars := env(t)
	for _, text := range texts {
		c := mustCompile(t, text)
		want, wantErr := eval(c, vars)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 50 {
					got, err := eval(c, vars)
					if (err == nil) != (wantErr == nil) || err == nil && !same(got, want) {
						t.Errorf("%s is %v, %v beside others and %v, %v alone", text, got, err, want, wantErr)
						return
					}
				}
			})
		}
		group.Wait()
	}
}

func TestArgumentsStayAsTheyAre(t *testing.T) {
	vars := env(t)
	before := mustEncode(t, vars["d"]) + mustEncode(t, vars["xs"])
	for _, text := range []string{`sorted(xs)`, `reversed(xs)`, `xs * 2`, `dict(d, b=2)`, `d.items()`, `[xs, d]`} {
		c := mustCompile(t, text)
		v, err := eval(c, vars)
		if err != nil {
			t.Fatal(err)
		}
		if list, ok := v.(*starlark.List); ok && list.SetIndex(0, starlark.None) == nil {
			t.Errorf("the result of %s can be changed", text)
		}
	}
	if after := mustEncode(t, vars["d"]) + mustEncode(t, vars["xs"]); after != before {
		t.Errorf("the arguments became %s from %s", after, before)
	}
}

func TestBuiltins(t *testing.T) {
	names := expr.Builtins()
	want := strings.Fields("all any bool dict enumerate float int isexception len list max min range reversed sorted str sum zip")
	if !slices.Equal(names, want) {
		t.Errorf("got %v", names)
	}
	names[0] = "changed"
	if expr.Builtins()[0] != "all" {
		t.Error("the caller does not own the slice")
	}
}
