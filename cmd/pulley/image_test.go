package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"pulley/internal/depth"
)

// The image of packaging/image.sh runs workflows and their processes, as a user without rights.
func TestImage(t *testing.T) {
	t.Parallel()
	if !depth.Night() {
		t.Skip("debootstrap takes a minute: this is left to the night")
	}
	if os.Getuid() != 0 {
		t.Skip("this needs root")
	}
	const name = "pulley-image-test"
	docker := func(input string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "docker", args...)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("docker %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	build := exec.CommandContext(t.Context(), root+"/packaging/image.sh", name)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "image", "rm", "--force", name).Run() })
	actions := file(t, "actions.yaml", "actions: {who: {process: [sh, -c, 'sleep 60 >/dev/null 2>&1 & printf \"[%s, %s]\" \"$(id -u)\" \"$(cat /proc/1/comm | grep -c tini)\"']}}")
	if err := os.Chmod(actions, 0o644); err != nil {
		t.Fatal(err)
	}
	prog := "fn main(input: [], output: [x]):\n    x = @who()\n"
	if got := docker(prog, "run", "--rm", "-i", "--network", "none", "-v", actions+":/etc/pulley/actions.yaml:ro", name, "run", "-", "--backend", "memory", "--actions", "actions.yaml"); got != "completed: [65532,1]\n" {
		t.Errorf("it prints %q", got)
	}
	if got := docker("", "run", "--rm", "--network", "none", name, "version"); !strings.HasPrefix(got, "pulley ") {
		t.Errorf("it prints %q", got)
	}
}
