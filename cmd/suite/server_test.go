package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Tests get the interpreter instead of a script that only starts it, without what is installed for it, but not if the script changes
// something.
func TestBarePython(t *testing.T) {
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
			path, is := p.barePython(t.Context())["PATH"]
			first, _, _ := strings.Cut(path, string(os.PathListSeparator))
			leads, _ := filepath.EvalSymlinks(filepath.Join(first, "python3"))
			if real, _ := filepath.EvalSymlinks(interpreter); is != want || is && leads != real {
				t.Errorf("after %q: PATH %q leads to %s, want %v and %s", says, path, leads, want, real)
			}
			if !want {
				return nil
			}
			found, err := exec.Command(filepath.Join(first, "python3"), "-c", "import sys; print([p for p in sys.path if 'site-packages' in p and __import__('os').path.isdir(p)], sys.prefix != sys.base_prefix)").Output()
			if text := strings.TrimSpace(string(found)); err != nil || text != "[] True" {
				t.Errorf("packages are in %s, %v; want [] True", text, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
