package yamlfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pulley/engine/ir"
)

func told(text string) (*Value, string) {
	var r Report
	v := Parse("f.yaml", []byte(text), &r)
	if err := r.Err(); err != nil {
		return v, err.Error()
	}
	return v, ""
}

func written(v *Value) string {
	switch {
	case v == nil:
		return "-"
	case v.IsList():
		var parts []string
		for _, e := range v.Items() {
			parts = append(parts, written(e))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case v.IsMap():
		var parts []string
		for _, f := range v.Fields() {
			parts = append(parts, f.Name+":"+written(f.Value))
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	g, err := v.Go()
	if err != nil {
		return err.Error()
	}
	if text, ok := g.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(g)
}

func TestValues(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: [x, 2.5, true, null, ~]\n":                 `{a:1 b:["x" 2.5 true <nil> <nil>]}`,
		"a: &x {k: 1}\nb: *x\nc: [*x, *x]\n":                 `{a:{k:1} b:{k:1} c:[{k:1} {k:1}]}`,
		"base: &b {x: 1, y: 2}\nd:\n  <<: *b\n  y: 3\n":      `{base:{x:1 y:2} d:{y:3 x:1}}`,
		"d:\n  <<: [{x: 1}, {x: 2, z: 3}]\n  y: 3\n":         `{d:{y:3 x:1 z:3}}`,
		"a: |\n  two\n  lines\nb: >-\n  one\n  line\n":       `{a:"two\nlines\n" b:"one line"}`,
		"a: 0x1F\nb: 1_000\nc: 1e3\nd: 2026-01-02\ne: yes":   `{a:31 b:1000 c:1000 d:"2026-01-02" e:"yes"}`,
		"a: 123456789012345678901234567890\nb: '5'\nc: \"\"": `{a:123456789012345678901234567890 b:"5" c:""}`,
		"{\"json\": [1, {\"too\": null}]}":                   `{json:[1 {too:<nil>}]}`,
		"a: .inf":                                            `{a:f.yaml:1:4: ".inf" is no finite number; put it in quotes if it is a text}`,
		"\ufeffa: 1":                                         `{a:1}`,
		"a: 1\r\nb: 2\r\n":                                   `{a:1 b:2}`,
		"5":                                                  `5`,
		"a:":                                                 `{a:<nil>}`,
	} {
		v, wrong := told(text)
		if got := written(v); wrong != "" || got != want {
			t.Errorf("%q: %s %s; want %s", text, got, wrong, want)
		}
	}
}

func TestMistakesOfTheFile(t *testing.T) {
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	for text, want := range map[string]string{
		"":                              "f.yaml:1:1: the file is empty; it holds a map of keys and values",
		"# nothing but this\n":          "f.yaml:1:1: the file is empty; it holds a map of keys and values",
		"a: 1\na: 2\nb: 3\nb: 4\n":      "f.yaml:2:1: \"a\" stands twice in this map, and on line 1 first; take one out\nf.yaml:4:1: \"b\" stands twice in this map, and on line 3 first; take one out",
		"a: 1\n\tb: 2\n":                "f.yaml:2:1: not YAML: while scanning a plain scalar: found a tab character that violates indentation; the line begins with a tab, and YAML takes only spaces there",
		"a:\n\t- b\n":                   "f.yaml:2:1: not YAML: while scanning for the next token: found character that cannot start any token; the line begins with a tab, and YAML takes only spaces there",
		"a: b: c\n":                     "f.yaml:1:5: not YAML: mapping values are not allowed in this context; a text with a colon and a space in it stands in quotes, and a key begins its line",
		"a: 'open\n":                    "f.yaml:1:4: not YAML: while scanning a quoted scalar: found unexpected end of stream",
		"a: *no\n":                      "f.yaml:1:4: not YAML: unknown anchor 'no' referenced; a text that begins with * stands in quotes",
		"a: @x\n":                       "f.yaml:1:4: not YAML: while scanning for the next token: found character that cannot start any token; a text that begins with @ or ` stands in quotes",
		"a: &a [*a]\n":                  "f.yaml:1:8: *a stands for what it is itself a part of; write out what is meant",
		"a: 1\n---\nb: 2\n":             "f.yaml:2:1: another document begins here; write one in a file, without a line of ---",
		"1: x\n? [a]\n: y\n":            "f.yaml:1:1: the key 1 is no text; put it in quotes, as in \"1\"\nf.yaml:2:3: a key is a text, not a list or a map; write one",
		"a: !secret x\n":                "f.yaml:1:4: the tag !secret is not known; leave it out",
		"a:\n  <<: 5\n":                 "f.yaml:2:7: << takes a map, or a list of maps, not a whole number; name one with an anchor",
		"\xff\xfe\x00":                  "f.yaml:1:1: the text is not UTF-8; save it as such",
		"a: \x00":                       "f.yaml:1:1: not YAML: control characters are not allowed (value: 0)",
		"a: " + deep:                    "f.yaml:1:68: lists and maps are nested deeper than 64; make it flatter",
		laughs.String():                 "f.yaml:1:10: the file has more than 200000 values, counting what aliases stand for; make it smaller",
		strings.Repeat("#", BytesMax+1): "f.yaml:1:1: the file is over the limit of 1048576 bytes; keep what is large in files of its own",
	} {
		if _, got := told(text); got != want && !(strings.HasPrefix(text, "a0") && strings.Contains(got, "more than 200000 values")) {
			t.Errorf("%.60q:\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestReading(t *testing.T) {
	var r Report
	v := Parse("f.yaml", []byte("text: x\nline: \"a\\nb\"\nn: 7\nbig: 99999999999999999999\nquoted: \"7\"\nspan: 20ms\nbad: 20\nnone:\nlist: [1, 2]\none: 1\nmpa: {}\nzzz: 1\nx-own: {a: 1}\n"), &r)
	var n int
	var list int
	r.Fields(v, "the thing",
		Key{"text", func(v *Value) { r.Text(v, "text") }},
		Key{"line", func(v *Value) { r.Line(v, "line") }},
		Key{"n", func(v *Value) { n, _ = r.Int(v, "n", 0, 10); r.Int(v, "n again", 8, 9) }},
		Key{"big", func(v *Value) { r.Int(v, "big", 0, 10) }},
		Key{"quoted", func(v *Value) { r.Int(v, "quoted", 0, 10) }},
		Key{"span", func(v *Value) { r.Duration(v, "span") }},
		Key{"bad", func(v *Value) { r.Duration(v, "bad") }},
		Key{"none", func(v *Value) { r.Text(v, "none") }},
		Key{"list", func(v *Value) { list += len(r.List(v)); r.Text(v, "list") }},
		Key{"one", func(v *Value) { list += len(r.List(v)); r.Fields(v, "one", Key{"k", nil}) }},
		Key{"map", nil},
	)
	want := `f.yaml:2:7: line has several lines; write one, and what is longer behind a #
f.yaml:3:4: n again is 7; choose from 8 to 9
f.yaml:4:6: big is 99999999999999999999; choose from 0 to 10
f.yaml:5:9: quoted is a whole number, not a text "7"; write one without quotes
f.yaml:7:6: bad is a time, not a whole number "20"; write one like 30s or 100ms
f.yaml:8:6: none is a text, not nothing; write one
f.yaml:9:7: list is a text, not a list; write one
f.yaml:10:6: one is a map of keys and values, not a whole number; its keys are k
f.yaml:11:1: the thing has no key "mpa"; did you mean map?
f.yaml:12:1: the thing has no key "zzz"; its keys are text, line, n, big, quoted, span, bad, none, list, one, map`
	if got := fmt.Sprint(r.Err()); got != want || n != 7 || list != 3 {
		t.Errorf("n %d, list %d, got\n%s\nwant\n%s", n, list, got, want)
	}
}

func TestErrorsOfOthers(t *testing.T) {
	var r Report
	at := ir.Pos{File: "f.yaml", Line: 9, Col: 2}
	placed := ir.Errorf(ir.Pos{File: "f.ir", Line: 1, Col: 1}, "placed")
	r.AddError(at, nil)
	r.AddError(at, errors.Join(placed, errors.New("without a place\nin two lines"), fmt.Errorf("within: %w", placed)))
	want := "f.ir:1:1: placed\nf.yaml:9:2: without a place\nf.yaml:9:2: in two lines"
	if got := r.Err().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var first *ir.Error
	if !errors.As(r.Err(), &first) || first != placed {
		t.Error("the mistakes are not found one by one")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: 1\n", "a: &a [*a]\n", "<<: {a: 1}\n", "? x\n: y\n", "- |\n x\n", "a: !!binary x", "&a a: *a", "{*x: 1}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, wrong := told(text)
		if v == nil && wrong == "" {
			t.Errorf("%q gives nothing, and no mistake", text)
		}
		if v != nil {
			written(v)
		}
		for line := range strings.Lines(wrong) {
			if !strings.HasPrefix(line, "f.yaml:") {
				t.Errorf("%q: a mistake without its place: %q", text, line)
			}
		}
	})
}
