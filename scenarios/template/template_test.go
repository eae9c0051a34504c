package template_test

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/internal/yamlfile"
	"pulley/scenarios/template"
)

var env = template.Env{"size": starlark.MakeInt(10), "names": starlark.NewList([]starlark.Value{starlark.String("a"), starlark.String("b")})}

func compile(text string) (*template.Template, string) {
	var r yamlfile.Report
	v := yamlfile.Parse("t.yaml", []byte(text), &r)
	t := template.Compile(v, []string{"names", "size"}, &r)
	if err := r.Err(); err != nil {
		return nil, err.Error()
	}
	return t, ""
}

func TestEval(t *testing.T) {
	for text, want := range map[string]string{
		"= size - 2":         `8`,
		"\" = size * 1.5 \"": `15.0`,
		"size":               `"size"`,
		"= '=' + names[0]":   `"=a"`,
		"5":                  `5`,
		"'5'":                `"5"`,
		"{a: [1, = size], b: {c: \"= [n + '!' for n in names]\"}}": `{"a":[1,10],"b":{"c":["a!","b!"]}}`,
		"[true, null, 1.0, 123456789012345678901234567890]":        `[true,null,1.0,123456789012345678901234567890]`,
		">-\n  = size\n  + 1\n":                                    `11`,
	} {
		compiled, wrong := compile(text)
		if wrong != "" {
			t.Errorf("%q: %s", text, wrong)
			continue
		}
		v, err := compiled.Eval(env)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, err := expr.Encode(v); err != nil || string(got) != want {
			t.Errorf("%q: %s (%v), want %s", text, got, err, want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"= size +":           "t.yaml:1:1: ",
		"= sise":             "t.yaml:1:1: the expression reads sise, which is not known here; did you mean size?",
		"[1, = x, \"= yy\"]": "t.yaml:1:5: the expression reads x, which is not known here; it may read names, size\nt.yaml:1:10: the expression reads yy, which is not known here; it may read names, size",
		"=":                  "t.yaml:1:1: ",
		"'= lambda: 1'":      "t.yaml:1:1: ",
		"{a: .nan}":          "t.yaml:1:5: \".nan\" is no finite number; put it in quotes if it is a text",
	} {
		if _, got := compile(text); !strings.HasPrefix(got, want) || got == "" {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"{a: 1, b: = 1 // 0}": "t.yaml:1:11: ExpressionError: floored division by zero",
		"= names[5]":          "t.yaml:1:1: ExpressionError: ",
		"= 'x' * 10000000":    "t.yaml:1:1: LimitExceeded: ",
	} {
		compiled, wrong := compile(text)
		if wrong != "" {
			t.Errorf("%q: %s", text, wrong)
			continue
		}
		if _, err := compiled.Eval(env); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestInt(t *testing.T) {
	for text, want := range map[string]string{
		"= size":      "",
		"= size * 10": "t.yaml:1:1: width is 100; choose from 1 to 20",
		"= -size":     "t.yaml:1:1: width is -10; choose from 1 to 20",
		"= size / 2":  "t.yaml:1:1: width is a whole number, not 5.0",
		"many":        "t.yaml:1:1: width is a whole number, not \"many\"",
	} {
		compiled, _ := compile(text)
		n, err := compiled.Int(env, "width", 1, 20)
		if want == "" && (err != nil || n != 10) || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%q: %d, %v; want %s", text, n, err, want)
		}
	}
	compiled, _ := compile("[= size, = len(names), = size]")
	if got := strings.Join(compiled.Names(), " "); got != "names size" {
		t.Errorf("names %q", got)
	}
}
