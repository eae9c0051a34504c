package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport checks that unreached lines are named, and that a block reached once counts as reached.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("engine/a/a.go", "package a\n\nfunc f(x bool) int {\n\tif x {\n\t\treturn 1\n\t}\n\treturn 2\n}\n\nfunc g() {\n}\n")
	write("profile.txt", `mode: set
pulley/engine/a/a.go:3.20,4.7 1 0
pulley/engine/a/a.go:4.7,6.3 1 0
pulley/engine/a/a.go:7.2,7.10 1 1
pulley/engine/a/a.go:3.20,4.7 1 1
`)
	var out strings.Builder
	if err := run("profile.txt", &out); err != nil {
		t.Fatal(err)
	}
	want := "engine/a: 2 of 3 statements, 66.7 %\n\nnever reached:\n  engine/a/a.go:3 f: 4-6\n"
	if out.String() != want {
		t.Errorf("the report is %q; want %q", out.String(), want)
	}
	for _, text := range []string{"", "mode: set\n", "x\n", "a.go:1 1 1\n", "a.go:1.1,2.2 x y\n"} {
		write("bad.txt", text)
		if err := run("bad.txt", &out); err == nil {
			t.Errorf("%q was taken for a profile", text)
		}
	}
}
