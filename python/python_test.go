package python_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"pulley/internal/depth"
)

func find(t *testing.T) string {
	t.Helper()
	depth.Needs(t, "other processes")
	path, err := exec.LookPath("python3")
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("no python3: %v", err)
	}
	t.Skipf("no python3: %v", err)
	return ""
}

func TestPython(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), find(t), "-W", "error", "-m", "unittest", "discover", "-s", "tests")
	cmd.Env = append(os.Environ(), "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1")
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(strings.Join(lines[max(len(lines)-3, 0):], " "))
}
