package ir

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func inMain(statement string) string {
	return "fn main(input: [a], output: []):\n    " + statement + "\n"
}

func blocks(n int) string {
	var out strings.Builder
	out.WriteString("fn main(input: [a], output: []):\n")
	for i := 1; i < n; i++ {
		out.WriteString(strings.Repeat("    ", i) + "if a:\n")
	}
	out.WriteString(strings.Repeat("    ", n) + "pass\n")
	return out.String()
}

func chain(n int) string {
	var out strings.Builder
	name := mainName
	for i := range n {
		fmt.Fprintf(&out, "fn %s(input: [], output: []):\n    f%d()\n\n", name, i)
		name = fmt.Sprintf("f%d", i)
	}
	fmt.Fprintf(&out, "fn %s(input: [], output: []):\n    pass\n", name)
	return out.String()
}

func nested(n int, open, inside, shut string) string {
	return strings.Repeat(open, n) + inside + strings.Repeat(shut, n)
}

// Each limit must allow its bound, and refuse one more at the position of the excess.
func TestLimits(t *testing.T) {
	exactly := func(text string) Limits { return Limits{SourceBytes: len(text)} }
	elses := func(n int) string { return inMain("x = " + strings.Repeat("1 if a else ", n) + "2") }
	sums := func(n int) string { return inMain("x = a" + strings.Repeat(" + a", n-1)) }
	digits := func(n int) string { return inMain("x = " + strings.Repeat("7", n)) }
	expr := func(open, inside, shut string) func(int) string {
		return func(n int) string { return inMain("x = " + nested(n, open, inside, shut)) }
	}
	over := func(limit string, value, bound int) string {
		return fmt.Sprintf("%s: %d is over the limit of %d; make it smaller or raise the limit", limit, value, bound)
	}
	const expression = "nesting of an expression"
	for _, c := range []struct {
		name    string
		program func(n int) string
		bound   int
		lim     Limits
		refused string
	}{
		{"blocks", blocks, 64, Limits{}, "66:261: " + over("nesting of blocks", 65, 64)},
		{"blocks, fewer", blocks, 3, Limits{Nesting: 3}, "5:17: " + over("nesting of blocks", 4, 3)},
		{"calls", chain, 64, Limits{}, "2:5: " + over("nesting of calls", 65, 64)},
		{"calls, fewer", chain, 1, Limits{Nesting: 1}, "2:5: " + over("nesting of calls", 2, 1)},
		{"round brackets", expr("(", "a", ")"), 64, Limits{}, "2:73: " + over(expression, 65, 64)},
		{"lists", expr("[", "", "]"), 64, Limits{}, "2:73: " + over(expression, 65, 64)},
		{"lists, fewer", expr("[", "", "]"), 3, Limits{Nesting: 3}, "2:12: " + over(expression, 4, 3)},
		{"dicts", expr("{1: ", "1", "}"), 64, Limits{}, "2:265: " + over(expression, 65, 64)},
		{"functions", expr("len(", "a", ")"), 64, Limits{}, "2:268: " + over(expression, 65, 64)},
		{"indexes", expr("a[", "0", "]"), 64, Limits{}, "2:138: " + over(expression, 65, 64)},
		{"comprehensions", expr("[x for x in ", "a", "]"), 64, Limits{}, "2:777: " + over(expression, 65, 64)},
		{"minus", expr("-", "a", ""), 64, Limits{}, "2:73: " + over(expression, 65, 64)},
		{"minus with spaces", expr("- ", "a", ""), 64, Limits{}, "2:137: " + over(expression, 65, 64)},
		{"not", expr("not ", "a", ""), 64, Limits{}, "2:265: " + over(expression, 65, 64)},
		{"not and brackets", expr("(not ", "a", ")"), 32, Limits{}, "2:169: " + over(expression, 65, 64)},
		{"else", elses, 64, Limits{}, "2:784: " + over(expression, 65, 64)},
		{"arguments", func(n int) string { return inMain("@f(x=" + nested(n, "[", "a", "]") + ")") }, 64, Limits{},
			"2:74: " + over(expression, 66, 64)},
		{"operators", sums, 4000, Limits{}, "2:9: " + over("operators of an expression", 4001, 4000)},
		{"digits", digits, 4096, Limits{}, "2:9: " + over("digits of a number", 4097, 4096)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse("w.ir", []byte(c.program(c.bound)), c.lim); err != nil {
				t.Errorf("at the bound: %v", err)
			}
			_, err := Parse("w.ir", []byte(c.program(c.bound+1)), c.lim)
			if err == nil || err.Error() != "w.ir:"+c.refused {
				t.Errorf("over the bound: got\n%v\nwant\n%s", err, "w.ir:"+c.refused)
			}
		})
	}
	text := inMain("pass")
	if _, err := Parse("w.ir", []byte(text), exactly(text)); err != nil {
		t.Errorf("source at the bound: %v", err)
	}
	_, err := Parse("w.ir", []byte(text+"\n"), exactly(text))
	if want := "w.ir:1:1: " + over("source bytes", len(text)+1, len(text)); err == nil || err.Error() != want {
		t.Errorf("source over the bound: got %v, want %s", err, want)
	}
}

