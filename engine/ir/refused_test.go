package ir

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected errors and texts in testdata")

// goldenCase is a program and its expected result, in the form
//
//	=== name
//	source
//	---
//	expected
type goldenCase struct{ name, source, expected string }

func readGolden(t *testing.T, file string) []goldenCase {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	for _, part := range strings.Split("\n"+string(data), "\n=== ")[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		source, expected, ok := strings.Cut("\n"+rest, "\n---\n")
		if !ok {
			t.Fatalf("%s: case %q has no line ---", file, name)
		}
		source = strings.TrimPrefix(source, "\n")
		if source != "" {
			source += "\n"
		}
		cases = append(cases, goldenCase{name, source, strings.TrimSuffix(expected, "\n")})
	}
	if len(cases) == 0 {
		t.Fatalf("%s has no cases", file)
	}
	return cases
}

func writeGolden(t *testing.T, file string, cases []goldenCase) {
	t.Helper()
	var out strings.Builder
	for _, c := range cases {
		out.WriteString("=== " + c.name + "\n" + c.source + "---\n" + c.expected + "\n")
	}
	if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func golden(t *testing.T, file string, run func(t *testing.T, source string) string) {
	t.Helper()
	cases := readGolden(t, file)
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := run(t, c.source)
			if *update {
				cases[i].expected = got
			} else if got != c.expected {
				t.Errorf("got\n%s\nwant\n%s\nof\n%s", got, c.expected, c.source)
			}
		})
	}
	if *update {
		writeGolden(t, file, cases)
	}
}

func TestRefused(t *testing.T) {
	golden(t, "testdata/refused.txt", func(t *testing.T, source string) string {
		p, err := Parse("w.ir", []byte(source), Limits{})
		if err == nil {
			t.Fatalf("parsed, and prints as\n%s", Print(p))
		}
		var e *Error
		if !errors.As(err, &e) || e.Pos.File != "w.ir" || e.Pos.Line < 1 || e.Pos.Col < 1 {
			t.Errorf("%v is not an *Error with a position", err)
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if !strings.HasPrefix(line, "w.ir:") || strings.Contains(line, "\r") {
				t.Errorf("%q is not a line for each mistake", err)
			}
		}
		return err.Error()
	})
}
