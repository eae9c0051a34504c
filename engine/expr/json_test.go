package expr_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

func TestDecodeEncode(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`null`, `null`},
		{` [ true , false ] `, `[true,false]`},
		{"\t\r\n[]\n", `[]`},
		{`{ }`, `{}`},
		{`0`, `0`},
		{`-0`, `0`},
		{`-17`, `-17`},
		{`2147483648`, `2147483648`},
		{`9223372036854775807`, `9223372036854775807`},
		{`-9223372036854775809`, `-9223372036854775809`},
		{`123456789012345678901234567890`, `123456789012345678901234567890`},
		{`1.0`, `1.0`},
		{`-0.0`, `-0.0`},
		{`1e2`, `100.0`},
		{`1E+2`, `100.0`},
		{`25e-1`, `2.5`},
		{`1e21`, `1e+21`},
		{`123456789e12`, `123456789000000000000.0`},
		{`1e-6`, `0.000001`},
		{`1e-7`, `1e-07`},
		{`5e-324`, `5e-324`},
		{`1e-400`, `0.0`},
		{`0.1`, `0.1`},
		{`""`, `""`},
		{`"a\"\\\/\b\f\n\r\tz"`, `"a\"\\/\b\f\n\r\tz"`},
		{`"\u0041\u00e9\u0001"`, `"Aé\u0001"`},
		{`"\ud83D\ude00"`, `"😀"`},
		{`"<&>` + "\u2028" + `"`, `"<&>` + "\u2028" + `"`},
		{`"\ufffd"`, "\"\ufffd\""},
		{`{"b":1,"a":2}`, `{"b":1,"a":2}`},
		{`{"a":1,"b":2,"a":3}`, `{"a":3,"b":2}`},
		{`{"":{"":[[],{}]}}`, `{"":{"":[[],{}]}}`},
		{`{"a\u0062":1,"ab":2}`, `{"ab":2}`},
		{`[{"k":1},{"k":2},{"k":3}]`, `[{"k":1},{"k":2},{"k":3}]`},
	} {
		v, err := expr.Decode([]byte(c.text), ir.Limits{})
		if err != nil {
			t.Errorf("Decode(%s): %v", c.text, err)
			continue
		}
		if got := mustEncode(t, v); got != c.want {
			t.Errorf("Decode(%s) writes %s, want %s", c.text, got, c.want)
		}
		if !isNormal(v) {
			t.Errorf("Decode(%s) is not frozen and normal", c.text)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, `JSON at byte 0: the text ends where a value should stand`},
		{`  `, `JSON at byte 2: the text ends where a value should stand`},
		{`nul`, `JSON at byte 0: 'n' stands where null, true or false should stand`},
		{`True`, `JSON at byte 0: 'T' stands where a value should stand`},
		{`1 2`, `JSON at byte 2: nothing may follow the value`},
		{`[1,2]]`, `JSON at byte 5: nothing may follow the value`},
		{`[1,]`, `JSON at byte 3: ']' stands where a value should stand`},
		{`[1 2]`, `JSON at byte 3: '2' stands where a comma or ] should stand`},
		{`[1`, `JSON at byte 2: the text ends where a comma or ] should stand`},
		{`{"a":1,}`, `JSON at byte 7: '}' stands where a key in double quotes should stand`},
		{`{"a" 1}`, `JSON at byte 5: '1' stands where a colon should stand`},
		{`{"a":1 "b"`, `JSON at byte 7: '"' stands where a comma or } should stand`},
		{`{a:1}`, `JSON at byte 1: 'a' stands where a key in double quotes should stand`},
		{`{"a":}`, `JSON at byte 5: '}' stands where a value should stand`},
		{`{"a`, `JSON at byte 3: the text ends where a closing quote should stand`},
		{`{"a\`, `JSON at byte 4: the text ends where one of " \ / b f n r t u should stand`},
		{`"a`, `JSON at byte 2: the text ends where a closing quote should stand`},
		{`"\n`, `JSON at byte 3: the text ends where a closing quote should stand`},
		{`"\x"`, `JSON at byte 2: 'x' stands where one of " \ / b f n r t u should stand`},
		{`"\u12g4"`, `JSON at byte 5: 'g' stands where a hexadecimal digit should stand`},
		{`"\ud800"`, `JSON at byte 7: the escape before this is half a character`},
		{`"\ud800\n"`, `JSON at byte 7: the escape before this is half a character`},
		{`"\ud800\u0041"`, `JSON at byte 13: the two escapes before this do not make a character`},
		{`"\ud800\uzz"`, `JSON at byte 9: 'z' stands where a hexadecimal digit should stand`},
		{`"\udc00"`, `JSON at byte 7: the escape before this is half a character`},
		{"\"a\nb\"", `JSON at byte 2: a control character must be escaped`},
		{"\"\\n\x01\"", `JSON at byte 3: a control character must be escaped`},
		{"[\"\xff\"]", `JSON at byte 2: this is not UTF-8`},
		{"[\"\xed\xa0\x80\"]", `JSON at byte 2: this is not UTF-8`},
		{`01`, `JSON at byte 1: a number must not begin with 0`},
		{`-`, `JSON at byte 1: the text ends where a digit should stand`},
		{`+1`, `JSON at byte 0: '+' stands where a value should stand`},
		{`1.`, `JSON at byte 2: the text ends where a digit should stand`},
		{`.5`, `JSON at byte 0: '.' stands where a value should stand`},
		{`1e`, `JSON at byte 2: the text ends where a digit should stand`},
		{`1e+x`, `JSON at byte 3: 'x' stands where a digit should stand`},
		{`[1e999]`, `JSON at byte 1: the number 1e999 is too large for a float`},
		{`NaN`, `JSON at byte 0: 'N' stands where a value should stand`},
		{"\ufeff1", "JSON at byte 0: '\\ufeff' stands where a value should stand"},
	} {
		_, err := expr.Decode([]byte(c.text), ir.Limits{})
		checkError(t, "Decode("+c.text+")", err, expr.TypeValue, c.want)
	}
}