// Depth limits must not add up over siblings.
func TestLimitsCountDepthOnly(t *testing.T) {
	for _, statement := range []string{
		"x = [" + strings.Repeat("[a], ", 1000) + "]",
		"x = " + strings.Repeat("(a) + ", 1000) + "a",
		"x = " + strings.Repeat("-a + ", 1000) + "a",
		"x = " + strings.Repeat("not a and ", 1000) + "a",
		"x = [" + strings.Repeat("1 if a else 2, ", 1000) + "]",
		"x = {" + strings.Repeat("1 if a else 2: 3 if a else 4, ", 1000) + "}",
		"x = " + strings.Repeat("(1 if a else 2) + ", 1000) + "a",
		"x = a" + strings.Repeat("[0]", 1000),
		"x = a" + strings.Repeat(".strip()", 1000),
		"x = [x for x in a" + strings.Repeat(" if x for y in x", 1000) + "]",
		"@f(" + strings.Repeat("x", 100) + "=1)" + strings.Repeat(" [A -> retry: 1]", 1000),
	} {
		if _, err := Parse("w.ir", []byte(inMain(statement)), Limits{}); err != nil {
			t.Errorf("%.40s: %v", statement, err)
		}
	}
}

// Starlark's parser has its own limit, which is reported if it is the lower one.
func TestLimitsBeyondStarlark(t *testing.T) {
	_, err := Parse("w.ir", []byte(inMain("x = "+nested(500, "(", "a", ")"))), Limits{Nesting: 1000})
	if err == nil || !strings.Contains(err.Error(), "nested deeper than Starlark can read; assign parts of it first") {
		t.Errorf("got %v", err)
	}
}

