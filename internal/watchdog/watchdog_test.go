package watchdog

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulley/internal/depth"
)

func TestRelease(t *testing.T) {
	depth.Needs(t, "a second process")
	file := filepath.Join(t.TempDir(), "told")
	w, err := Start(`while read -r word; do last=$word; done; echo "$MARK $last $LC_ALL" >"$FILE"`, "MARK=abc", "FILE="+file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it acts before it is released")
	}
	if err := w.Release(t.Context(), "done"); err != nil {
		t.Fatal(err)
	}
	if told, err := os.ReadFile(file); err != nil || string(told) != "abc done C\n" {
		t.Errorf("it was told %q, %v", told, err)
	}
	if err := w.Release(t.Context(), ""); err != nil {
		t.Errorf("a second time: %v", err)
	}

	slow, err := Start(`while read -r _; do :; done; while [ ! -e "$FILE.go" ]; do sleep 0.01; done`, "FILE="+file)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := slow.Release(ended, ""); err == nil || !strings.Contains(err.Error(), "did not finish in time") {
		t.Errorf("a slow one gives %v", err)
	}
	if err := os.WriteFile(file+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := slow.Release(t.Context(), ""); err != nil {
		t.Error(err)
	}
}
