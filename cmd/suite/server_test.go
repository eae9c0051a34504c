package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Tests get the interpreter instead of a script that only starts it. They find what is installed, but none of that runs at the
// start. They do not get it if the script changes something.
func TestQuickPython(t *testing.T) {
	out, err := exec.Command("python3", "-c", "import sys; print(sys._base_executable)").Output()
	if err != nil {
		t.Skip(err)
	}
	interpreter := strings.TrimSpace(string(out))
	home := t.TempDir() // of the user's packages
	t.Setenv("PYTHONUSERBASE", home)
	packages, err := exec.Command(interpreter, "-c", "import site; print(site.getusersitepackages())").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"pulley_package.py": "", "pulley_hook.py": "", "pulley.pth": "import pulley_hook\n"} {
		file := filepath.Join(strings.TrimSpace(string(packages)), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join(t.TempDir(), "python3")
	t.Setenv("PATH", filepath.Dir(script)+string(os.PathListSeparator)+os.Getenv("PATH"))
	for says, want := range map[string]bool{"": true, "PYTHONPATH=/nowhere ": false} {
		if err := os.WriteFile(script, []byte("#!/bin/sh\n"+says+"exec "+interpreter+" \"$@\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		err := within(func(p *workdir) error {
			path, is := p.quickPython(t.Context())["PATH"]
			first, _, _ := strings.Cut(path, string(os.PathListSeparator))
			link := filepath.Join(first, "python3")
			leads, _ := filepath.EvalSymlinks(link)
			if real, _ := filepath.EvalSymlinks(interpreter); is != want || is && leads != real {
				t.Errorf("after %q: PATH %q leads to %s, want %v and %s", says, path, leads, want, real)
			}
			if !want {
				return nil
			}
			found, err := exec.Command(link, "-c", "import sys, pulley_package; print('pulley_hook' in sys.modules)").CombinedOutput()
			if text := strings.TrimSpace(string(found)); err != nil || text != "False" {
				t.Errorf("whether what is installed was run at the start: %s, %v; want False", text, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