var hostile = []struct{ name, before, again, after string }{
	{"nothing but (", "", "(", ""},
	{"[ in a value", hostileHead + "    x = ", "[", ""},
	{"{ in a value", hostileHead + "    x = ", "{", ""},
	{"( of calls", hostileHead + "    x = ", "a(", ""},
	{"( of actions", hostileHead + "    x = ", "@a(x=", ""},
	{") in a value", hostileHead + "    x = ", ")", ""},
	{"not", hostileHead + "    x = ", "not ", "a\n"},
	{"minus", hostileHead + "    x = ", "-", "a\n"},
	{"minus apart", hostileHead + "    x = ", "- ", "a\n"},
	{"plus", hostileHead + "    x = a", "+a", "\n"},
	{"plus in brackets", hostileHead + "    x = [a", "+a", "]\n"},
	{"times", hostileHead + "    x = a", "*a", "\n"},
	{"and", hostileHead + "    x = a", " and a", "\n"},
	{"equals", hostileHead + "    x = a", "==a", "\n"},
	{"dots", hostileHead + "    x = a", ".a", "\n"},
	{"methods", hostileHead + "    x = a", ".get()", "\n"},
	{"indexes", hostileHead + "    x = a", "[0]", "\n"},
	{"calls of calls", hostileHead + "    x = a", "()", "\n"},
	{"else", hostileHead + "    x = a", " if a else a", "\n"},
	{"if", hostileHead + "    x = a", " if a", "\n"},
	{"for", hostileHead + "    x = [a", " for a in a", "]\n"},
	{"targets of for", hostileHead + "    x = [a for ", "a,", "a in a]\n"},
	{"brackets around for", hostileHead + "    x = [a for ", "(", "a in a]\n"},
	{"elements", hostileHead + "    x = [", "a,", "]\n"},
	{"entries", hostileHead + "    x = {", "1:a,", "}\n"},
	{"arguments", hostileHead + "    x = max(", "a,", "a)\n"},
	{"one digit after other", hostileHead + "    x = ", "7", "\n"},
	{"hexadecimal", hostileHead + "    x = 0x", "f", "\n"},
	{"long float", hostileHead + "    x = 0.", "7", "\n"},
	{"numbers", hostileHead + "    x = [", "7777777777777777777777777777,", "]\n"},
	{"long name", hostileHead + "    x = ", "a", "\n"},
	{"long word", "", "a", ""},
	{"long sleep", hostileHead + "    (sleep", "p", ")\n"},
	{"long string", hostileHead + "    x = \"", "a", "\"\n"},
	{"long escape", hostileHead + "    x = \"", "\\n", "\"\n"},
	{"long string not ended", hostileHead + "    x = \"", "a", ""},
	{"quotes", hostileHead + "    x = ", "\"", "\n"},
	{"strings", hostileHead + "    x = [", "\"\",", "]\n"},
	{"comment", hostileHead + "    pass\n#", "#", ""},
	{"comments", hostileHead + "    pass\n", "#\n", ""},
	{"empty lines", hostileHead + "    pass\n", "\n", ""},
	{"line ends in brackets", hostileHead + "    x = [", "\n", "]\n"},
	{"spaces", "", " ", ""},
	{"spaces in a line", hostileHead + "    x = a", " ", "\n"},
	{"deep line", hostileHead, "    ", "pass\n"},
	{"deep and back", hostileHead, "    if a:\n        pass\n", ""},
	{"statements", hostileHead, "    a\n", ""},
	{"assignments", hostileHead, "    x = a + 1\n", ""},
	{"targets", hostileHead + "    x", ",x", " = a\n"},
	{"second =", hostileHead + "    x", "=x", "\n"},
	{"spreads", hostileHead, "    spread (a):a->@a()\n", ""},
	{"spreads in a line", hostileHead + "    spread (", "spread (a) ", ")\n"},
	{"lines of spread[", hostileHead, "    x=spread[0]\n", ""},
	{"policies", hostileHead + "    @a()", "[A->retry:1]", "\n"},
	{"types", hostileHead + "    @a() [A", ",A", " -> retry: 1]\n"},
	{"handlers", hostileHead + "    try:\n        pass\n", "    except A:\n        pass\n", ""},
	{"elif", hostileHead + "    if a:\n        pass\n", "    elif a:\n        pass\n", ""},
	{"parallel", hostileHead + "    parallel:\n", "        @a()\n", ""},
	{"dotted", hostileHead + "    @a", ".a", "()\n"},
	{"returns", hostileHead + "    return a", ",a", "\n"},
	{"functions again", "", "fn a(input:[],output:[]):\n    pass\n", ""},
	{"NUL", hostileHead, "\x00", ""},
	{"no UTF-8", hostileHead, "\xff", ""},
	{"carriage returns", hostileHead, "\r", ""},
	{"tabs", hostileHead, "\t", ""},
	{"marks", "", "\ufeff", ""},
	{"at", hostileHead + "    x = ", "@", ""},
	{"backslashes", hostileHead + "    x = ", "\\", ""},
	{"colons", hostileHead + "    x = a[", ":", "]\n"},
}

