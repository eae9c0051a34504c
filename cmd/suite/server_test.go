package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Tests get the interpreter instead of a script that only starts it, but not if the script changes something.
func TestDirectPython(t *testing.T) {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Skip(err)
	}
	interpreter := strings.TrimSpace(string(out))
	script := filepath.Join(t.TempDir(), "python3")
	t.Setenv("PATH", filepath.Dir(script)+string(os.PathListSeparator)+os.Getenv("PATH"))
	for says, want := range map[string]bool{"": true, "PYTHONPATH=/nowhere ": false} {
		if err := os.WriteFile(script, []byte("#!/bin/sh\n"+says+"exec "+interpreter+" \"$@\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		err := within(func(p *workdir) error {
			path, is := p.directPython(t.Context())["PATH"]
			first, _, _ := strings.Cut(path, string(os.PathListSeparator))
			leads, _ := filepath.EvalSymlinks(filepath.Join(first, "python3"))
			if real, _ := filepath.EvalSymlinks(interpreter); is != want || is && leads != real {
				t.Errorf("after %q: PATH %q leads to %s, want %v and %s", says, path, leads, want, real)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