// A want that ends in … is the beginning of the message.
func checkError(t testing.TB, what string, err error, typ, want string) {
	t.Helper()
	var failed *expr.EvalError
	if !errors.As(err, &failed) {
		t.Errorf("%s: error %v, want an EvalError: %s", what, err, want)
		return
	}
	prefix, open := strings.CutSuffix(want, "…")
	if failed.Type != typ || failed.Msg != want && !(open && strings.HasPrefix(failed.Msg, prefix)) {
		t.Errorf("%s:\n got %s: %s\nwant %s: %s", what, failed.Type, failed.Msg, typ, want)
	}
	if strings.ContainsAny(failed.Error(), "\n\r") {
		t.Errorf("%s: the error is longer than a line: %q", what, failed.Error())
	}
}

func TestDecodeLimits(t *testing.T) {
	deep := func(n int) []byte {
		return []byte(strings.Repeat("[", n) + strings.Repeat("]", n))
	}
	if v, err := expr.Decode(deep(513), ir.Limits{}); err != nil {
		t.Errorf("513 lists within each other: %v", err)
	} else if got := mustEncode(t, v); got != string(deep(513)) {
		t.Errorf("513 lists within each other come out as %s", got)
	}
	_, err := expr.Decode(deep(514), ir.Limits{})
	checkError(t, "514 lists", err, expr.TypeLimit, "nesting of a value: 513 is over the limit of 512; make it smaller or raise the limit")
	_, err = expr.Decode(bytes.Repeat([]byte(`{"a":`), 100_000), ir.Limits{})
	checkError(t, "100,000 dicts", err, expr.TypeLimit, "nesting of a value: 513 is over the limit of 512; …")

	lim := ir.Limits{ValueBytes: 10}
	if _, err := expr.Decode([]byte(`"12345678"`), lim); err != nil {
		t.Errorf("ten bytes of ten: %v", err)
	}
	_, err = expr.Decode([]byte(`"123456789"`), lim)
	checkError(t, "eleven bytes of ten", err, expr.TypeLimit, "bytes of a value: 11 is over the limit of 10; …")
	// What grows when encoded is measured as encoded.
	_, err = expr.Decode([]byte(`[1e9,1e9]`), lim)
	checkError(t, "a value that grows", err, expr.TypeLimit, "bytes of a value: 15 is over the limit of 10; …")
	if _, err := expr.Decode([]byte(` [1e3]    `), lim); err != nil {
		t.Errorf("a value that shrinks: %v", err)
	}
}