const hostileHead = "fn main(input: [a], output: []):\n"

// A long program of anything must be read or refused; quadratic time would not end.
func TestHostile(t *testing.T) {
	for _, h := range hostile {
		n := (hostileBytes - len(h.before) - len(h.after)) / len(h.again)
		tryHostile(t, h.name, h.before+strings.Repeat(h.again, n)+h.after)
	}
	var functions, names, pairs strings.Builder
	for i := 0; functions.Len() < hostileBytes/2; i++ {
		fmt.Fprintf(&functions, "fn f%d(input: [], output: []):\n    f%d()\n", i, i+1)
	}
	fmt.Fprintf(&functions, "fn main(input: [], output: []):\n    f0()\n")
	for i := 0; names.Len() < hostileBytes/2; i++ {
		fmt.Fprintf(&names, "a%d, ", i)
		fmt.Fprintf(&pairs, "a%d=%d, ", i, i)
	}
	tryHostile(t, "functions in a chain", functions.String())
	tryHostile(t, "inputs", "fn main(input: ["+names.String()+"a], output: []):\n    pass\n")
	tryHostile(t, "named arguments", hostileHead+"    @f("+pairs.String()+")\n")
	tryHostile(t, "keywords of dict", hostileHead+"    x = dict("+pairs.String()+")\n")
}

func tryHostile(t *testing.T, name, source string) {
	t.Run(name, func(t *testing.T) {
		p, err := Parse("w.ir", []byte(source), Limits{})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Pos.Line < 1 || len(strings.SplitN(err.Error(), "\n", 2)[0]) > 1000 || len(err.Error()) > 200*mistakesMost {
				t.Errorf("%.1000v", err)
			}
			return
		}
		again, err := Parse("w.ir", []byte(Print(p)), Limits{SourceBytes: 8 * hostileBytes})
		if err != nil || !Equal(p, again) {
			t.Errorf("the print is another program: %.1000v", err)
		}
	})
}

// What is not text must be refused before anything else, at its position.
func TestNotText(t *testing.T) {
	head := "fn main(input: [], output: []):\n    "
	for source, want := range map[string]string{
		head + "x = 'ä\xff'\n":      "w.ir:2:11: not valid UTF-8; save the file as UTF-8",
		head + "x = 1\x00\n":        "w.ir:2:10: a NUL character; remove it",
		head + "x = 1 # ä\x00\n":    "w.ir:2:14: a NUL character; remove it",
		head + "x = 1\rx = 2\n":     "w.ir:2:10: a carriage return without a line feed; end lines with LF or CRLF",
		head + "x = 1\r":            "w.ir:2:10: a carriage return without a line feed; end lines with LF or CRLF",
		head + "x = 1\r\r\n":        "w.ir:2:10: a carriage return without a line feed; end lines with LF or CRLF",
		"\ufeff\ufeff" + head:       "w.ir:1:1: a byte order mark; remove it, it may only begin the file",
		head + "x = '\ufeff'\n":     "w.ir:2:10: a byte order mark; remove it, it may only begin the file",
		"x\xc3\x28":                 "w.ir:1:2: not valid UTF-8; save the file as UTF-8",
		head + "x = '\xed\xa0\x80'": "w.ir:2:10: not valid UTF-8; save the file as UTF-8",
		head + "x = 1\f\n":          "w.ir:2:10: the character '\\f' begins nothing; remove it, or put it in a string",
		head + "x = a\u00a0+ b\n":   "w.ir:2:10: the character '\\u00a0' begins nothing; remove it, or put it in a string",
	} {
		_, err := Parse("w.ir", []byte(source), Limits{})
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", source, err, want)
		}
	}
	if _, err := Parse("w.ir", []byte(head+"x = '\ufffd'\n"), Limits{}); err != nil {
		t.Errorf("a replacement character that is written is one like any other: %v", err)
	}
}
