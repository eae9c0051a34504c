package scenarios_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulley/scenarios"
)

// The expected result comes from the reference interpreter, and no text of an input is taken for an expression.
func TestOfProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "echo.ir")
	if err := os.WriteFile(file, []byte("fn main(input: [a, b], output: [x]):\n    x = [a, b]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const input = `{"a": {"= k": ["= 1 + 1", " =x", "it's \"=\"\n\u2028", "yes", null, -0.5, 12345678901234567890]}, "b": ""}`
	s, err := scenarios.OfProgram(file, json.RawMessage(input))
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Build(s.DefaultSizes[0], scenarios.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]any
	if err := json.Unmarshal([]byte(input), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(w.Input, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v: the input is %s, want %s", err, w.Input, input)
	}
	if s.Name != "echo" || s.File() != file || len(s.DefaultSizes) != 1 || !strings.Contains(string(w.Expected), "= 1 + 1") {
		t.Errorf("%s, %s, %v, %s", s.Name, s.File(), s.DefaultSizes, w.Expected)
	}
	again, err := scenarios.FromBundle(*s.Bundle()) // as a failed run's case stores it
	if err != nil || again.Name != "echo" {
		t.Errorf("%v, %s", err, again.Name)
	}
	for given, want := range map[string]string{
		"":        "main takes a;",
		`{"a":1}`: file + ":1:1: main takes b;",
		`[]`:      "the input of " + file,
	} {
		if _, err := scenarios.OfProgram(file, json.RawMessage(given)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", given, err, want)
		}
	}
}

func TestParseSizes(t *testing.T) {
	for text, want := range map[string]string{
		"fanout": "fanout []", "fanout=10": "fanout [10]", "fanout=10,20,5": "fanout [10 20 5]", "a/b.yaml=1,2": "a/b.yaml [1 2]", "a/b.ir": "a/b.ir []",
		"fanout=1,1": `scenario "fanout=1,1": the size 1 is there twice; write it once`, "fanout=1,": `scenario "fanout=1,": "" is no size; write a whole number, as in fanout=10`,
	} {
		name, sizes, err := scenarios.ParseSizes(text)
		got := fmt.Sprint(name, " ", sizes)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if _, _, _, err := scenarios.ParseName("fanout=1,2"); err == nil || !strings.Contains(err.Error(), "here is one size") {
		t.Errorf("two sizes where one is wanted: %v", err)
	}
}