func TestDecodeLongInts(t *testing.T) {
	for _, n := range []int{17, 18, 19, 1999, 2001, 4001, 30_000} {
		text := "-1" + strings.Repeat("0123456789", n/10+1)[:n-1]
		if got := mustEncode(t, mustDecode(t, text)); got != text {
			t.Errorf("an int of %d digits comes out as another", n)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	numbered := starlark.NewDict(1)
	if err := numbered.SetKey(starlark.MakeInt(1), starlark.None); err != nil {
		t.Fatal(err)
	}
	deep := starlark.NewList(nil)
	for range 513 {
		deep = starlark.NewList([]starlark.Value{deep})
	}
	badKey := starlark.NewDict(1)
	if err := badKey.SetKey(starlark.String("\xff"), starlark.None); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		v         starlark.Value
		typ, want string
	}{
		{nil, expr.TypeValue, `there is no value`},
		{starlark.Tuple{}, expr.TypeValue, `a tuple is not a value; normalize it first`},
		{starlark.Float(math.NaN()), expr.TypeValue, `a float must be finite, not nan`},
		{starlark.Float(math.Inf(-1)), expr.TypeValue, `a float must be finite, not -inf`},
		{starlark.String("a\xff"), expr.TypeValue, `the string "a\xff" is not valid UTF-8`},
		{starlark.NewList([]starlark.Value{starlark.Bytes("x")}), expr.TypeValue, `a bytes is not a value; normalize it first`},
		{numbered, expr.TypeValue, `a dict's key must be a string, not int`},
		{badKey, expr.TypeValue, `the string "\xff" is not valid UTF-8`},
		{deep, expr.TypeLimit, `nesting of a value: 513 is over the limit of 512; …`},
	} {
		_, err := expr.Encode(c.v)
		checkError(t, "Encode", err, c.typ, c.want)
	}
}

func TestAppendJSONAppends(t *testing.T) {
	got, err := expr.AppendJSON([]byte("x="), mustDecode(t, `{"a":[1]}`))
	if err != nil || string(got) != `x={"a":[1]}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestDecodeInvertsEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(4).Draw(t, "v")
		data, err := expr.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(data) {
			t.Fatalf("%s is not JSON", data)
		}
		back, err := expr.Decode(data, ir.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if !same(v, back) {
			t.Fatalf("%v comes back as %v from %s", v, back, data)
		}
		if !expr.Equal(v, back) {
			t.Fatalf("%v and %v are the same but not Equal", v, back)
		}
	})
}

// The estimated size is never less than that of the JSON, and more only by a byte for each int of many digits.
func TestNormalizeMeasures(t *testing.T) {
	longInts := regexp.MustCompile(`\d{19,}`)
	rapid.Check(t, func(t *rapid.T) {
		v := values(3).Draw(t, "v")
		data, err := expr.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		size := len(data) + 2*len(longInts.FindAll(data, -1))
		if _, err := expr.Normalize(v, ir.Limits{ValueBytes: size}); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if len(data) > 1 {
			if _, err := expr.Normalize(v, ir.Limits{ValueBytes: len(data) - 1}); err == nil {
				t.Fatalf("%d bytes pass a limit of one less: %s", len(data), data)
			}
		}
	})
}

// loneSurrogate finds escapes that encoding/json replaces and Decode refuses.
var loneSurrogate = regexp.MustCompile(`(?i)\\ud[89a-f]`)

// Decode and encoding/json must accept the same texts with the same values.
func agrees(t fataler, data []byte) {
	v, err := expr.Decode(data, ir.Limits{})
	if err != nil {
		var failed *expr.EvalError
		if !errors.As(err, &failed) {
			t.Fatalf("%q: %T %v", data, err, err)
		}
		tooMuch := failed.Type == expr.TypeLimit || strings.Contains(failed.Msg, "too large for a float")
		if json.Valid(data) && utf8.Valid(data) && !tooMuch && !loneSurrogate.Match(data) {
			t.Fatalf("%q is JSON, but: %v", data, err)
		}
		return
	}
	if !json.Valid(data) {
		t.Fatalf("%q is not JSON, but reads as %v", data, v)
	}
	if !isNormal(v) {
		t.Fatalf("%q reads as something that is not normal: %v", data, v)
	}
	encoded, err := expr.Encode(v)
	if err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	var ours, theirs any
	for _, read := range []struct {
		data []byte
		into *any
	}{{encoded, &ours}, {data, &theirs}} {
		if err := json.Unmarshal(read.data, read.into); err != nil && !strings.Contains(err.Error(), "UnmarshalTypeError") && !strings.Contains(err.Error(), "number") {
			t.Fatalf("%q: %v", read.data, err)
		}
	}
	a, errA := json.Marshal(positiveZero(ours))
	b, errB := json.Marshal(positiveZero(theirs))
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Fatalf("%q is %s, encoding/json reads %s", data, a, b)
	}
	again, err := expr.Decode(encoded, ir.Limits{})
	if err != nil || !same(v, again) {
		t.Fatalf("%q is written as %s, which reads as %v, %v", data, encoded, again, err)
	}
}

// positiveZero makes zeroes positive: -0 is an int to Decode, without a sign, and a float to encoding/json.
func positiveZero(v any) any {
	switch v := v.(type) {
	case float64:
		if v == 0 {
			return 0.0
		}
	case []any:
		for i := range v {
			v[i] = positiveZero(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = positiveZero(v[key])
		}
	}
	return v
}

var fragments = []string{
	`{`, `}`, `[`, `]`, `,`, `:`, `"`, `\`, ` `, "\n", `0`, `-`, `1`, `.`, `e`, `E+`, `12`, `null`, `true`, `false`,
	`"a"`, `"a":`, `"\n"`, `\u`, `00e9`, `\ud83d`, `\ude00`, `é`, "\x00", "\xff", `1.5`, `1e5`, `{}`, `[]`, `nul`,
}

func TestDecodeAgreesWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 12).Draw(t, "parts")
		agrees(t, []byte(strings.Join(parts, "")))
	})
}

func FuzzDecode(f *testing.F) {
	for _, text := range documents() {
		if len(text) < 1000 {
			f.Add([]byte(text))
		}
	}
	for _, text := range []string{`[1e5,-0.0,123456789012345678901]`, `"\ud83d\ude00\u0000"`, `{"a":1,"a":{"b":[null]}}`, "\"\xff\"", `[[[[`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { agrees(t, data) })
}

type fataler interface {
	Fatalf(format string, args ...any)
}
