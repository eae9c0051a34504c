package ir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Parse must refuse an input in one line with a position, or return a program whose print parses to it again.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"testdata/accepted.txt", "testdata/refused.txt"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range strings.Split(string(data), "\n=== ") {
			_, rest, _ := strings.Cut(part, "\n")
			source, _, _ := strings.Cut(rest, "---\n")
			f.Add([]byte(source))
		}
	}
	programs, err := filepath.Glob("testdata/programs/*.ir")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range programs {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		p, err := Parse("w.ir", source, Limits{})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Pos.Line < 1 || e.Pos.Col < 1 || strings.Count(err.Error(), "\n") != strings.Count(err.Error(), "\nw.ir:") {
				t.Fatalf("%q is no error with a place and a line for each mistake", err)
			}
			if strings.Contains(err.Error(), "internal error") || strings.Contains(err.Error(), "cannot be read:") {
				t.Fatalf("an error without an explanation: %v", err)
			}
			return
		}
		text := Print(p)
		again, err := Parse("w.ir", []byte(text), Limits{SourceBytes: 1 << 30})
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if !Equal(p, again) {
			t.Fatalf("read as another program:\n%s", text)
		}
		if twice := Print(again); twice != text {
			t.Fatalf("prints as\n%s\nand then as\n%s", text, twice)
		}
	})
}
