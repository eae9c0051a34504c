package ir

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/programs/*.ir")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(file, src, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := Print(p); got != string(src) {
			t.Errorf("%s prints as\n%s", file, got)
		}
	}
}
