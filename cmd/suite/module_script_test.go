package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pulley/internal/depth"
)

func inFolder(t *testing.T, dir, name string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
}

func copyCheckout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	list, status := inFolder(t, "../..", "git", "ls-files", "--cached", "--others", "--exclude-standard")
	if status != 0 {
		t.Fatalf("git ls-files: %s", list)
	}
	for name := range strings.Lines(list) {
		name = strings.TrimSpace(name)
		data, err := os.ReadFile(filepath.Join("../..", name))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed and not committed
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, data, 0o700)); err != nil { //nolint:gosec // scripts among them
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}} {
		if out, status := inFolder(t, dir, "git", args...); status != 0 {
			t.Fatalf("git %q: %s", args, out)
		}
	}
	return dir
}

func TestModuleScript(t *testing.T) {
	dir := copyCheckout(t)
	before, _ := inFolder(t, dir, "go", "list", "-m") // the repository may have been given a path
	changed := func() string {
		out, _ := inFolder(t, dir, "git", "diff", "--stat")
		return out
	}
	for _, bad := range []string{"", "no path", "-x", "a//b", "x/", "$(date)", `a"b`} {
		if out, status := inFolder(t, dir, "scripts/module.sh", bad); status != 2 || !strings.Contains(out, "is no module path") || strings.Contains(out, "\n") || changed() != "" {
			t.Errorf("%q: exit status %d, %s\n%s", bad, status, out, changed())
		}
	}
	if !depth.Night() {
		t.Skip("changing the path in every file, twice, is left to the night")
	}
	const path = "example.org/a-team/scheduler.v2"
	if out, status := inFolder(t, dir, "scripts/module.sh", path); status != 0 {
		t.Fatalf("exit status %d: %s", status, out)
	}
	for folder, want := range map[string]string{".": path, "adapters/gue": path + "/adapters/gue"} {
		if got, _ := inFolder(t, filepath.Join(dir, folder), "go", "list", "-m"); got != want {
			t.Errorf("%s: the module is %q, want %q", folder, got, want)
		}
	}
	if out, _ := inFolder(t, dir, "git", "grep", "-nE", `^\s*([a-z_]+ )?"?`+before+`/|^module `+before+`(/|$)`, "--", "*.go", "*.mod"); out != "" {
		t.Errorf("the old path is still there:\n%s", out)
	}
	if out, status := inFolder(t, dir, "scripts/module.sh", before); status != 0 || changed() != "" {
		t.Errorf("the old path again: exit status %d, %s\n%s", status, out, changed())
	}
}
